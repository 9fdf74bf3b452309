"""What a watch says of the poll to come, and what it refuses before it begins."""

from pathlib import Path
from typing import NoReturn

import pytest

from pollwise.errors import InputError
from pollwise.events import HostBlocked, Poll, Polled, Tick
from pollwise.live.ahead import Ahead, NextPoll, ahead
from pollwise.live.requests import ChangeSettings, encode_request
from pollwise.live.watching import watch_pages
from pollwise.notify.receivers import receiver_of
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import latest_settings
from pollwise.store import Store
from pollwise.store.records import StoredReceiver
from pollwise.types import Budget, Observation, Outcome, Page
from pollwise.web.url_list import named_pages


def test_it_names_the_host_and_the_wait_for_the_budget_or_for_the_host():
    scheduler = Scheduler(BayesianIndex(), Budget(0.1), crawl_delay=0.0)
    scheduler.restore([Page(0, "http://a.example/", "a.example")], None)
    scheduler.begin(100.0)
    assert ahead(scheduler, 100.0) == Ahead(NextPoll(0, 0.0))
    assert Poll(0) in scheduler.handle(Tick(100.0))
    assert ahead(scheduler, 100.0).next_poll is None  # it is under way
    scheduler.handle(Polled(101.0, (Observation(0, 101.0, Outcome.CHANGED),)))
    assert ahead(scheduler, 101.0) == Ahead(NextPoll(0, 9.0))
    scheduler.handle(HostBlocked(102.0, "a.example", 150.0))
    assert ahead(scheduler, 102.0) == Ahead(NextPoll(0, 48.0))


def test_a_page_in_line_for_its_host_comes_first():
    scheduler = Scheduler(BayesianIndex(), Budget(1.0, burst=2.0), crawl_delay=10.0)
    scheduler.restore([Page(i, f"http://a.example/{i}", "a.example") for i in range(2)], None)
    scheduler.handle(Tick(100.0))
    scheduler.handle(Tick(101.0))
    coming = ahead(scheduler, 101.0).next_poll
    assert coming is not None
    assert (coming.page_id, coming.host_is_polled) == (1, True)
    scheduler.handle(Polled(102.0, (Observation(0, 102.0, Outcome.CHANGED),)))
    assert ahead(scheduler, 103.0) == Ahead(NextPoll(1, 9.0))


def test_while_it_is_compiled_first_copies_are_ahead():
    scheduler = Scheduler(AwaitedPolicy(), Budget(0.1), first_copies=Budget(1.0))
    scheduler.restore([Page(i, f"http://{i}.example/", f"{i}.example") for i in range(3)], None)
    scheduler.handle(Tick(100.0))
    assert ahead(scheduler, 100.0) == Ahead(None, first_copies=3, compiling=True)
    scheduler.handle(Polled(101.0, (Observation(0, 101.0, Outcome.CHANGED),)))
    assert ahead(scheduler, 101.0) == Ahead(None, first_copies=2, compiling=True)


@pytest.mark.parametrize(
    ("told", "message"),
    [({"quiet": ("25:00-26:00",)}, "25:00-26:00"), ({"header_file": "/none"}, "/none")],
)
def test_what_was_told_is_checked_before_the_database(tmp_path: Path, told, message) -> None:
    with pytest.raises(InputError, match=message):
        watch_pages(
            [],
            [],
            told,
            tmp_path / "none.db",
            make_display=lambda *_: pytest.fail("it began"),
            say=print,
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("told", "receivers", "message"),
    [
        ({"notify": ("exec:cat",)}, ["exec:cat"], "two receivers of notices are called 'exec:cat'"),
        ({"notify": ("env:NOT_SET_HERE",)}, [], "NOT_SET_HERE is not set"),
        ({"header_file": "/none"}, [], "/none"),
    ],
)
def test_what_cannot_be_read_is_said_before_anything_is_changed(
    tmp_path: Path, told, receivers, message
) -> None:
    def begin(db: Path) -> None:
        with pytest.raises(InputError, match=message):
            watch_pages(
                named_pages(["http://a.example/"]),
                [],
                told,
                db,
                make_display=lambda *_: pytest.fail("it began"),
                say=said.append,
                receivers=[receiver_of(target) for target in receivers],
            )

    said: list[str] = []
    begin(tmp_path / "new.db")
    assert list(tmp_path.iterdir()) == []
    db = tmp_path / "x.db"
    with Store.open(db) as store:
        store.put_request(encode_request(ChangeSettings("5/hour")), 1.0)
    begin(db)
    with Store.open(db) as store:
        assert len(list(store.waiting_requests())) == 1
        assert (store.totals().pages, latest_settings(store)) == (0, None)
    assert said == []


class BegunError(Exception):
    """The watch would begin now."""


def test_who_is_told_of_nothing_any_more_does_not_fail(tmp_path: Path) -> None:
    def begin(*_: object) -> NoReturn:
        raise BegunError

    db = tmp_path / "x.db"
    with Store.open(db) as store:
        for name in ("phone", "exec:cat"):
            store.save_receiver(StoredReceiver(name, 5, 0, 1.0, 2.0, 3, "status 500"))
    with pytest.raises(BegunError):
        watch_pages(
            named_pages(["http://a.example/"]),
            [],
            {"notify": ("exec:cat",)},
            db,
            make_display=begin,
            say=print,
        )
    with Store.open_readonly(db) as store:
        assert [one.name for one in store.receivers() if one.failures] == ["exec:cat"]
