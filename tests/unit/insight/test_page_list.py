"""The list of pages: how each stands, which are shown, and in which order."""

from dataclasses import replace

import pytest

from pollwise.cli.options import OrderName
from pollwise.insight.page_list import Order, PageState, read_page_list
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.store.tables import reader
from pollwise.types import Observation, Outcome, PageMemory, Version

DAY = 86_400.0


@pytest.fixture
def db(tmp_path):
    path = tmp_path / "pages.db"
    with Store.open(path) as store:
        store.add_pages(
            [
                NewPage("http://a.example/", "a.example", tags=("x",)),
                NewPage("http://b.example/", "b.example", weight=5.0, tags=("x", "y")),
                NewPage("http://c.example/", "c.example", paused=True),
                NewPage("http://d.example/", "d.example"),
            ],
            now=0.0,
        )
        told = [
            (0, 1.0, Outcome.CHANGED, "One", None),
            (0, 1.0 + DAY, Outcome.CHANGED, "Two", None),
            (1, 2.0, Outcome.FAILED, None, "status 500"),
        ]
        for page_id, at, outcome, title, error in told:
            seen = Observation(page_id, at, outcome)
            body = b"" if title is None else title.encode()
            version = Version(page_id, at, "", body, body.hex()) if body else None
            poll = PollResult(seen, PageMemory(), version, error, title=title)
            store.commit(Batch(polls=(poll,)))
    return path


def urls(db, **asked) -> list[str]:
    asked = {"tag": None, "text": None, "order": Order.url, "limit": None, **asked}
    return [page.url[7] for page in read_page_list(db, **asked).results]


def test_how_pages_stand(db):
    answer = read_page_list(db, tag=None, text=None, order=Order.url, limit=None)
    assert (answer.pages, answer.found) == (4, 4)
    a, b, c, d = answer.results
    states = [PageState.watched, PageState.failing, PageState.paused, PageState.new]
    assert [page.state for page in (a, b, c, d)] == states
    assert (a.title, a.changes, a.changes_per_day) == ("Two", 1, pytest.approx(1.0))
    assert (b.error, b.weight, b.changes_per_day) == ("status 500", 5.0, None)


def test_which_are_shown_and_in_which_order(db):
    assert urls(db, tag="x") == ["a", "b"]
    assert urls(db, text="PAUSED") == ["c"]
    assert urls(db, text="two") == ["a"]
    assert urls(db, order=Order.weight, limit=2) == ["b", "a"]
    assert urls(db, order=Order.polled) == ["a", "b", "c", "d"]
    assert urls(db, tag="none") == []


def test_the_command_offers_every_order():
    assert [order.value for order in OrderName] == [order.value for order in Order]


@pytest.mark.parametrize("which", [{}, {"tag": "x"}, {"text": "EXAMPLE"}], ids=str)
@pytest.mark.parametrize("order", Order)
def test_what_is_shown_is_read_alone(db, order, which, monkeypatch):
    asked = {"tag": None, "text": None, "order": order, **which}
    every = read_page_list(db, **asked, limit=None)
    read = []
    made = reader.page_record
    monkeypatch.setattr(reader, "page_record", lambda row: read.append(row) or made(row))
    few = read_page_list(db, **asked, limit=1)
    assert few == replace(every, results=every.results[:1])
    assert len(read) == 1
