"""Conditions on notices, from the answers of a real server to what receivers are told."""

import asyncio
from dataclasses import replace
from decimal import Decimal
from itertools import count
from pathlib import Path

import pytest
from aiohttp import web

from pollwise.errors import InputError, PostponedError
from pollwise.insight.changes import read_changes
from pollwise.insight.explanation import explain, read_explanation
from pollwise.insight.knowledge import read_knowledge
from pollwise.live.checking import check_page
from pollwise.live.web_polling import web_poller
from pollwise.notify.delivery import Delivery
from pollwise.notify.receivers import read_receiver
from pollwise.settings import WatchSettings
from pollwise.sources.conditions import Standing
from pollwise.store import Store
from pollwise.store.records import NewPage, StoredReceiver
from pollwise.types import Noise, NumberTold, Outcome, Page, PageMemory
from pollwise.web.noise.looks import Copy

from .patient_watch import watch_for

SOURCES = Path(__file__).parents[1] / "data" / "sources"
SETTINGS = WatchSettings(budget="6/minute")
ITEM = "<item><guid>{0}</guid><title>{1}</title><description>{2}</description></item>"


async def watch_through(site, db, path: str, answers: list[str], content_type: str) -> None:
    """Watch a page while it gives these answers, one after the other (empty: it is gone), with a
    run of its own for each."""
    begin = 0.0
    for text in answers:
        site.says(path, text, status=200 if text else 404, Content_Type=content_type)
        asked = len(site.asked)
        while len(site.asked) == asked:
            await watch_for(db, SETTINGS, begin, 90.0, recalls=True)
            begin += 100.0


def told_to_receiver(db):
    """What a receiver that was never told anything is told."""
    receiver = read_receiver({"name": "me", "to": "https://a.example/"})
    with Store.open_readonly(db) as store:
        notice = Delivery(receiver, StoredReceiver("me", 0)).begin(store, 1e6)
    return () if notice is None else notice.changes


async def test_a_price_is_told_when_it_falls_below_and_again_only_after_it_rose(site, tmp_path):
    db, url = tmp_path / "x.db", site.url("/kettle")
    prices = ["25,00", "22,00", "19,00", "18,00", "1.299,00", "?", "18,50", "18,40", "19,90"]
    pages = [f"<h1>Kettle 3000</h1><b>{price} EUR</b>" for price in prices]
    with Store.open(db) as store:
        page = NewPage(url, site.host, select=("b",), notify_when=("below 20",))
        store.add_pages([page], now=0.0)
    await watch_through(site, db, "/kettle", pages, "text/html")
    told = [(one.removed, one.added) for one in told_to_receiver(db)]
    assert told == [("22,00 EUR", "19,00 EUR"), ("? EUR", "18,50 EUR")]
    changes = read_changes(db, since=0.0).changes
    assert len(changes) == len(prices) - 1  # all of them are there
    assert [one.held_back for one in changes] == [1, 0, 1, 1, 1, 0, 1, 1]


async def test_a_price_that_falls_in_small_steps_is_told_once_they_add_up(site, tmp_path):
    db, url = tmp_path / "x.db", site.url("/kettle")
    condition = "falls by 5 % and lacks sold out"
    with Store.open(db) as store:
        store.add_pages([NewPage(url, site.host, notify_when=(condition,))], now=0.0)
    prices = ["100", "98", "96", "94", "sold out, was 89", "89", "88", "84.55", "84"]
    await watch_through(site, db, "/kettle", [f"<p>EUR {one}" for one in prices], "text/html")
    told = [one.added for one in told_to_receiver(db)]
    assert told == ["EUR 94", "EUR 89", "EUR 84.55"]
    with Store.open_readonly(db) as store:
        [record] = store.pages()
    assert record.memory.told_number == NumberTold(Decimal("84.55"), Decimal(84))
    [standing] = read_explanation(db, url).conditions
    assert (standing.holds, standing.parts[0].measured_from) == (False, 84.55)
    seen = await asyncio.to_thread(check_page, url, db, allow_private=True)
    assert seen.conditions == (standing,)


async def test_a_step_is_not_measured_from_a_number_that_is_masked_by_now(site, tmp_path):
    db, url = tmp_path / "x.db", site.url("/kettle")
    seconds, price = count(5000), "25"

    async def answer(request: web.Request) -> web.Response:
        text = f"<p>{next(seconds)} visitors today<p>Kettle<p>{price} EUR"
        return web.Response(text=text, content_type="text/html")

    site.answers["/kettle"] = answer
    with Store.open(db) as store:
        store.add_pages([NewPage(url, site.host, notify_when=("falls by 10 %",))], now=0.0)
    await watch_for(db, SETTINGS, 0.0, 300.0, recalls=True)
    with Store.open_readonly(db) as store:
        assert store.pages()[0].memory.noise.masks  # which the counter taught
    price = "24"
    await watch_for(db, SETTINGS, 400.0, 90.0, recalls=True)
    price = "22"
    await watch_for(db, SETTINGS, 500.0, 90.0, recalls=True)
    assert [one.added for one in told_to_receiver(db)] == ["22 EUR"]


async def test_that_a_page_is_gone_and_back_is_told_whatever_the_condition(site, tmp_path):
    db = tmp_path / "x.db"
    with Store.open(db) as store:
        page = NewPage(site.url("/kettle"), site.host, notify_when=("lacks sold out",))
        store.add_pages([page], now=0.0)
    answers = ["<p>sold out", "<p>still sold out", "", "<p>sold out for long", "<p>4 left", "<p>3"]
    await watch_through(site, db, "/kettle", answers, "text/html")
    kinds = [(one.kind.name, one.added) for one in told_to_receiver(db)]
    assert kinds == [("GONE", None), ("BACK_CHANGED", "sold out for long"), ("CHANGED", "4 left")]


async def test_of_a_feed_the_new_items_that_meet_a_condition_are_told(site, tmp_path):
    db = tmp_path / "x.db"
    items = [
        ITEM.format(number, title, text)
        for number, (title, text) in enumerate(
            [("Mug", "4"), ("Cup", "5"), ("Kettle", "no"), ("Pot", "a kettle for tea"), ("Jar", "")]
        )
    ]
    feeds = [
        f'<rss version="2.0"><channel><title>Shop</title>{"".join(items[:most])}</channel></rss>'
        for most in (1, 2, 4, 5)
    ]
    with Store.open(db) as store:
        page = NewPage(site.url("/shop.rss"), site.host, notify_when=("has kettle",))
        store.add_pages([page], now=0.0)
    await watch_through(site, db, "/shop.rss", feeds, "application/rss+xml")
    [change] = told_to_receiver(db)
    assert [item.title for item in change.items] == ["Kettle", "Pot"]
    assert [one.held_back for one in read_changes(db, since=0.0).changes] == [True, False, True]


async def test_a_price_beside_a_clock_is_read_without_it(site, tmp_path):
    db, url = tmp_path / "x.db", site.url("/kettle")
    seconds, price = count(10), "25"

    async def answer(request: web.Request) -> web.Response:
        text = f"<p>{next(seconds)} visitors today<p>Kettle<p>{price} EUR"
        return web.Response(text=text, content_type="text/html")

    site.answers["/kettle"] = answer
    with Store.open(db) as store:
        store.add_pages([NewPage(url, site.host, notify_when=("below 20",))], now=0.0)
    await watch_for(db, SETTINGS, 0.0, 300.0, recalls=True)
    with Store.open_readonly(db) as store:
        [record] = store.pages()
        first_change = store.latest_change()
    assert record.memory.noise.masks  # which the counter taught
    seen = await asyncio.to_thread(check_page, url, db, allow_private=True)
    [standing] = seen.conditions
    assert (standing.reads, standing.holds) == ("25", False)
    price = "19"
    await watch_for(db, SETTINGS, 400.0, 90.0, recalls=True)
    told = told_to_receiver(db)
    assert [one.added for one in told if one.seq > first_change] == ["19 EUR"]
    seen = await asyncio.to_thread(check_page, url, db, allow_private=True)
    assert seen.conditions == (Standing("below 20", "19", 19.0, True),)
    assert read_explanation(db, url).conditions == seen.conditions


async def test_a_check_tries_conditions_before_a_page_is_watched(site):
    text = "<p>25 left<p id=price>1.299,50&nbsp;EUR"
    site.says("/", text, Content_Type="text/html")

    async def checked(*conditions: str, select: tuple[str, ...] = ()):
        return await asyncio.to_thread(
            check_page, site.url("/"), None, select=select, notify_when=conditions
        )

    seen = await checked("below 20", "has LEFT")
    assert seen.conditions == (
        Standing("below 20", "25", 25.0, False),
        Standing("has LEFT", None, None, True, 1),
    )
    seen = await checked("below 20", select=("#price",))
    assert seen.conditions == (Standing("below 20", "1.299,50", 1299.5, False),)
    assert seen.kept == ("1.299,50 EUR",)
    with pytest.raises(InputError, match="notify-when 'blow 20': expected"):
        await checked("blow 20")


@pytest.mark.parametrize(
    "words", [(0, 0), (0, 150_000), (150_000, 0)], ids=["small", "now", "then"]
)
@pytest.mark.parametrize(
    ("before", "held_back"),
    [("25", False), ("19", True), (None, False), (PostponedError("no room"), False)],
    ids=["met", "held before", "no copy before", "not to be known"],
)
async def test_a_poll_says_whether_its_change_is_held_back(site, clock, words, before, held_back):
    then, now = (" x" * number for number in words)

    async def recall(page_id: int) -> Copy | None:
        if isinstance(before, PostponedError):
            raise before
        return None if before is None else Copy(f"<p>{before} EUR{then}".encode(), "text/html")

    page = Page(0, site.url("/"), site.host, seen_at=1.0, notify_when=("below 20",))
    copy = PageMemory(body_hash="0" * 32, text_hash="0" * 32, noise=Noise(since_look=0, gap=9))
    site.says("/", f"<p>18 EUR{now}", Content_Type="text/html")
    async with web_poller(clock, crawl_delay=0.0, allow_private=True, recall=recall) as poller:
        result = (await poller.poll(page, copy)).result
        assert (result.observation.outcome, result.held_back) == (Outcome.CHANGED, held_back)
        for others in ((), ("blow 20",)):  # which only another program may have stored
            free = (await poller.poll(replace(page, notify_when=others), copy)).result
            assert not free.held_back


@pytest.mark.parametrize(
    ("answer", "content_type", "condition", "told"),
    [
        (
            "<rss version='2.0'><channel><title>Shop</title>"
            + "".join(ITEM.format(number, f"Kettle {number}", "") for number in range(15, 25))
            + "</channel></rss>",
            "application/rss+xml",
            "below 20 and has kettle",
            Standing("below 20 and has kettle", None, None, None, items=5),
        ),
        (
            f"<p>19.50 EUR<p>{'so on ' * 60_000}",
            "text/html",
            "falls by 5 %",
            Standing("falls by 5 %", "19.50", 19.5, False, measured_from=19.5),
        ),
        (
            (SOURCES / "text.pdf").read_bytes(),
            "application/pdf",
            "has crazy ones",
            Standing("has crazy ones", None, None, True, 3),
        ),
    ],
    ids=["feed", "large", "pdf"],
)
async def test_an_explanation_waits_for_what_takes_long_to_read(
    site, tmp_path, answer, content_type, condition, told
):
    db, url = tmp_path / "x.db", site.url("/long")

    async def answered(request: web.Request) -> web.Response:
        body = answer if isinstance(answer, bytes) else answer.encode()
        return web.Response(body=body, content_type=content_type)

    site.answers["/long"] = answered
    with Store.open(db) as store:
        store.add_pages([NewPage(url, site.host, notify_when=(condition,))], now=0.0)
    await watch_for(db, SETTINGS, 0.0, 90.0, recalls=True)
    explained = await asyncio.to_thread(read_explanation, db, url)
    assert explained.conditions == (told,)
    with Store.open_readonly(db) as store:  # as the dashboard does
        assert explain(read_knowledge(db), store, url).conditions == ()


async def test_a_copy_that_cannot_be_read_any_more_says_nothing_of_conditions(site, tmp_path):
    db, url = tmp_path / "x.db", site.url("/long")
    site.says("/long", f"<p>19 EUR<p>{'so on ' * 60_000}", Content_Type="text/html")
    with Store.open(db) as store:
        store.add_pages([NewPage(url, site.host, notify_when=("below 20",))], now=0.0)
    await watch_for(db, SETTINGS, 0.0, 90.0, recalls=True)
    with Store.open(db) as store:
        store.add_pages([NewPage(url, site.host, select=("#price",))], now=200.0)
    assert (await asyncio.to_thread(read_explanation, db, url)).conditions == ()
