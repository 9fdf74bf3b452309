"""The documentation is built into a site without a warning, and its pages ask no other host."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

import pollwise

pytest.importorskip("sphinx", reason="the packages for the documentation are not installed")

ROOT = Path(__file__).parents[2]
STYLE_LOADS = re.compile(r"""(?:url\(|@import)\s*["']?([^"')\s]+)""")
LOADED_BY_HREF = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch"}


class Loads(HTMLParser):
    """What a page has a browser load by itself: all but the links that people click."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        told = dict(attributes)
        self.addresses += [told[name] or "" for name in ("src", "srcset", "data") if name in told]
        if tag == "link" and LOADED_BY_HREF & set((told.get("rel") or "").split()):
            self.addresses.append(told.get("href") or "")
        self.addresses += STYLE_LOADS.findall(told.get("style") or "")


def loads(page: Path) -> list[str]:
    """The addresses that a page or a style sheet loads."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".css":
        return STYLE_LOADS.findall(text)
    reader = Loads()
    reader.feed(text)
    return reader.addresses


def elsewhere(addresses: list[str]) -> Iterator[str]:
    """Those that name a host."""
    return (each for each in addresses if re.match(r"\s*(https?:)?//", each))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q"]
    places = ["-c", "docs", "-d", str(folder / "doctrees"), ".", str(folder / "html")]
    built = subprocess.run([*command, *places], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder / "html"


def test_every_document_is_on_the_site(site):
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    pages = [site / path.relative_to(ROOT).with_suffix(".html") for path in documents]
    assert [page for page in pages if not page.is_file()] == []
    assert (site / "index.html").is_file()
    first = (site / "docs" / "index.html").read_text(encoding="utf-8")
    assert f"<title>pollwise {pollwise.__version__}</title>" in first


def test_no_page_asks_another_host(site):
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(pages) > 20
    assert {page.name: asked for page in pages if (asked := [*elsewhere(loads(page))])} == {}


def test_formulas_need_no_script(site):
    text = (site / "docs" / "theory.html").read_text(encoding="utf-8")
    assert text.count("<math") > 100
    assert re.search("<script[^>]*mathjax", text, re.I) is None


def test_other_hosts_are_seen(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<a href="https://a.example/">a</a><img src="b.png"><script src="//c.example/c.js">'
        '</script><link rel="stylesheet" href="https://d.example/d.css">'
        '<link rel="next" href="http://e.example/">'
    )
    assert [*elsewhere(loads(page))] == ["//c.example/c.js", "https://d.example/d.css"]
    style = tmp_path / "style.css"
    style.write_text("@import 'https://f.example/f.css'; a { background: url(g.png) }")
    assert [*elsewhere(loads(style))] == ["https://f.example/f.css"]
