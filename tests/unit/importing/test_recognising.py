"""Which program a file is from, whatever its encoding."""

import codecs

import pytest

from pollwise.errors import InputError
from pollwise.importing.recognising import read_file

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
