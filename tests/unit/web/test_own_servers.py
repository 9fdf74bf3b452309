"""Who may ask a server of ours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.web.own_servers import checked_token, is_own_name, is_same_token, new_token, token_of


@pytest.mark.parametrize(
    ("hosts", "is_own"),
    [
        (["localhost"], True),
        (["LocalHost.:80"], True),
        (["127.0.0.1:8099"], True),
        (["[::1]:8099"], True),
        (["me.example:443"], True),
        (["evil.example"], False),
        (["me.example.evil.example"], False),
        (["[me.example"], False),
        ([""], False),
        ([], False),
        (["localhost", "localhost"], False),
    ],
)
def test_a_host_that_is_none_of_ours(hosts, is_own):
    assert is_own_name(hosts, {"me.example"}) is is_own


@given(st.lists(st.text(max_size=30), max_size=2))
def test_no_host_makes_the_judge_fail(hosts):
    assert is_own_name(hosts, ()) in (True, False)


@given(st.text())
def test_no_authorization_makes_the_judge_fail(header):
    sent = token_of(header)
    assert sent is None or not is_same_token(sent, new_token())
    assert is_same_token(f" {'a' * 20} ", "a" * 20)


@pytest.mark.parametrize(
    "token", ["short", "a" * 201, "a b c d e f g h i", "ü" * 20, "a" * 20 + "\n"]
)
def test_a_token_that_is_easily_guessed_or_cannot_be_sent(token):
    with pytest.raises(InputError, match=r"16 to 200 letters.*; take another one"):
        checked_token(token, "take another one")
