"""Feeds that are exported can be imported again."""

from pathlib import Path

from pollwise.export import export_collection
from pollwise.importing.opml import read_opml
from pollwise.live.importing import import_file
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory


def test_feeds_that_were_imported_need_no_copy(tmp_path: Path) -> None:
    db, file, again = (tmp_path / name for name in ("pollwise.db", "feeds.opml", "again.opml"))
    file.write_text('<opml><outline text="News" xmlUrl="http://a.example/feed"/></opml>')
    import_file(file, db, ("daily",), say=print)
    with Store.open(db) as store:
        store.add_pages([NewPage("http://a.example/")], 0.0)
    assert export_collection(db, again, now=2.0) == 1
    [page] = read_opml(again.read_bytes()).pages
    assert (page.url, page.tags, page.name) == ("http://a.example/feed", ("daily",), "News")


def test_the_feeds_come_back_with_their_tags(tmp_path: Path) -> None:
    db, file = tmp_path / "pollwise.db", tmp_path / "feeds.opml"
    feed = NewPage("http://a.example/feed?a=1&b=2", tags=("news", "daily"))
    with Store.open(db) as store:
        named = NewPage("http://b.example/x", name="My <feed>")
        store.add_pages([feed, NewPage("http://a.example/"), named], 0.0)
        for page_id, source in enumerate(("feed", "page", "feed")):
            seen = Observation(page_id, 1.0, Outcome.CHANGED)
            title = ("News & \x1b[31m<more>", None, "Its title")[page_id]
            result = PollResult(seen, PageMemory(), source=source, title=title)
            store.commit(Batch(polls=(result,)))
    assert export_collection(db, file, now=2.0) == 2
    assert file.read_bytes().endswith(b"</opml>\n")
    read = read_opml(file.read_bytes())
    assert [(page.url, page.tags, page.name) for page in read.pages] == [
        (feed.url, feed.tags, "News & [31m<more>"),
        ("http://b.example/x", None, "My <feed>"),
    ]
