"""What is kept, as people say it."""

import pytest

from pollwise.errors import InputError
from pollwise.store.retention import KEEP_ALL, Retention, parse_retention


@pytest.mark.parametrize(
    ("text", "retention", "words"),
    [
        ("all", KEEP_ALL, "all"),
        ("1", Retention(versions=1), "the newest 1 of each page"),
        (" 2000 ", Retention(versions=2000), "the newest 2,000 of each page"),
        ("12h", Retention(age=43_200.0), "0.5 days"),
        ("90d", Retention(age=7_776_000.0), "90 days"),
        ("8w", Retention(age=4_838_400.0), "56 days"),
    ],
)
def test_what_can_be_said(text: str, retention: Retention, words: str) -> None:
    assert parse_retention(text) == retention
    assert str(retention) == words


@pytest.mark.parametrize(
    "text", ["", "0", "0d", "-1", "1.5d", "90 d", "90y", "d", "all 3", "9" * 30]
)
def test_what_cannot_be_is_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"^keep .*: expected a number of versions") as caught:
        parse_retention(text)
    assert "\n" not in str(caught.value)
