"""Which changes are in the reading list, and from where it goes on."""

import pytest

from pollwise.insight import reading_list as module
from pollwise.insight.reading_list import reading_list
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory

URL, OTHER = "http://a.example/", "http://b.example/"


@pytest.fixture
def store(tmp_path):
    """Changes 1, 3 and 5 are of a page that was removed and is watched again, 6 of the new one."""
    with Store.open(tmp_path / "x.db") as store:
        store.add_pages([NewPage(URL, tags=("shop",)), NewPage(OTHER)], now=0.0)
        for at in (1.0, 2.0, 3.0, 4.0):
            for page_id in (0, 1) if at < 4.0 else (0,):
                change(store, page_id, at)
        store.remove_pages([0], now=5.0)
        store.add_pages([NewPage(URL)], now=5.0)
        change(store, 2, 6.0)
        change(store, 2, 7.0)
        yield store


def change(store, page_id, at):
    seen = Observation(page_id, at, Outcome.CHANGED)
    store.commit(Batch(polls=(PollResult(seen, PageMemory()),)))


def listed(store, **asked):
    found = reading_list(store, **asked)
    return [entry.change.seq for entry in found.results], found.older


def test_all_or_those_of_one_url(store):
    assert listed(store) == ([6, 5, 4, 3, 2, 1], None)
    assert listed(store, url=URL) == ([6, 5, 3, 1], None)
    assert listed(store, url=URL, tag="shop") == ([5, 3, 1], None)
    assert listed(store, tag="shop", limit=2) == ([5, 3], 3)
    assert listed(store, url="http://c.example/") == ([], None)
    store.mark_read([5, 6])
    assert listed(store, url=URL, unread=True) == ([3, 1], None)
    assert listed(store, unread=True) == ([4, 3, 2, 1], None)


@pytest.mark.parametrize("url", [None, URL])
def test_it_goes_on_until_there_are_no_more(store, url):
    whole, _ = listed(store, url=url)
    first, older = listed(store, url=url, limit=2)
    assert (first, older) == (whole[:2], whole[1])
    assert listed(store, url=url, limit=len(whole) - 2, before=older) == (whole[2:], None)


def test_where_few_fit_the_rest_is_left_to_the_next_one(store, monkeypatch):
    monkeypatch.setattr(module, "_LOOKED_AT", 2)
    assert listed(store, tag="shop") == ([5], 5)
    assert listed(store, tag="shop", before=5) == ([3], 3)
    assert listed(store, tag="shop", before=3) == ([1], None)
    assert listed(store, url=URL) == ([6, 5, 3, 1], None)
