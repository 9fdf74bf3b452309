"""The Atom feed of changes."""

from typing import Any

import fastfeedparser
from tests.unit.insight.a_watch import URLS

from pollwise.store.tables.reader import TableReader


async def test_a_feed_reader_reads_it(asking: Any):
    answer = await asking("GET", "/feed.atom?limit=7")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    feed = fastfeedparser.parse(answer.body)
    assert len(feed.entries) == 7
    assert {entry.link for entry in feed.entries} == {URLS[0]}
    assert len({entry.id for entry in feed.entries}) == 7
    dates = [entry.published or entry.updated for entry in feed.entries]
    assert dates == sorted(dates, reverse=True)


async def test_what_is_known_is_not_sent_again(asking: Any):
    first = await asking("GET", "/feed.atom")
    assert first.headers["cache-control"] == "private, no-cache"
    mark = first.headers["etag"]
    for known in (mark, f"W/{mark}", f'"other", {mark}', "*"):
        again = await asking("GET", "/feed.atom", if_none_match=known)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == mark
    assert (await asking("GET", "/feed.atom", if_none_match='"other"')).status == 200
    assert (await asking("GET", "/feed.atom?limit=3", if_none_match=mark)).status == 200


async def test_it_can_be_narrowed(asking: Any):
    assert len(fastfeedparser.parse((await asking("GET", "/feed.atom?tag=x")).body).entries) > 3
    assert b"<entry>" not in (await asking("GET", "/feed.atom?tag=nobody")).body
    changes = (await asking("GET", "/api/changes?unread=true")).json["changes"]
    read = await asking("POST", "/api/changes/read", told={"up_to": changes[-1]["seq"]})
    assert read.status == 200
    assert b"<entry>" not in (await asking("GET", "/feed.atom?unread=true")).body
    assert b"<entry>" in (await asking("GET", "/feed.atom")).body


async def test_what_cannot_be_used(asking: Any):
    for query in ("limit=0", "limit=201", "limit=x", "unread=1", f"tag={'x' * 1001}"):
        assert (await asking("GET", f"/feed.atom?{query}")).status == 400


async def test_no_more_changes_are_read_than_are_shown(asking: Any, monkeypatch):
    read = []
    made = TableReader._change
    monkeypatch.setattr(
        TableReader, "_change", lambda store, row: read.append(row) or made(store, row)
    )
    for query in ("limit=3", "limit=3&tag=x", "limit=3&unread=true", "tag=nobody"):
        assert (await asking("GET", f"/feed.atom?{query}")).status == 200
    assert len(read) == 9
