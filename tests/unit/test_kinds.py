"""Kinds of pages, by their names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.kinds import _masked, kind_of, kinds_of

parts = ["http://b", "/http://", "://", "/", "a", "Shop", "1", "v2", "item7", ".html", *"-?#: ß"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("https://example.org/blog/2024/05/a-title.html?page=2", "blog/#/#/*.html"),
        ("https://example.org/blog/2023/11/another.html#top", "blog/#/#/*.html"),
        ("https://example.org/shop/p2ie-br32", "shop/*"),
        ("https://example.org/privacy", "privacy"),
        ("http://example.org", ""),
        ("http://example.org/", ""),
        ("http://example.org:8080/?id=7", ""),
        ("https://example.org/Tags/News/", "tags/*"),
        ("docs/CVE-2014-3707", "docs/cve#"),
        ("pep-0455", "pep#"),
        ("rfc/rfc2326", "rfc/rfc#"),
        ("reference/dom/node/construct", "reference/dom/node/*"),
        ("contrib/Example/Privacy Policy", "contrib/example/*"),
        ("https://example.org/api/v2/users/1234", "api/v2/users/#"),
        ("https://example.org/shop/item1234/photos", "shop/item#/*"),
        ("https://web.archive.org/web/20240101/http://example.org", "web/#"),
        ("list/2024-05.PHP", "list/#.php"),
        ("list/item_7.2.html", "list/item_#.html"),
        ("list/a1b.html", "list/*.html"),
        ("list/٣.html", "list/#.html"),
        ("list/7.a", "list/*"),
        ("", ""),
    ],
)
def test_patterns(name, kind):
    assert kind_of(name) == kind


@given(st.text(alphabet="ab1-./ ?#:", max_size=30), st.integers(0, 10**9))
def test_every_name_has_one_and_numbers_do_not_matter(name, number):
    assert isinstance(kind_of(name), str)
    assert kind_of(f"list/item-{number}") == "list/item#"


def test_a_name_of_a_million_letters_takes_no_longer_than_its_length():
    """Were each letter tried as the begin of a scheme, it would take hours."""
    letters = "a" * 1_000_000
    assert kind_of(f"http://h.example/{letters}") == letters
    assert kind_of(f"http://h.example/x/{letters}1") == "x/a#".replace("a", letters)
    assert kind_of(f"http://h.example/x/{letters}1{'.' * 1_000_000}a") == "x/*"


@given(st.text(alphabet="ab1-./:", max_size=20), st.booleans())
def test_what_follows_the_path_does_not_matter(path, has_origin):
    name = f"https://example.org/{path}" if has_origin else path
    assert kind_of(name) == kind_of(f"{name}?page=2") == kind_of(f"{name}#top")


def plain_kind(name):
    """The same without what is kept of folders."""
    name = name.strip()
    origin = r"[a-z][a-z0-9+.-]*://[^/?#]*"
    if name.count("://") == 1 and (begin := re.match(origin, name, re.IGNORECASE)):
        path = name[begin.end() :]
    else:
        path = re.sub(rf"(?<![a-z0-9+.-]){origin}", "", name, flags=re.IGNORECASE)
    path = path.partition("?")[0].partition("#")[0].casefold()
    *folders, last = path.strip("/").split("/")
    masked = _masked(last)
    if folders and masked == last:
        ending = re.search(r"\.[a-z]{2,5}$", last)
        masked = f"*{ending[0] if ending else ''}"
    of_folders = [
        folder if re.fullmatch(r"[^\W\d]+\d", folder) else _masked(folder)
        for folder in folders
        if folder
    ]
    return "/".join([*of_folders, masked])


@given(st.lists(st.sampled_from(parts), max_size=12).map("".join), st.booleans())
def test_it_is_told_by_the_text_alone(path, has_origin):
    name = f"https://example.org/{path}" if has_origin else path
    assert kind_of(name) == plain_kind(name)


@given(st.lists(st.lists(st.sampled_from(parts), max_size=8).map("".join), max_size=6))
def test_those_of_many_are_as_of_each(names):
    """Digits alike are taken for one name where they do not matter, as they do in v2."""
    alike = [re.sub("[127]", digit, name) for name in names for digit in "1234567"]
    assert kinds_of(alike) == [kind_of(name) for name in alike]


def test_names_of_several_lines_are_names():
    assert kinds_of(["list/a\nb1", "list/a\nb2"]) == [kind_of("list/a\nb1"), kind_of("list/a\nb2")]
