"""Which program a file is from, whatever its encoding."""

import codecs

import pytest

from pollwise.errors import InputError
from pollwise.importing.recognising import read_file, read_urls

OPML = (
    '<?xml version="1.0" encoding="{}"?>\n'
    '<opml><body><outline text="Žižkov" xmlUrl="http://a.example/rss"/></body></opml>'
)
MARKED = [
    ("utf-8", codecs.BOM_UTF8, "utf-8"),
    ("utf-16", codecs.BOM_UTF16_LE, "utf-16-le"),
    ("utf-16", codecs.BOM_UTF16_BE, "utf-16-be"),
]


@pytest.mark.parametrize(("told", "mark", "encoding"), MARKED)
def test_opml_with_a_byte_order_mark(tmp_path, told, mark, encoding):
    path = tmp_path / "feeds.opml"
    path.write_bytes(mark + OPML.format(told).encode(encoding))
    read = read_file(path)
    assert [(page.url, page.name) for page in read.pages] == [("http://a.example/rss", "Žižkov")]


@pytest.mark.parametrize(("told", "mark", "encoding"), MARKED)
def test_entities_are_refused_in_each_encoding(tmp_path, told, mark, encoding):
    path = tmp_path / "feeds.opml"
    entity = '<!DOCTYPE x [<!ENTITY a "b">]><opml>&a;</opml>'
    path.write_bytes(mark + entity.encode(encoding))
    with pytest.raises(InputError, match="entities of its own"):
        read_file(path)


def test_what_is_none_of_these_is_said_so(tmp_path):
    path = tmp_path / "list.txt"
    path.write_bytes("http://a.example/".encode("utf-16"))
    with pytest.raises(InputError, match=r"list\.txt: no file that can be imported"):
        read_file(path)


LISTED = {
    "list.txt": "# mine\nhttp://a.example/ weight=2\nhttp://b.example/\nhttp://a.example/\n",
    "feeds.opml": """<opml><body><outline xmlUrl="http://a.example/"/>
        <outline text="b" xmlUrl="http://b.example/"/></body></opml>""",
    "sitemap.xml": """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <url><loc>http://a.example/</loc></url><url><loc>http://b.example/</loc></url></urlset>""",
    "table.csv": "name,url\nA,http://a.example/\nB,http://b.example/\n",
}


@pytest.mark.parametrize("name", LISTED)
def test_the_urls_of_a_list_or_of_another_file(tmp_path, name):
    (tmp_path / name).write_text(LISTED[name])
    told = []
    assert read_urls(tmp_path / name, told.append) == ["http://a.example/", "http://b.example/"]
    assert len(told) == (name == "list.txt")  # the page is named twice, with other words


def test_urls_of_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"seeds\.txt"):
        read_urls(tmp_path / "seeds.txt", print)


def test_what_is_left_out_of_a_file_is_said_in_one_line(tmp_path):
    lines = ["url", "http://a.example/", *["ftp://a.example/"] * 3]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    told = []
    assert read_urls(tmp_path / "table.csv", told.append) == ["http://a.example/"]
    assert len(told) == 1
    assert "line 3: ftp is not fetched" in told[0]
    assert told[0].endswith("(and 2 more like it)")


def test_a_file_that_names_no_page(tmp_path):
    (tmp_path / "seeds.txt").write_text("# none yet\n")
    told = []
    assert read_urls(tmp_path / "seeds.txt", told.append) == []
    assert told == [f"{tmp_path / 'seeds.txt'} names no page"]


def test_what_is_neither_a_list_nor_a_file_of_another_program(tmp_path):
    (tmp_path / "page.html").write_text("<html><body>whales</body></html>")
    with pytest.raises(InputError, match=r"page\.html: neither a list with a URL a line nor"):
        read_urls(tmp_path / "page.html", print)
