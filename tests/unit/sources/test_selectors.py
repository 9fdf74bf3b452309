"""What people write to name parts, and what is said of what they get wrong."""

import re

import pytest

from pollwise import extras
from pollwise.errors import InputError
from pollwise.sources.selectors import read_selectors


@pytest.mark.parametrize(
    ("text", "language", "expression"),
    [
        ("main > article", "css", "main > article"),
        (" a:has(b) ", "css", "a:has(b)"),
        ("xpath://p[@xml:lang='$a f() x:y']/child::text()", "xpath", None),
        ("xpath:(//a | //b)[not (position() mod (2))]/ancestor-or-self::node()", "xpath", None),
        ("xpath: //h2/@id", "xpath", "//h2/@id"),
        ("json:$..price", "json", "$..price"),
        (r"re:(?i)build \d+", "re", r"(?i)build \d+"),
    ],
)
def test_what_is_read(text, language, expression):
    [selector] = read_selectors([text], "--select")
    assert selector.language == language
    assert selector.expression == (expression or text.removeprefix("xpath:"))
    assert read_selectors([str(selector)], "again") == (selector,)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "an empty selector"),
        ("xpath:", "an empty selector"),
        ("div >", "'div >' is no CSS selector; others begin with xpath:, json: or re:"),
        ("css:main", "is no CSS selector"),
        ("p::before", "is no CSS selector"),
        ("xpath://a[", "is no XPath expression: Invalid expression"),
        ("xpath://x:a", "is no XPath expression: Undefined namespace prefix"),
        ("xpath:count(//a)", "it finds a number, a text or a truth, not parts of a page"),
        ("xpath://namespace::*", "is no XPath expression of parts of a page: it finds namespaces"),
        (
            'xpath://p[lower-case(.)="x"]',
            "is no XPath expression: XPath 1.0 has no function lower",
        ),
        ("xpath://a[foo ( )]", "XPath 1.0 has no function foo()"),
        ('xpath://p[re:test(.,"H")]', "XPath 1.0 has no function re:test()"),
        ("xpath://a[x:b]", "no namespace is known by the prefix x"),
        ("xpath://a[$x]", "there are no variables"),
        ("json:$.a[", "is no JSONPath: unexpected end of query"),
        ("re:(a", "is no regular expression of RE2"),
        ("re:a(?=b)", "is no regular expression of RE2 (no look-around, no back reference)"),
        ("re:x*", "it matches the empty text"),
    ],
)
def test_what_is_not(text, why, capfd):
    with pytest.raises(InputError, match=re.escape(why)) as error:
        read_selectors(["main", text], "pages.csv line 3")
    assert str(error.value).startswith("pages.csv line 3: ")
    assert "\n" not in str(error.value)
    assert capfd.readouterr() == ("", "")  # a library that logs by itself


def test_libraries_are_looked_for_once_for_many_selectors(monkeypatch):
    looked_for = []
    monkeypatch.setattr(extras, "find_spec", lambda name: looked_for.append(name) or name)
    assert len(read_selectors(["main", "nav", "re:x"] * 50, "--select")) == 150
    assert len(looked_for) == len(set(looked_for))


@pytest.mark.parametrize("text", ["main", "xpath://a"])
def test_without_the_extra_there_are_no_selectors(monkeypatch, text):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pollwise\[text\]'`, or let all of the page count"):
        read_selectors([text], "--select")
