"""The view of a collection: its search, marked and escaped, and errors that are told."""

from contextlib import asynccontextmanager
from dataclasses import asdict

import pytest

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.application import application
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.relevance.topic import topic
from pollwise.search.topic_engine import TopicEngine
from pollwise.store import Store
from pollwise.store.records import Batch, Collected, Discoveries, NewPage

from .browsed import browsed

HOSTILE = "<script>alert(1)</script>"
PAGES = 12


@pytest.fixture
def db(tmp_path):
    with Store.open(tmp_path / "x.db") as store:
        store.start_run(0.0, {"topic": asdict(topic("whales"))}, None)
        store.add_pages([NewPage(f"https://sea.example/{n}") for n in range(PAGES)], now=0.0)
        text = f"The blue whale {HOSTILE} is large."
        documents = (Collected(n, 0.5, f"{HOSTILE} {n}", text) for n in range(PAGES))
        store.commit(Batch(discovered=tuple(Discoveries(collected=one) for one in documents)))
    return tmp_path / "x.db"


@asynccontextmanager
async def asking(db):
    """Asks an application of this database, as a browser does."""
    async with (
        Answers(db) as answers,
        TopicEngine(db, {}, address="http://127.0.0.1:1") as engine,
    ):
        app = application(answers, AnsweringTerms(db), engine)

        async with browsed(app, "/collection") as ask:
            yield ask


async def test_hits_have_marked_words_and_lead_to_more(db):
    async with asking(db) as ask:
        status, _, text = await ask("/collection?q=whale")
        assert status == 200
        assert f"Results 1 to 10, {PAGES} pages match" in text
        assert "<mark>whale</mark>" in text
        assert 'href="/collection?q=whale&amp;offset=10"' in text
        assert HOSTILE not in text
        _, _, more = await ask("/collection?q=whale&offset=10")
    assert "Results 11 to 12" in more
    assert 'rel="prev" href="/collection?q=whale&amp;offset=0"' in more
    assert 'rel="next"' not in more


async def test_what_was_found_lately_is_about_the_topic(db):
    with Store.open(db) as store:
        other = Collected(3, 0.0, "Ships", "Of ships.")
        store.commit(Batch(discovered=(Discoveries(collected=other),)))
    async with asking(db) as ask:
        _, _, text = await ask("/collection")
    lately = text[text.index("Found lately") : text.index("All that was discovered")]
    assert f"About the topic: {PAGES - 1} of the {PAGES} documents read last." in lately
    assert lately.count("<li>") == 10
    assert "Ships" not in lately


@pytest.mark.parametrize(
    ("query", "status"),
    [("q=nothing", 200), ("q=%22%22", 400), (f"q={'x' * 1001}", 400), ("q=a&offset=-1", 400)],
)
async def test_what_cannot_be_searched_is_told(db, query, status):
    async with asking(db) as ask:
        got, _, text = await ask(f"/collection?{query}")
    assert got == status
    assert ('role="alert"' if status == 400 else "No page matches") in text


async def test_lists_of_a_collection_have_no_forms(db):
    async with asking(db) as ask:
        for path in ("/pages", "/changes", "/hosts", "/settings"):
            status, _, text = await ask(path)
            assert status == 200, text
            assert "<button name=" not in text
            assert "<textarea" not in text
        status, _, text = await ask("/pages", {"do": "add", "urls": "http://a.example/"})
    assert status == 409
