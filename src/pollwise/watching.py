"""`pollwise watch`, `status` and `explain`: from what a user says to a store that is at work."""

import asyncio
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pollwise.budgets import parse_budget
from pollwise.console import WatchDisplay
from pollwise.errors import InputError
from pollwise.objectives import objective
from pollwise.policies.bayes_index import BayesianIndex
from pollwise.robot.fetcher import HttpFetcher
from pollwise.robot.poller import WebPoller
from pollwise.robot.robots import Robots
from pollwise.robot.serve import WallClock
from pollwise.robot.urls import canonical, read_url_list, scope_of
from pollwise.robot.watch import watch
from pollwise.scheduler import Scheduler
from pollwise.store import NewPage, Store
from pollwise.types import Budget, Outcome

__all__ = ["read_explanation", "read_status", "watch_pages"]

_RECENT = 10


def watch_pages(
    urls: Sequence[str],
    file: Path | None,
    *,
    budget: str,
    objective_name: str,
    db: Path,
    not_modified_cost: float,
) -> None:
    """Watch these pages and those that the database has, until SIGINT or SIGTERM.

    `InputError` and `StoreError` before anything is changed; `StoreError` also ends a run whose
    database can be written no longer.
    """
    amount = parse_budget(budget)
    goal = objective(objective_name)
    pages = _named_pages(urls, file)
    if not pages and not db.exists():
        raise InputError(
            f"nothing to watch: no URL was given and there is no database {db};"
            " name pages, or a list of them with --file"
        )
    clock = WallClock()
    with Store.open(db) as store:
        store.add_pages(pages, now=clock())
        count = store.totals().pages
        if count == 0:
            raise InputError(f"nothing to watch: {db} has no pages; name some")
        rate = amount.total(count)
        scheduler = Scheduler(BayesianIndex(objective=goal), Budget(rate))
        settings = {"budget": budget, "rate": rate, "objective": objective_name}
        with WatchDisplay(pages=count, budget=budget, db=db) as display:
            asyncio.run(_watch(store, scheduler, clock, settings, not_modified_cost, display))


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


def read_status(db: Path) -> dict[str, Any]:
    """What the database says of its pages; `StoreError` if it is none."""
    with Store.open_readonly(db) as store:
        totals = store.totals()
        runs = store.runs()
        records = store.pages()
    settings: Mapping[str, object] = runs[-1].settings if runs else {}
    changed = [record for record in records if record.last_changed_at is not None]
    changed.sort(key=lambda record: -(record.last_changed_at or 0.0))
    failing = [record for record in records if record.failures > 0]
    failing.sort(key=lambda record: -record.failures)
    return {
        "database": str(db),
        "budget": settings.get("budget"),
        "objective": settings.get("objective"),
        "started_at": runs[-1].started_at if runs else None,
        "pages": totals.pages,
        "polls": totals.polls,
        "changes": totals.changes,
        "versions": totals.versions,
        "bytes": totals.bytes,
        "failing": totals.failing,
        "last_changes": [
            {"url": r.page.url, "changed_at": r.last_changed_at, "changes": r.changes}
            for r in changed[:_RECENT]
        ],
        "failures": [
            {"url": r.page.url, "error": r.error, "failures": r.failures} for r in failing[:_RECENT]
        ],
    }


def read_explanation(db: Path, url: str) -> dict[str, Any]:
    """What is known of one page; `InputError` if it is not watched.

    `index` and `due_at` (UTC seconds) may be infinite; `due_at` is None where the page rests after
    a failure.
    """
    address = canonical(url)
    with Store.open_readonly(db) as store:
        record = store.find_page(address)
        if record is None:
            raise InputError(
                f"{address} is not watched in {db}; `pollwise watch {address} --db {db}` does"
            )
        records = store.pages()
        learned = store.load_learned()
        runs = store.runs()
        outcomes = store.recent_outcomes(record.page.id, _RECENT)
        versions = store.versions(record.page.id)
    name = str(runs[-1].settings.get("objective", "detection")) if runs else "detection"
    policy = BayesianIndex(objective=objective(name))
    policy.add([own.page for own in records])
    if learned is not None:
        policy.load_state_dict(learned)
    estimate = policy.estimate(record.page.id, time.time())
    rests = record.outcome in (Outcome.FAILED, Outcome.GONE)
    return {
        "url": address,
        "objective": name,
        "weight": record.page.weight,
        "cost": record.page.cost,
        "polls": record.polls,
        "changes": record.changes,
        "versions": len(versions),
        "polled_at": record.polled_at,
        "last_changed_at": record.last_changed_at,
        "outcome": None if record.outcome is None else Outcome(record.outcome).name.lower(),
        "failures": record.failures,
        "error": record.error,
        "changes_per_day": estimate.change_rate * 86_400.0,
        "changes_per_day_between": [
            estimate.rate_low * 86_400.0,
            estimate.rate_high * 86_400.0,
        ],
        "index": estimate.index,
        "price": estimate.price,
        "due_at": None if rests else estimate.due_at,
        "recent": [
            {"polled_at": o.polled_at, "outcome": Outcome(o.outcome).name.lower()} for o in outcomes
        ],
    }
