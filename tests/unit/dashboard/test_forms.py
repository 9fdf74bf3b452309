"""Forms: hostile, too long, doubled, unknown and stale values are told at their fields."""

import asyncio
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request

from pollwise.dashboard.forms import Field, Form, Sent, done, read_form, told
from pollwise.errors import InputError


def number(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"{text[:20]!r} is no number")
    return int(text)


FIELDS = {
    "name": Field(longest=10),
    "urls": Field(longest=100, lines=True),
    "weight": Field(number),
    "page": Field(number, several=True),
}


def sent(*pairs: tuple[str, str]) -> Sent:
    return Sent(pairs)


def posted(body: bytes, media_type: str = "application/x-www-form-urlencoded") -> Sent:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body}

    scope = {
        "type": "http",
        "method": "POST",
        "headers": [(b"content-type", media_type.encode())],
    }
    return asyncio.run(read_form(Request(scope, receive)))


def test_what_was_typed_becomes_values() -> None:
    form = Form("add", FIELDS)
    pairs = ("name", "shop"), ("urls", "a\r\nb"), ("weight", "2"), ("page", "1"), ("page", "2")
    assert form.take(sent(*pairs))
    assert form.values == {"name": "shop", "urls": "a\nb", "weight": 2, "page": (1, 2)}
    assert (form.status, form.errors) == (200, {})


@pytest.mark.parametrize(
    ("pair", "line"),
    [
        (("name", "x" * 11), "11 characters are too many: expected at most 10"),
        (("name", "a\0b"), "cannot be shown (u+0000)"),
        (("name", "a\nb"), "cannot be shown"),
        (("name", "a\u202eb"), "cannot be shown (right-to-left override)"),
        (("urls", "\x1b[2J"), "cannot be shown (u+001b)"),
        (("weight", "many"), "'many' is no number"),
        (("page", "x"), "'x' is no number"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_at_its_field(pair: tuple[str, str], line: str) -> None:
    form = Form("add", FIELDS)
    rest = [("weight", "1")] if pair[0] != "weight" else []
    assert not form.take(sent(pair, *rest))
    assert list(form.errors) == [pair[0]]
    assert line in form.errors[pair[0]]
    assert form.status == 400


def test_what_was_typed_is_kept() -> None:
    form = Form("add", FIELDS)
    assert not form.take(sent(("name", "good"), ("weight", "bad")))
    assert form.typed["name"] == "good"
    assert form.typed["weight"] == "bad"


def test_doubled_and_unknown_fields() -> None:
    form = Form("add", FIELDS)
    assert not form.take(sent(("weight", "1"), ("weight", "2"), ("admin", "yes")))
    assert "more than once" in form.errors["weight"]
    assert "no field 'admin'" in form.errors[""]


def test_a_value_that_somebody_else_changed_is_refused() -> None:
    present = {"budget": "5/hour", "quiet": ""}
    fields = {"budget": Field(), "quiet": Field()}
    form = Form("settings", fields, present)
    stale = sent(("budget", "9/hour"), ("was.budget", "1/hour"), ("quiet", ""), ("was.quiet", ""))
    assert not form.take(stale)
    assert form.status == 409
    assert "to '5/hour'" in form.errors["budget"]
    assert form.typed["budget"] == "9/hour"
    # What was shown then has the present value, so sending it again makes it hold.
    again = Form("settings", fields, present)
    assert again.take(sent(("budget", "9/hour"), ("was.budget", "5/hour"), ("was.quiet", "")))
    assert again.changed == {"budget"}


def test_what_nobody_touched_is_no_change_even_if_it_is_stale() -> None:
    form = Form("settings", {"budget": Field()}, {"budget": "5/hour"})
    assert form.take(sent(("budget", "1/hour"), ("was.budget", "1/hour")))
    assert form.changed == frozenset()


@pytest.mark.parametrize(
    ("body", "media_type", "status"),
    [
        (b"{}", "application/json", 415),
        (b"a=1", "multipart/form-data; boundary=x", 415),
        (b"a=%ff", "application/x-www-form-urlencoded", 400),
        (b"a=\xff", "application/x-www-form-urlencoded", 400),
        (b"a&" * 3000, "application/x-www-form-urlencoded", 400),
    ],
)
def test_what_is_no_form_is_refused(body: bytes, media_type: str, status: int) -> None:
    with pytest.raises(HTTPException) as caught:
        posted(body, media_type)
    assert caught.value.status_code == status


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.text())))
def test_any_text_is_read_back_or_refused(pairs: list[tuple[str, str]]) -> None:
    texts = [text for pair in pairs for text in pair]
    body = urlencode(pairs, errors="surrogatepass").encode()
    if any("\ud800" <= one <= "\udfff" for text in texts for one in text):
        with pytest.raises(HTTPException):
            posted(body)
    else:
        assert list(posted(body).pairs) == pairs


def test_only_fixed_words_are_told() -> None:
    def asked(query: bytes) -> Request:
        return Request({"type": "http", "query_string": query, "headers": []})

    assert told(asked(b"done=removed-2")).startswith("2 pages removed. Versions")
    for code in (b"<script>", b"removed", b"removed-0", b"stolen-2", b"removed-2.", b"removed-1e9"):
        assert told(asked(b"done=" + code)) == ""
    assert told(asked(b"")) == ""
    answer = done("/pages", {"added": 2, "known": 1}, q="a&b", tag=None)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/pages?q=a%26b&done=added-2.known-1"
    assert done("/pages", {"added": 0}).headers["location"] == "/pages"
