"""How long first copies take, in words."""

from pathlib import Path

import pytest

from pollwise.live.first_copies import first_copies_told
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory


def of(count: int, *, hosts: int) -> list[NewPage]:
    return [
        NewPage(f"http://{n % hosts}.example/{n}", f"{n % hosts}.example") for n in range(count)
    ]


def told_of(store: Store, settings: WatchSettings) -> str | None:
    watched = store.watched_pages()
    return first_copies_told(len(watched), watched.count_by_scope(polled=False), settings)


@pytest.mark.parametrize(
    ("pages", "settings", "line"),
    [
        (of(2, hosts=2), WatchSettings(), None),
        (of(47, hosts=47), WatchSettings(), "first copies of 47 pages: about 1 minute"),
        (
            of(47, hosts=47),
            WatchSettings(first_copies="2/second"),
            "first copies of 47 pages: about 24 seconds",
        ),
        (
            of(600, hosts=1),
            WatchSettings(budget="10/second"),
            "first copies of 600 pages: about 12 minutes",
        ),
        (
            of(600, hosts=600),
            WatchSettings(budget="20/second"),
            "first copies of 600 pages: about 30 seconds",
        ),
        (
            of(61, hosts=1),
            WatchSettings(crawl_delay=9.8, first_copies="10/second"),
            "first copies of 61 pages: about 10 minutes",
        ),
        (
            of(61, hosts=2),
            WatchSettings(groups=("g=0.example,1.example",), crawl_delay=9.8),
            "first copies of 61 pages: about 10 minutes",
        ),
        (
            of(6, hosts=2),
            WatchSettings(host_limits=("0.example=1/hour",)),
            "first copies of 6 pages: about 2 hours",
        ),
        (of(2, hosts=2), WatchSettings(host_limits=("0.example=1/day",)), None),
    ],
)
def test_it_goes_by_rates_and_hosts(
    tmp_path: Path, pages: list[NewPage], settings: WatchSettings, line: str | None
) -> None:
    with Store.open(tmp_path / "pollwise.db") as store:
        store.add_pages(pages, now=0.0)
        assert told_of(store, settings) == line


def test_pages_that_were_polled_do_not_count(tmp_path: Path) -> None:
    with Store.open(tmp_path / "pollwise.db") as store:
        added = store.add_pages(of(47, hosts=47), now=0.0)
        store.start_run(0.0, WatchSettings().recorded(), None)
        polls = [
            PollResult(Observation(page.id, 1.0, Outcome.FAILED), PageMemory(), None)
            for page in added
        ]
        store.commit(Batch(events=(), polls=tuple(polls), learned=None, scheduler=None))
        assert told_of(store, WatchSettings()) is None
