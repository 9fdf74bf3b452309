"""Feeds, and parts of pages, polled from a real server."""

import asyncio
import gzip
from email.utils import formatdate
from itertools import count

import pytest
from aiohttp import web

from pollwise.importing.recognising import read_file
from pollwise.live.checking import check_page
from pollwise.live.session import Session
from pollwise.live.web_polling import web_poller
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.store.records import NewPage
from pollwise.types import Outcome, Page, PageMemory
from pollwise.web import polite_fetcher

from .patient_watch import PatientClock

HTML = "text/html"
EVERY = 40.0
"""Seconds from one item of the feed to the next."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Nothing here shows seconds."""
    monkeypatch.setattr(polite_fetcher, "APART", 0.0)


def serve_feed(site, clock) -> None:
    """A feed of the ten latest items, which says at each fetch that it was made now."""
    builds = count()

    async def answer(request: web.Request) -> web.Response:
        latest = int(clock() // EVERY)
        items = "".join(
            f"<item><guid>{n}</guid><title>Item {n}</title>"
            f"<pubDate>{formatdate(n * EVERY, usegmt=True)}</pubDate></item>"
            for n in range(latest, latest - 10, -1)
        )
        text = (
            f"<rss version='2.0'><channel><title>News</title>"
            f"<lastBuildDate>build {next(builds)}</lastBuildDate>{items}</channel></rss>"
        )
        return web.Response(text=text, content_type="application/rss+xml")

    site.answers["/feed"] = answer


async def test_changes_of_a_feed_are_its_items(site, tmp_path):
    db, begin, seconds = tmp_path / "feed.db", 1_000_000.0, 1200.0
    clock, stop = PatientClock(begin), asyncio.Event()
    clock.stop_at(begin + seconds, stop)
    serve_feed(site, clock)
    with Store.open(db) as store:
        store.add_pages([NewPage(site.url("/feed"), site.host)], now=begin)
        session = Session(store, WatchSettings(budget="6/minute"), clock=clock, say=print)
        async with web_poller(clock, crawl_delay=0.0, allow_private=True) as poller:
            await session.run(poller, stop, on_progress=lambda *_: None)
    with Store.open_readonly(db) as store:
        [record] = store.pages()
        changes = list(store.changes())
    assert record.source == "feed"
    assert record.polls > 100  # so the build date moved a hundred times
    found = [item.key for change in changes for item in sorted(change.items, key=lambda i: i.key)]
    first = int(begin // EVERY) + 1
    assert found == [str(n) for n in range(first, first + len(found))]
    assert seconds / EVERY - 1 <= len(changes) <= len(found) <= seconds / EVERY
    assert all(change.title == "News" for change in changes)
    for change in changes:
        for item in change.items:
            assert item.published_at == int(item.key) * EVERY <= change.seen_at
    assert record.last_changed_at == float(found[-1]) * EVERY


async def polls(clock, page, *bodies, site, content_type=HTML):
    """The results of polls that find these bodies, one after the other."""
    memory, results = PageMemory(), []
    async with web_poller(clock, crawl_delay=0.0, allow_private=True) as poller:
        for body in bodies:
            site.says("/", body, Content_Type=content_type)
            result = (await poller.poll(page, memory)).result
            memory = result.memory
            results.append(result)
    return results


async def test_a_selector_that_matches_nothing(site, clock):
    page = Page(0, site.url("/"), site.host, select=("main",), ignore=("i",))
    one = "<title>T</title><main>News</main><footer>{}"
    results = await polls(
        *(clock, page, one.format(1), one.format(2), "<h1>We are rebuilding</h1>"),
        *(one.format(3), "<main><i>x</i></main>", "<main>More news</main>"),
        site=site,
    )
    assert [result.observation.outcome for result in results] == [
        *(Outcome.CHANGED, Outcome.UNCHANGED, Outcome.FAILED),
        *(Outcome.UNCHANGED, Outcome.FAILED, Outcome.CHANGED),
    ]
    assert results[2].error == "select main matches nothing"
    assert results[4].error == "select main matches nothing"
    assert results[2].memory == results[1].memory
    assert results[2].version is None
    assert (results[0].title, results[0].source) == ("T", "page")


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ("xpath://a[", "select: 'xpath://a[' is no XPath expression: Invalid expression"),
        ("xpath://p/namespace::*", "xpath://p/namespace::* finds namespaces, not parts of a page"),
        (
            "xpath://p[contains(.)]",
            "xpath://p[contains(.)] cannot be evaluated: Invalid number of arguments",
        ),
    ],
)
async def test_parts_that_cannot_be_read_are_a_poll_that_failed(site, clock, selector, why):
    page = Page(0, site.url("/"), site.host, select=(selector,))
    [result] = await polls(clock, page, "<p>a", site=site)
    assert result.observation.outcome is Outcome.FAILED
    assert result.error == why


async def test_a_file_of_gzip_that_is_a_feed_changes_by_its_items(site, clock):
    page = Page(0, site.url("/"), site.host)
    item = "<item><guid>{0}</guid><title>{0}</title></item>"
    feed = "<rss><channel><title>News</title>{}</channel></rss>"
    texts = [feed.format(item.format(1)), feed.format(item.format(1) + item.format(2))]
    made = [gzip.compress(texts[n].encode(), mtime=at) for at, n in enumerate((0, 0, 1, 1))]
    results = await polls(clock, page, *made, site=site, content_type="application/gzip")
    assert [result.observation.outcome for result in results] == [
        *(Outcome.CHANGED, Outcome.UNCHANGED, Outcome.CHANGED, Outcome.UNCHANGED)
    ]
    assert [item.title for item in results[2].items] == ["2"]
    assert (results[2].title, results[2].source) == ("News", "feed")


async def test_first_items_are_not_new_and_none_are_told_of_pages(site, clock):
    page = Page(0, site.url("/"), site.host)
    item = "<item><guid>{0}</guid><title>{0}</title></item>"
    feed = "<rss><channel>{}</channel></rss>"
    results = await polls(
        clock,
        page,
        *(feed.format(items) for items in (item.format(1), item.format(2) + item.format(1))),
        feed.format(item.format(1)),
        "<title>Gone</title>",
        site=site,
    )
    told = [(r.observation.n_items, [item.key for item in r.items]) for r in results]
    assert told == [(None, []), (1, ["2"]), (0, []), (None, [])]
    assert [result.source for result in results] == ["feed", "feed", "feed", "page"]


@pytest.mark.parametrize(
    ("feed", "item", "url"),
    [
        (
            "<rss><channel>{}</channel></rss>",
            "<item><guid>{0}</guid><link>news/{0}</link></item>",
            "/news/2",
        ),
        (
            "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='/of/'>{}</feed>",
            "<entry><id>{0}</id><title>{0}</title><link href='{0}'/></entry>",
            "/of/2",
        ),
        (
            "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='/of/'>{}</feed>",
            "<entry xml:base='n{0}/'><id>{0}</id><title>{0}</title><link href='{0}'/></entry>",
            "/of/n2/2",
        ),
        (
            "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='/of/'>{}</feed>",
            "<entry xml:base='n{0}/'><id>{0}</id><link rel='self' xml:base='no/' href='self'/>"
            "<link rel='alternate' xml:base='of/' href='{0}'/></entry>",
            "/of/n2/of/2",
        ),
        (
            "<rss><channel xml:base='/all/'>{}</channel></rss>",
            "<item><guid>{0}</guid><link xml:base='news/'>{0}</link></item>",
            "/all/news/2",
        ),
        (
            "<feed xmlns='http://www.w3.org/2005/Atom'>{}</feed>",
            "<entry><id>{0}</id><link rel='self' xml:base='/no/' href='self'/>"
            "<link xml:base='/of/' href='{0}'/></entry>",
            "/of/2",
        ),
    ],
)
async def test_items_have_their_whole_urls_also_where_a_feed_tells_the_ends_of_them(
    site, clock, feed, item, url
):
    page = Page(0, site.url("/"), site.host)
    bodies = [feed.format("".join(map(item.format, ids))) for ids in ((1,), (2, 1))]
    _, result = await polls(clock, page, *bodies, site=site, content_type="application/xml")
    assert [(found.key, found.url) for found in result.items] == [("2", site.url(url))]


async def test_feeds_that_are_too_broken_or_too_large(site, clock):
    page = Page(0, site.url("/"), site.host)
    bodies = b"<rss/>", b"<rss>" + b" " * 50_000_000
    results = await polls(clock, page, *bodies, site=site, content_type="application/rss+xml")
    assert [result.observation.outcome for result in results] == [Outcome.FAILED] * 2
    assert "cannot be read: " in results[0].error
    assert results[1].error == "body larger than 10485760 bytes (10 MiB): --max-size allows more"
    assert all("\n" not in result.error for result in results)


async def test_a_sitemap_that_is_cut_off_for_one_poll_has_no_new_items_after_it(site, clock):
    page = Page(0, site.url("/"), site.host)
    entry = "<url><loc>http://h/{}</loc><lastmod>0001-01-01T00:00:00+14:00</lastmod></url>"
    whole = f"<urlset>{''.join(map(entry.format, range(2000)))}</urlset>"
    results = await polls(
        clock, page, whole, whole[:3000], whole, site=site, content_type="application/xml"
    )
    assert [result.observation.outcome for result in results] == [
        *(Outcome.CHANGED, Outcome.FAILED, Outcome.UNCHANGED)
    ]
    assert results[1].error.startswith("a sitemap that cannot be compared: its XML does not end")
    assert results[2].memory.items == results[0].memory.items
    checked = await asyncio.to_thread(check_page, page.url, None, allow_private=True)
    assert (checked.items, checked.newest[0].published_at) == (2000, None)


async def test_a_sitemap_that_is_too_long_says_so(site, clock, tmp_path):
    page = Page(0, site.url("/"), site.host)
    body = f"<urlset>{'<url><loc>http://h/</loc></url>' * 50_007}</urlset>"
    told = "only the first 50,000 entries are read: 7 more are left out"
    site.says("/", body, Content_Type="application/xml")
    async with web_poller(clock, crawl_delay=0.0, allow_private=True) as poller:
        report = await poller.poll(page, PageMemory())
    assert report.left_out == told
    checked = await asyncio.to_thread(check_page, page.url, None, allow_private=True)
    assert (checked.items, checked.notice) == (50_000, told)
    file = tmp_path / "sitemap.xml"
    file.write_text(body)
    assert read_file(file).left_out == (told,)
