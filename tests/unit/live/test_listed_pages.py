"""What sitemaps and feeds tell of pages that are watched."""

import pytest

from pollwise.errors import StoreBusyError
from pollwise.events import Signalled
from pollwise.live import listed_pages
from pollwise.live.listed_pages import ListedPages
from pollwise.live.progress import Progress
from pollwise.live.requests import SignalPages, decode_request
from pollwise.store import Store
from pollwise.store.records import Batch, FoundItem, NewPage, PollResult
from pollwise.types import Observation, Outcome, Page, PageMemory
from pollwise.watched_pages import Watched
from pollwise.web.poll_reports import PollReport

SITE = "http://a.example/"
DAY = 86_400.0
MAP = Page(0, SITE + "sitemap.xml")


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "pollwise.db") as store:
        store.add_pages([NewPage(MAP.url), *(NewPage(f"{SITE}{n}") for n in range(1, 4))], now=0.0)
        seen = (Observation(n, 10.2 * DAY, Outcome.CHANGED) for n in (0, 1, 2))
        store.commit(Batch(polls=tuple(PollResult(one, PageMemory()) for one in seen)))
        yield store


def told_by(*items: FoundItem, page_id: int = 0) -> Progress:
    poll = PollResult(Observation(page_id, 11 * DAY, Outcome.CHANGED), PageMemory(), items=items)
    return Progress((), (PollReport(poll),))


def noted(progress: Progress) -> ListedPages:
    listed = ListedPages()
    listed.note(progress, {0: Watched(MAP, PageMemory())})
    return listed


def test_pages_that_are_watched_are_signalled_once(store):
    listed = noted(
        told_by(
            FoundItem("a", url=f"{SITE}1", published_at=10.5 * DAY),
            FoundItem("b", url="2"),  # without a time, relative
            FoundItem("c", url=f"{SITE}3", published_at=11 * DAY),  # never polled
            FoundItem("d", url="http://b.example/", published_at=11 * DAY),  # not watched
            FoundItem("e", url="http://[/"),
            FoundItem("f"),  # this is the list itself
        )
    )
    assert listed
    assert listed.carry_out(store, 12 * DAY) == [Signalled(12 * DAY, (1, 2), 11 * DAY)]
    assert not listed
    assert listed.carry_out(store, 12 * DAY) == []


def test_what_is_left_waits_for_the_next_run(store):
    listed = noted(
        told_by(FoundItem("a", url=f"{SITE}1"), FoundItem("b", url=f"{SITE}3", published_at=DAY))
    )
    listed.leave(store, 12 * DAY)
    assert not listed
    [waiting] = store.waiting_requests()
    assert decode_request(waiting.text) == SignalPages((f"{SITE}1",))


@pytest.mark.parametrize(
    ("days", "signals"), [(9.0, False), (10.0, True), (10.1, False), (10.3, True)]
)
def test_a_copy_that_is_newer_needs_no_signal(store, days, signals):
    """Some lists tell no more than the day."""
    listed = noted(told_by(FoundItem("a", url=f"{SITE}1", published_at=days * DAY)))
    assert bool(listed.carry_out(store, 12 * DAY)) is signals


def test_a_list_that_was_removed_meanwhile_tells_nothing(store):
    assert not noted(told_by(FoundItem("a", url=f"{SITE}1"), page_id=7))


def test_what_a_busy_store_did_not_answer_is_told_by_the_next_call(store, monkeypatch):
    listed = noted(told_by(*(FoundItem(n, url=f"{SITE}{n}") for n in "12")))

    def busy(urls):
        raise StoreBusyError("busy")

    with monkeypatch.context() as patch:
        patch.setattr(store, "find_pages", busy)
        with pytest.raises(StoreBusyError):
            listed.carry_out(store, 12 * DAY)
    assert listed.carry_out(store, 12 * DAY) == [Signalled(12 * DAY, (1, 2), 11 * DAY)]
    assert not listed


def test_what_is_told_meanwhile_is_for_the_next_call(store, monkeypatch):
    listed = noted(told_by(FoundItem("a", url=f"{SITE}1")))
    find = store.find_pages

    def found(urls):
        listed.note(told_by(FoundItem("a", url=f"{SITE}1")), {0: Watched(MAP, PageMemory())})
        return find(urls)

    with monkeypatch.context() as patch:
        patch.setattr(store, "find_pages", found)
        assert listed.carry_out(store, 12 * DAY) == [Signalled(12 * DAY, (1,), 11 * DAY)]
    assert listed.carry_out(store, 13 * DAY) == [Signalled(13 * DAY, (1,), 11 * DAY)]
    assert not listed


def test_a_list_of_thousands_is_noted_without_a_look_at_its_items(monkeypatch):
    """That is done beside the loop."""
    monkeypatch.setattr(listed_pages, "joined", None)
    assert noted(told_by(*(FoundItem(f"{n}", url=f"{SITE}{n}") for n in range(10_000))))
