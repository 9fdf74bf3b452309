"""What the overview says: of when its figures are, why some are missing, and what changed."""

import asyncio
import re
import time
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from tests.unit.insight.a_watch import URLS, make_watch

from pollwise.dashboard import foreseen
from pollwise.dashboard.answers import Answers
from pollwise.dashboard.application import application
from pollwise.dashboard.foreseen import Foreseen
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.insight.evidence import Evidence
from pollwise.insight.measured import MeasuredFreshness
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult, StoredReceiver
from pollwise.types import Observation, Outcome, PageMemory, Version

from .browsed import browsed


@pytest.mark.parametrize(("budget", "is_told"), [("1/second", True), ("9/hour", False)])
async def test_hosts_that_cannot_take_the_budget_are_told(tmp_path, budget, is_told):
    db = tmp_path / "x.db"
    make_watch(db, time.time())
    with Store.open(db) as store:
        store.change_settings({"budget": budget})
    async with Answers(db) as answers:
        app = application(answers, AnsweringTerms(db), None)
        async with browsed(app, "/pages") as ask:
            status, _, text = await ask("/")
            while "is being worked out" in text:
                await asyncio.sleep(0.1)
                status, _, text = await ask("/")
            _, _, forecast = await ask("/forecast?step=30")
    assert status == 200
    for shown in (text, forecast):
        assert ("a.example 400 polls an hour (a pause of 9 s)" in shown) == is_told
        assert ("a larger budget brings nothing there" in shown) == is_told


async def test_of_pages_that_are_all_paused_it_says_why_nothing_is_foretold(tmp_path):
    db = tmp_path / "x.db"
    make_watch(db, time.time())
    with Store.open(db) as store:
        store.add_pages([NewPage(url, paused=True) for url in URLS], now=time.time())
    async with Answers(db) as answers:
        app = application(answers, AnsweringTerms(db), None)
        async with browsed(app, "/pages") as ask:
            status, _, text = await ask("/")
            while "is being worked out" in text:
                await asyncio.sleep(0.1)
                status, _, text = await ask("/")
    assert status == 200
    assert "All pages are paused: nothing is foretold." in text
    assert "Too early" not in text


def note_changes(db, times):
    """Changes of pages at these times by their ids, in one commit and in this order."""
    polls = []
    for page_id, at in times.items():
        version = Version(page_id, at, "text/html", f"<p>{at}".encode(), f"{at}")
        polls.append(PollResult(Observation(page_id, at, Outcome.CHANGED), PageMemory(), version))
    with Store.open(db) as store:
        store.commit(Batch(polls=tuple(polls)))


@asynccontextmanager
async def overview_of(db):
    """Gives what asks for the words of the overview until it has some, and all of it."""
    async with Answers(db) as answers:
        app = application(answers, AnsweringTerms(db), None)
        async with browsed(app, "/pages") as ask:

            async def shown(awaited):
                async with asyncio.timeout(60):
                    while True:
                        _, _, text = await ask("/")
                        words = " ".join(re.sub("<[^>]*>", " ", text).split())
                        if awaited in words.replace(" ,", ","):
                            return words.replace(" ,", ",")
                        await asyncio.sleep(0.1)

            yield shown


async def test_changes_are_counted_up_to_now_and_older_forecasts_say_of_when_they_are(
    db, monkeypatch
):
    """However long it takes to work out what is expected."""
    make = foreseen.foreseen

    def early(snapshot):
        made = make(snapshot)
        return replace(made, as_of=made.as_of - 185.0)

    monkeypatch.setattr(foreseen, "foreseen", early)
    async with overview_of(db) as shown:
        before = await shown("expected of a day")
        assert "Changes found 1 in the last 24 hours;" in before
        note_changes(db, {0: time.time() - 3.0, 1: time.time() - 1.0})
        after = await shown("Changes found 3 in the last 24 hours;")
    assert " 42 found a change" in after
    assert "expected of a day, as of 3 minutes ago" in after
    assert re.search(r"Copies fresh – [^)]*\) expected, as of 3 minutes ago", after)
    assert "What would a larger budget bring? As of 3 minutes ago" in after


async def test_figures_of_the_same_time_say_no_time(db):
    async with overview_of(db) as shown:
        text = await shown("expected of a day")
    assert "ago" in text
    assert "expected of a day, as of" not in text
    assert "bring? As of" not in text


async def test_once_enough_is_known_it_is_not_said_to_be_too_early(db, monkeypatch):
    make = foreseen.foreseen

    def early(snapshot):
        made = make(snapshot)
        day = replace(made.day, freshness=MeasuredFreshness(0.5, 0.4))
        return Foreseen(made.as_of, Evidence(39, 40), None, None, day)

    monkeypatch.setattr(foreseen, "foreseen", early)
    async with overview_of(db) as shown:
        text = await shown("Copies fresh 50 % measured")
    assert "What is to be expected is being worked out" in text
    assert "bring? This is being worked out." in text
    assert "Too early" not in text


async def test_what_changed_is_in_the_order_of_its_times(db):
    now = time.time()
    note_changes(db, {0: now - 300.0, 1: now - 3000.0, 3: now - 1200.0})
    async with overview_of(db) as shown:
        text = await shown("What changed?")
    told = re.findall(r"(\d+ minutes) ago", text)
    assert told == ["5 minutes", "20 minutes", "50 minutes"]


async def test_how_much_more_differs_is_told(db):
    now = time.time()
    with Store.open(db) as store:
        for at, text in ((now - 60.0, b"<p>A<p>B<p>C"), (now - 30.0, b"<p>A<p>D<p>E")):
            version = Version(0, at, "text/html", text, f"{at}")
            seen = Observation(0, at, Outcome.CHANGED)
            store.commit(Batch(polls=(PollResult(seen, PageMemory(), version),)))
    async with overview_of(db) as shown:
        text = await shown("What changed?")
    assert "B D and 1 more block of text" in text


@pytest.mark.parametrize(
    ("ago", "told"), [(3600.0, "due to be tried again"), (0.0, r"tried again <time .*>in \d+ s<")]
)
async def test_a_try_that_is_due_was_not_made_yet(tmp_path, ago, told):
    db = tmp_path / "x.db"
    make_watch(db, time.time())
    with Store.open(db) as store:
        failed = StoredReceiver("phone", 0, 0, None, time.time() - ago, 1, "status 500")
        store.save_receiver(failed)
    async with Answers(db) as answers:
        app = application(answers, AnsweringTerms(db), None)
        async with browsed(app, "/pages") as ask:
            for path in ("/", "/settings"):
                status, _, text = await ask(path)
                assert status == 200
                assert "status 500" in text
                assert re.search(told, text)
                assert not re.search(r"tried again <time .*ago<", text)


async def test_what_is_wrong_is_told_apart(tmp_path):
    db = tmp_path / "x.db"
    make_watch(db, time.time())
    async with Answers(db) as answers:
        app = application(answers, AnsweringTerms(db), None)
        async with browsed(app, "/pages") as ask:
            _, _, text = await ask("/")
    assert re.search(r">1 failing</a> · <a [^>]*>1 paused</a>", text)
