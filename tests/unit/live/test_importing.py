"""Files of other programs become pages, and their past checks become knowledge."""

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest
from warcio.warcwriter import WARCWriter

from pollwise.errors import InputError
from pollwise.insight.explanation import read_explanation
from pollwise.insight.status import read_status
from pollwise.live.control import ask, watch_settings
from pollwise.live.importing import import_file
from pollwise.live.requests import ChangeSettings
from pollwise.store import Store

from ..importing.backups import backup

HOUR = 3600.0
DAYS = 30


def month(every_hours: dict[str, float | None]) -> bytes:
    """A backup with pages checked each hour of a month, which changed so often (None: never)."""
    now = time.time()
    begin = now - DAYS * 24 * HOUR
    files = {}
    for number, (url, every) in enumerate(every_hours.items()):
        times = [begin] if every is None else np.arange(begin, now - HOUR, every * HOUR)
        watch = {"url": url, "time_between_check": {"hours": 1}, "last_checked": now - 60}
        files[f"w{number}/watch.json"] = json.dumps(watch)
        files[f"w{number}/history.txt"] = "".join(f"{at:.0f},x\n" for at in times)
    return backup(files)


def test_a_month_of_checks_teaches_the_rates(tmp_path: Path) -> None:
    every = {"http://a.example/": 24.0, "http://b.example/": 120.0, "http://c.example/": None}
    file, db = tmp_path / "backup.zip", tmp_path / "pollwise.db"
    file.write_bytes(month(every))
    said: list[str] = []
    report = import_file(file, db, ("old",), say=said.append)
    assert (report.pages, report.new, report.taught) == (3, 3, 3)
    with Store.open_readonly(db) as store:
        a, b, c = store.pages()
        assert (a.page.tags, a.changes, b.changes, c.changes) == (("old",), 29, 5, 0)
        assert list(store.changes()) == []
    told = [read_explanation(db, url) for url in every]
    per_day = [one.changes_per_day for one in told]
    assert per_day[0] == pytest.approx(1.0, rel=0.3)
    assert per_day[1] == pytest.approx(0.2, rel=0.4)
    assert per_day[2] == pytest.approx(0.0, abs=0.1)
    # All were checked an hour ago: the page that changes most is worth the first poll.
    assert told[0].index > told[1].index > told[2].index


def test_a_page_that_is_there_several_times_has_all_of_its_tags(tmp_path: Path) -> None:
    """Readers export a feed once for each of its folders: the tags of the last one held."""
    file, db = tmp_path / "feeds.opml", tmp_path / "pollwise.db"
    feed = '<outline text="{0}"><outline xmlUrl="http://a.example/" text="{1}"/></outline>'
    folders = feed.format("news", "") + feed.format("home", "First") + feed.format("news", "Last")
    file.write_text(f"<opml><body>{folders}</body></opml>")
    report = import_file(file, db, say=print)
    assert (report.pages, report.new, report.left_out) == (1, 1, ())
    with Store.open_readonly(db) as store:
        [page] = (record.page for record in store.pages())
    assert (page.tags, page.name) == (("news", "home"), "First")


def test_of_a_page_that_is_there_several_times_the_first_filters_hold(tmp_path: Path) -> None:
    file, db = tmp_path / "jobs.yaml", tmp_path / "pollwise.db"
    job = "url: http://a.example/\nfilter:\n  - css: {}\n"
    file.write_text("---\n".join(map(job.format, ("main", "nav", "h1"))))
    report = import_file(file, db, say=print)
    assert report.left_out == (
        "http://a.example/: it is there several times, and the filters of the first hold",
    )
    with Store.open_readonly(db) as store:
        [page] = (record.page for record in store.pages())
    assert page.select == ("main",)


def test_past_checks_are_no_copies(tmp_path: Path) -> None:
    file, db = tmp_path / "backup.zip", tmp_path / "pollwise.db"
    file.write_bytes(month({"http://a.example/": 24.0}))
    said: list[str] = []
    import_file(file, db, say=said.append)
    assert said[-1].endswith(" checks of 1 page")
    with Store.open_readonly(db) as store:
        assert (store.count_without_copy(), list(store.documents())) == (1, [])


def test_pages_that_were_polled_keep_what_was_learned_of_them(tmp_path: Path) -> None:
    file, db = tmp_path / "backup.zip", tmp_path / "pollwise.db"
    file.write_bytes(month({"http://a.example/": 24.0}))
    import_file(file, db, say=print)
    again = import_file(file, db, say=print)
    assert (again.pages, again.new, again.taught) == (1, 0, 0)
    with Store.open_readonly(db) as store:
        assert store.pages()[0].changes == 29


def test_a_table_of_past_checks_teaches(tmp_path: Path) -> None:
    file, db = tmp_path / "checks.csv", tmp_path / "pollwise.db"
    rows = (f"http://a.example/,{1_777_593_600 + 3600 * n},{n % 3 == 0:d}" for n in range(30))
    file.write_text("page,checked_at,changed\n" + "\n".join(rows))
    report = import_file(file, db, say=print)
    assert (report.origin, report.pages, report.checks, report.taught) == ("CSV", 1, 30, 1)
    with Store.open_readonly(db) as store:
        [record] = store.pages()
    assert (record.polls, record.changes) == (30, 9)
    again = import_file(file, db, say=print)
    assert (again.checks, again.taught) == (0, 0)
    assert again.left_out == ("the past checks of 1 page: polled before, or checked in the future",)


def test_an_import_is_no_start(tmp_path: Path) -> None:
    file, db = tmp_path / "feeds.opml", tmp_path / "pollwise.db"
    file.write_text("<opml><outline xmlUrl='http://a.example/'/></opml>")
    import_file(file, db, say=print)
    status = read_status(db)
    assert (status.started_at, status.budget) == (None, "60/hour")
    assert status.evidence is not None


def test_what_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    file, db = tmp_path / "list.zip", tmp_path / "pollwise.db"
    with pytest.raises(InputError, match=r"list\.zip cannot be read \(No such file"):
        import_file(file, db, say=print)
    file.write_bytes(b"PK no zip")
    with pytest.raises(InputError, match=r"list\.zip: the backup cannot be read"):
        import_file(file, db, say=print)
    file.write_bytes(b"just words")
    with pytest.raises(InputError, match="no file that can be imported"):
        import_file(file, db, say=print)
    assert not db.exists()


@pytest.mark.parametrize("name", ["pages.warc", "pages.warc.gz"])
def test_a_web_archive_is_named(tmp_path: Path, name: str) -> None:
    file, db = tmp_path / name, tmp_path / "pollwise.db"
    with file.open("wb") as stream:
        WARCWriter(stream, gzip=name.endswith(".gz")).write_record(
            WARCWriter(stream).create_warcinfo_record(name, {"software": "another"})
        )
    with pytest.raises(InputError, match=rf"{name} is a WARC file: .* `pollwise add --file`"):
        import_file(file, db, say=print)
    file.write_bytes(b"\x1f\x8b" + bytes(100))
    with pytest.raises(InputError, match=r"a sitemap without entries, or one that cannot be read"):
        import_file(file, db, say=print)
    assert not db.exists()


def test_a_budget_that_was_set_before_holds(tmp_path: Path) -> None:
    file, db = tmp_path / "feeds.opml", tmp_path / "pollwise.db"
    file.write_text("<opml><outline xmlUrl='http://a.example/' category='a\x7fb'/></opml>")
    ask(db, ChangeSettings("10/hour"), make=True, say=print)
    import_file(file, db, say=print)
    with Store.open_readonly(db) as store:
        assert watch_settings(store).budget == "10/hour"
        assert store.pages()[0].page.tags == ("a-b",)


def test_why_no_page_can_be_watched_is_said(tmp_path: Path) -> None:
    file = tmp_path / "feeds.opml"
    file.write_text("<opml><outline xmlUrl='ftp://a.example/'/></opml>")
    with pytest.raises(InputError, match=r"no page in it .* such as ftp is not fetched"):
        import_file(file, tmp_path / "pollwise.db", say=print)


def test_entries_of_a_sitemap_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    file, db = tmp_path / "sitemap.xml", tmp_path / "pollwise.db"
    bad = "<url><loc>ftp://a.example/</loc></url>" * 2
    told = "entries that cannot be used: 2 (the first: ftp is not fetched: 'ftp://a.example/';"
    file.write_text(f"<urlset>{bad}</urlset>")
    with pytest.raises(InputError, match=re.escape(told)):
        import_file(file, db, say=print)
    file.write_text(f"<urlset>{bad}<url><loc>http://a.example/</loc></url></urlset>")
    report = import_file(file, db, say=print)
    [line] = report.left_out
    assert (report.pages, line.startswith(told)) == (1, True)


def test_without_a_browser_pages_are_taken_over_and_not_rendered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pollwise.web.rendering.browser._programs", list)
    file, db = tmp_path / "backup.zip", tmp_path / "pollwise.db"
    watch = {"url": "http://a.example/", "fetch_backend": "html_webdriver"}
    file.write_bytes(backup({"w/watch.json": json.dumps(watch)}))
    report = import_file(file, db, say=print)
    assert len(report.left_out) == 1
    assert "1 page not rendered: to render pages needs a browser: install" in report.left_out[0]
    with Store.open_readonly(db) as store:
        assert not store.pages()[0].page.render
