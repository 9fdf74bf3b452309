"""What is made of header values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.sources.view import HubLinks
from pollwise.web.headers import hub_links, parse_http_date, parse_retry_after, validator


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ],
)
def test_the_three_forms_of_a_date(text):
    assert parse_http_date(text) == 784111777.0


@given(st.text() | st.from_regex(r"\A[A-Z][a-z]{2}, [0-9]{1,9} [A-Z][a-z]{2} [0-9:. +-]{1,30}\Z"))
def test_header_values_never_raise(text):
    parse_http_date(text)
    seconds = parse_retry_after(text, now=1e9)
    assert seconds is None or 0 <= seconds <= 86400


@pytest.mark.parametrize(
    "text", ["Sun, 99999999999999999999 Nov 1994 08:49:37 GMT", "0 Jan 0 0:0:0 +9999", "-1", "1.5"]
)
def test_what_is_no_time(text):
    assert parse_retry_after(text, now=0.0) is None


@pytest.mark.parametrize(
    ("value", "hub", "topic"),
    [
        ('<https://h.example/>; title="x; rel=self"; rel="hub"', "https://h.example/", ""),
        ("</x>; rel='hub self'", "http://a.example/x", "http://a.example/x"),
        ("<h>; REL=Hub, </feed>; rel=self; rel=hub", "http://a.example/h", "http://a.example/feed"),
        ("<http://[>; rel=next, <h>; rel=hub", "", ""),
        ("<h>; rel=hub, <http://[>; rel=self", "", ""),
        ("<h>; hub", "", ""),
    ],
)
def test_links_to_hubs(value, hub, topic):
    assert hub_links([value], "http://a.example/b") == HubLinks(hub, topic)


@pytest.mark.parametrize("value", ['"ü"', '"a\n"', "", None, "x" * 8_001])
def test_a_validator_that_cannot_be_sent_back_is_not_remembered(value):
    assert validator(value) is None


def test_a_long_validator_is_remembered():
    assert validator("x" * 8_000) == "x" * 8_000
