"""Words of the views that must be true: of first copies, of what is due, and of settings."""

import re
import time
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from tests.unit.insight.a_watch import DAY, URLS

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.application import application
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.dashboard.views import hosts, pages
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version

from .browsed import browsed


@asynccontextmanager
async def asking(db):
    """Asks an application of this database for the words of a view, without its marks."""
    async with Answers(db) as answers:
        app = application(answers, AnsweringTerms(db), None)
        async with browsed(app, "/pages") as ask:

            async def words(target):
                status, _, text = await ask(target)
                assert status == 200
                return " ".join(re.sub("<[^>]*>", " ", text).split())

            yield words


def note(db, page_id, *outcomes):
    """The polls of a page; those that found a change have a version."""
    polls = []
    for at, outcome in enumerate(outcomes, start=10):
        version = Version(page_id, float(at), "text/html", b"<p>Whale", "w")
        polls.append(
            PollResult(
                Observation(page_id, float(at), outcome),
                PageMemory(),
                version if outcome is Outcome.CHANGED else None,
            )
        )
    with Store.open(db) as store:
        store.commit(Batch(polls=tuple(polls)))


async def test_a_first_copy_of_a_collection_is_no_change(collection_db):
    note(collection_db, 0, Outcome.CHANGED)
    async with asking(collection_db) as words:
        assert re.search(r"Latest poll [^,]*, first copy", await words("/pages/0"))


async def test_a_first_copy_after_a_failure_is_no_change(db):
    note(db, 4, Outcome.FAILED, Outcome.CHANGED)
    async with asking(db) as words:
        assert re.search(r"Latest poll [^,]*, first copy", await words("/pages/4"))
        assert "in 2 polls" in (found := await words("/pages?q=new"))
        assert "first copy" in found


@pytest.mark.parametrize(("view", "target"), [(pages, "/pages"), (hosts, "/hosts")])
async def test_what_became_due_since_the_database_was_read_is_due(db, monkeypatch, view, target):
    with Store.open(db) as store:
        store.remove_pages([0, 2, 3, 4], time.time())
        store.add_pages([NewPage(URLS[1], "a.example", shortest_interval=9 * DAY)], time.time())
    async with asking(db) as words:
        before = (await words(target)).split().count("due")
        later = time.time() + 60 * DAY
        monkeypatch.setattr(view, "time", SimpleNamespace(time=lambda: later))
        assert (await words(target)).split().count("due") == before + 1


async def test_only_a_watch_is_offered_receivers(db, collection_db):
    async with asking(db) as words:
        assert "Nobody is told of changes. pollwise watch --notify" in await words("/settings")
    async with asking(collection_db) as words:
        told = await words("/settings")
    assert "A collection has none: only a watch tells of changes." in told
    assert "--notify" not in told


async def test_what_was_not_told_is_none_or_the_default(db):
    async with asking(db) as words:
        told = await words("/settings")
    for line in (
        *("Proxy none proxy", "Listens for signals at none listen"),
        *("Public URL, for hubs none public-url", "Who asks default user-agent"),
        "Largest answer, MiB default max-size",
    ):
        assert line in told


async def test_pages_that_nobody_polled_are_not_said_to_answer(tmp_path):
    db = tmp_path / "new.db"
    with Store.open(db) as store:
        store.add_pages([NewPage("http://a.example/")], now=1.0)
    async with asking(db) as words:
        assert "Pages 1 not polled yet" in await words("/")
    note(db, 0, Outcome.CHANGED)
    async with asking(db) as words:
        assert "Pages 1 all answer" in await words("/")


async def test_a_page_without_versions_has_no_empty_table_of_them(db):
    async with asking(db) as words:
        assert "What differs Two versions are needed to compare: none is kept. What is" in (
            await words("/pages/4")
        )
        assert "1 version kept" in await words("/pages/3")


async def test_a_sitemap_that_has_as_many_entries_as_are_read(db):
    seen = tuple(f"{number:016x}" for number in range(50_000))
    polls = [
        PollResult(
            Observation(page_id, time.time(), Outcome.UNCHANGED),
            PageMemory(items=seen[page_id:]),
            source="sitemap",
        )
        for page_id in (0, 1)
    ]
    with Store.open(db) as store:
        store.commit(Batch(polls=tuple(polls)))
    async with asking(db) as words:
        told = "only its first 50,000 entries are read; any that follow are left out"
        assert told in await words("/pages/0")
        assert told not in await words("/pages/1")


async def test_the_index_of_a_page_that_rests_or_is_paused_does_not_count(db):
    note(db, 4, Outcome.CHANGED, Outcome.GONE)
    async with asking(db) as words:
        for page_id in (2, 4):
            assert "Index does not count a page is polled once" in await words(f"/pages/{page_id}")
        assert "does not count a page" not in await words("/pages/0")
        assert (await words("/pages")).count("does not count") == 3
