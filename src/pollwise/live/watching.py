"""`pollwise watch`: from what a user says to a store that is at work."""

import asyncio
import gc
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import uvloop

from pollwise.collecting.stored_topic import stored_topic
from pollwise.console.watching import WatchDisplay
from pollwise.errors import InputError
from pollwise.insight.knowledge import learned_by, policy_of
from pollwise.live.journal import watch
from pollwise.live.loop import WallClock
from pollwise.scheduler.budgets import parse_budget
from pollwise.scheduler.scheduler import Scheduler
from pollwise.store import NewPage, Store
from pollwise.types import Budget
from pollwise.web.fetcher import HttpFetcher
from pollwise.web.poller import WebPoller
from pollwise.web.robots_txt import Robots
from pollwise.web.urls import canonical, read_url_list, scope_of

__all__ = ["watch_pages"]


def watch_pages(
    urls: Sequence[str],
    file: Path | None,
    *,
    budget: str,
    objective_name: str,
    parameters: Mapping[str, float],
    revert_worth: float,
    db: Path,
    not_modified_cost: float,
) -> None:
    """Watch these pages and those that the database has, until SIGINT or SIGTERM.

    `parameters` are those of the objective, such as decay for ephemeral; `revert_worth`: see
    `BayesianIndex`.
    `InputError` and `StoreError` before anything is changed; `StoreError` also ends a run whose
    database can be written no longer.
    """
    amount = parse_budget(budget)
    settings: dict[str, object] = {
        "budget": budget,
        "objective": objective_name,
        "parameters": dict(parameters),
        "revert_worth": revert_worth,
    }
    policy = policy_of(settings)
    pages = _named_pages(urls, file)
    if not pages and not db.exists():
        raise InputError(
            f"nothing to watch: no URL was given and there is no database {db};"
            " name pages, or a list of them with --file"
        )
    clock = WallClock()
    with Store.open(db) as store:
        if stored_topic(store) is not None:
            raise InputError(
                f"{db} holds a collection: `pollwise collect --db {db}` goes on with it;"
                " watch pages with another file"
            )
        store.add_pages(pages, now=clock())
        count = store.totals().pages
        if count == 0:
            raise InputError(f"nothing to watch: {db} has no pages; name some")
        if learned_by(store, policy) is None and store.has_learned():
            print(
                f"pollwise: what {db} has learned is of an earlier version: learning anew",
                file=sys.stderr,
            )
            store.forget_learned()
        rate = amount.total(count)
        # What one second allows may come at once: the loop is not quick enough to miss no slot.
        budget_rate = Budget(rate, burst=max(1.0, rate))
        scheduler = Scheduler(policy, budget_rate)
        settings["rate"] = rate
        with WatchDisplay(pages=count, budget=budget, db=db) as display:
            uvloop.run(_watch(store, scheduler, clock, settings, not_modified_cost, display))


def _named_pages(urls: Sequence[str], file: Path | None) -> list[NewPage]:
    """The pages of the command line, and those of a list; what the list says of both holds."""
    pages = [NewPage(canonical(url), scope_of(url)) for url in urls]
    if file is not None:
        pages += [
            NewPage(listed.url, scope_of(listed.url), listed.weight, listed.cost)
            for listed in read_url_list(file)
        ]
    return pages


async def _watch(
    store: Store,
    scheduler: Scheduler,
    clock: WallClock,
    settings: Mapping[str, object],
    not_modified_cost: float,
    display: WatchDisplay,
) -> None:
    gc.freeze()
    gc.enable()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with HttpFetcher(clock=clock) as fetcher:
        robots = Robots(fetcher, clock=clock)
        await watch(
            store,
            scheduler,
            WebPoller(fetcher, robots, clock=clock, not_modified_cost=not_modified_cost),
            clock=clock,
            stop=stop,
            settings=settings,
            on_progress=display.show,
        )
