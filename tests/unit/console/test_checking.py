"""What people see of `pollwise check`."""

from dataclasses import replace

from pollwise.console.checking import print_check
from pollwise.live.checking import PageCheck

PAGE = PageCheck(
    url="http://a.example/",
    final_url="http://a.example/",
    fetches=2,
    status=200,
    error=None,
    content_type="text/html",
    kind="page",
    notice="",
    title="",
    feeds=(),
    bytes=13,
    etag=None,
    last_modified=None,
    changed=None,
    blocks=1,
    kept=("Hello",),
    ignored=(),
    items=None,
    newest=(),
    masked=(),
    noise=(),
    restless=(),
)


def test_of_a_page_without_text_it_is_said_that_every_byte_counts(capsys):
    print_check(PAGE)
    assert "1 block, beginning with:" in capsys.readouterr().out
    print_check(replace(PAGE, blocks=0, kept=()))
    told = capsys.readouterr().out
    assert "every byte, as it has no text" in told
    assert "beginning" not in told


def test_an_empty_list_has_no_newest_item(capsys):
    print_check(replace(PAGE, kind="feed", items=0, blocks=0, kept=()))
    told = capsys.readouterr().out
    assert "0 items" in told
    assert "newest" not in told
