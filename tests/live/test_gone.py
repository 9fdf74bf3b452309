"""A page that is gone and comes back, over real HTTP, from the answers to what is told."""

from aiohttp import web

from pollwise.insight.changes import read_changes, read_diff, read_history
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.store.records import NewPage

from .patient_watch import watch_for

ANSWERS = [
    *((200, "<p>Price: 1 EUR"), (404, ""), (410, ""), (503, ""), (404, "")),
    *((200, "<p>Price: 1 EUR"), (200, "<p>Price: 1 EUR"), (404, ""), (200, "<p>Price: 2 EUR")),
]
"""What the page answers, one after the other; the last one for ever."""


async def test_it_is_told_once_that_a_page_is_gone_and_once_that_it_is_back(site, tmp_path):
    left = list(ANSWERS)

    async def answer(request: web.Request) -> web.Response:
        status, text = left.pop(0) if len(left) > 1 else left[0]
        return web.Response(status=status, text=text, content_type="text/html")

    site.answers["/price"] = answer
    db, url = tmp_path / "x.db", site.url("/price")
    settings = WatchSettings(budget="6/minute")
    with Store.open(db) as store:
        store.add_pages([NewPage(url, site.host), NewPage(site.url("/never"), site.host)], now=0.0)
    for begin in range(0, 60_000, 100):  # it is known after a restart
        await watch_for(db, settings, float(begin), 90.0)
        if site.paths.count("/price") >= len(ANSWERS):
            break
    told = read_changes(db, since=0.0).changes
    assert [(one.url, one.kind.name, one.status) for one in told] == [
        (url, "GONE", 404),
        (url, "BACK", None),
        (url, "GONE", 404),
        (url, "BACK_CHANGED", None),
    ]
    assert (told[-1].removed, told[-1].added) == ("Price: 1 EUR", "Price: 2 EUR")
    assert read_diff(db, url).gone_at is None
    entries = read_history(db, url).entries
    assert [one.version for one in entries] == [1, None, None, None, 2]
    with Store.open_readonly(db) as store:
        assert store.find_page(url).changes == 1
