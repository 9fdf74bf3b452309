"""What people read in a text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.sources.legible import legible_view
from pollwise.sources.reading import read, read_plainly
from pollwise.sources.view import Parts, View

HTML, XHTML = "text/html; charset=utf-8", "application/xhtml+xml"


@pytest.mark.parametrize(
    ("content_type", "select"),
    [(HTML, ()), (HTML, ("p",)), (HTML, ("xpath://p",)), (XHTML, ()), (XHTML, ("xpath://p",))],
)
def test_references_are_read_as_the_signs_they_mean(content_type, select):
    body = "<p class='5'>&#36;1&nbsp;299 &#x20ac;\u00a0\u00e9</p>".encode()
    view = read(body, content_type, Parts(select))
    assert legible_view(view).blocks == ("$1\xa0299 \u20ac\xa0\u00e9",)


def test_tags_of_xml_are_not_read_but_attributes_that_are_selected():
    body = b'<?xml version="1.0"?><rates><rate of="USD" is="1.08"/><rate of="CZK">25</rate></rates>'
    assert legible_view(read(body, "text/xml")).blocks == ("25",)
    selected = read(body, "text/xml", Parts(("xpath://rate[@of='USD']/@is",)))
    assert legible_view(selected).blocks == ("1.08",)


# The escape of U+007F, which is of ASCII, stays.
@given(st.text(st.characters(codec="utf-8", exclude_characters="\x7f")))
def test_json_is_read_alike_with_escapes_and_without(text):
    value = {text: [text, f"{text}\\u00e9"]}
    plain = json.dumps(value, ensure_ascii=False).encode()
    escaped = legible_view(read_plainly(json.dumps(value).encode(), "application/json"))
    assert escaped.blocks == legible_view(read_plainly(plain, "application/json")).blocks


@pytest.mark.parametrize("kind", ["page", "text", "json", "feed"])
def test_signs_that_are_not_seen_are_left_out(kind):
    assert legible_view(View(kind, "", blocks=("aus\xadver\u200bkauft",))).blocks == (
        "ausverkauft",
    )


@given(st.lists(st.sampled_from(["&", "#", "x", "9" * 5000, ";", "\\", "u", "d83d", "00e9", "<"])))
def test_any_text_can_be_read(parts):
    for kind in ("page", "xml", "json"):
        legible_view(View(kind, "", blocks=("".join(parts),)))


@pytest.mark.parametrize("part", ["&", "&#", "&#1", "&a", "\\", "\\u", "\\u00e9", "\xad "])
def test_texts_made_to_hurt_are_read_in_linear_time(part):
    for kind in ("page", "json"):
        legible_view(View(kind, "", blocks=(part * 500_000,)))
