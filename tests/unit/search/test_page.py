"""The search page: well-formed, safe whatever engines answer, and usable without JavaScript."""

import base64
import hashlib
import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from pollwise.search.page import PAGE_HEADERS, search_page
from pollwise.search.query_broker import Found
from pollwise.search.results import Answer, Result

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;\u202e\ud800"
VOID = {"meta", "input"}
WRITTEN = {"html", "head", "meta", "title", "style", "body", "header", "main", "h1", "h2", "p"} | {
    *("form", "label", "input", "button", "ol", "li", "a", "bdi", "mark", "nav")
}


class Reader(HTMLParser):
    """Elements with their attributes, and the text; fails where tags do not nest."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def read(page: bytes) -> Reader:
    reader = Reader()
    reader.feed(page.decode())
    assert reader.open == []
    assert {tag for tag, _ in reader.elements} <= WRITTEN
    names = {name for _, attributes in reader.elements for name in attributes}
    assert not [name for name in names if name.startswith("on") or name in ("src", "style")]
    return reader


def result(text: str, url: str = "http://a.example/", marks: object = ()) -> Result:
    return Result(url, text, text, marks, 0.5, 0.5, "http://b.example")  # type: ignore[arg-type]


def found(*results: Result, failed: dict[str, str] | None = None) -> Found:
    return Found(results, [Answer("http://b.example", 1.0, 9, 25, results)], failed or {})


def test_an_empty_page_has_a_labelled_form() -> None:
    reader = read(search_page("sea", 1234))
    [label], [box] = reader.all("label"), reader.all("input")
    assert label["for"] == box["id"]
    assert box["name"] == "q"
    assert reader.all("html")[0]["lang"] == "en"
    assert "width=device-width" in str(reader.all("meta"))
    assert reader.all("main")
    assert "1,234 documents" in reader.text


def test_results_and_the_way_to_more() -> None:
    results = [result(f"whale {n}", f"http://a.example/{n}", ((0, 5),)) for n in range(10)]
    page = search_page("sea", 9, query="whale & co", offset=10, found=found(*results), token="t&k")
    reader = read(page)
    assert len(reader.all("mark")) == 10
    assert "Results 11 to 20, 25 pages match" in reader.text
    links = [link["href"] for link in reader.all("a")]
    assert links[:10] == [f"http://a.example/{n}" for n in range(10)]
    assert links[10:] == [
        "/?q=whale+%26+co&offset=0&token=t%26k",
        "/?q=whale+%26+co&offset=20&token=t%26k",
    ]
    assert "No page matches" in read(search_page("sea", 9, query="x", found=found())).text


@given(st.text() | st.just(HOSTILE), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9))))
def test_no_text_is_markup(text: str, marks: list[tuple[int, int]]) -> None:
    places = [(a, b) for a, b in marks if a < b <= len(text)]
    page = search_page(
        text,
        1,
        query=text,
        found=found(result(text, marks=places), failed={text: text}),
        error=text,
        token=text,
    )
    reader = read(page)
    assert len(reader.all("li")) == 1


def test_only_the_web_is_linked() -> None:
    for url in ("javascript:alert(1)", "data:text/html,x", "//a.example"):
        assert read(search_page("sea", 1, found=found(result("x", url)))).all("a") == []


def test_the_page_may_load_nothing_and_its_style_is_the_one_allowed() -> None:
    policy = PAGE_HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script" not in policy
    [style] = re.findall(r"<style>(.*?)</style>", search_page("sea", 1).decode(), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy
    assert not re.search(r"url\(|@import", style)
