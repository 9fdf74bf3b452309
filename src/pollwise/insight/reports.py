"""What `pollwise status` and `explain` tell of a database, which may be at work meanwhile."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pollwise.errors import InputError
from pollwise.insight.collection import summarise_collection
from pollwise.store import Store
from pollwise.types import Observation, Outcome, Page
from pollwise.web.urls import canonical

if TYPE_CHECKING:
    from pollwise.insight.knowledge import Knowledge

# numba, which the knowledge of a watch needs, takes a while to load.

__all__ = ["read_explanation", "read_status"]

_RECENT = 10
_DAY = 86_400.0
_HORIZONS = {"day": _DAY, "week": 7 * _DAY}


def read_status(db: Path) -> dict[str, Any]:
    """What the database says of its pages; `StoreError` if it is none.

    `forecast` is None where there are no pages, or no run has begun, or where the pages are a
    `collection` (see `summarise_collection`; None: they are not).
    """
    with Store.open_readonly(db) as store:
        totals = store.totals()
        runs = store.runs()
        records = store.pages()
        collection = summarise_collection(store, records)
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
        "forecast": _forecasts(db) if records and runs and collection is None else None,
        "collection": collection,
    }


def _forecasts(db: Path) -> dict[str, Any]:
    """What to expect of the coming day and week under the present budget."""
    from pollwise.insight.knowledge import read_knowledge
    from pollwise.insight.plan import forecast_document

    known = read_knowledge(db)
    now = time.time()
    return {
        name: forecast_document(known.forecast(horizon, now)) for name, horizon in _HORIZONS.items()
    }


def read_explanation(db: Path, url: str) -> dict[str, Any]:
    """What is known of one page; `InputError` if it is not watched.

    Times are UTC seconds. `index` and `due_at` may be infinite; `due_at` is None where the page
    rests after a failure, until `rests_until`. `next_poll_at` is when all that holds the page back
    will be over, the budget aside.
    """
    from pollwise.insight.knowledge import read_knowledge

    address = canonical(url)
    with Store.open_readonly(db) as store:
        record = store.find_page(address)
        if record is None:
            raise InputError(
                f"{address} is not watched in {db}; `pollwise watch {address} --db {db}` does"
            )
        outcomes = store.recent_outcomes(record.page.id, _RECENT)
        versions = store.versions(record.page.id)
    known = read_knowledge(db)
    page, now = record.page, time.time()
    estimate = known.policy.estimate(page.id, now)
    rests = record.outcome in (Outcome.FAILED, Outcome.GONE)
    return {
        "url": address,
        "objective": known.settings.objective,
        "weight": page.weight,
        "cost": page.cost,
        "polls": record.polls,
        "changes": record.changes,
        "versions": len(versions),
        "polled_at": record.polled_at,
        "last_changed_at": record.last_changed_at,
        "outcome": None if record.outcome is None else Outcome(record.outcome).name.lower(),
        "failures": record.failures,
        "error": record.error,
        "changes_per_day": estimate.change_rate * _DAY,
        "changes_per_day_between": [estimate.rate_low * _DAY, estimate.rate_high * _DAY],
        "chance": float(known.policy.chances([page.id], now)[0]),
        "learned_from": _sources(known, page.id, estimate.polls, outcomes),
        "index": estimate.index,
        "price": estimate.price,
        "budget": known.settings.budget,
        "due_at": None if rests else estimate.due_at,
        **_holds(known, page, rests, estimate.due_at, now),
        "recent": [
            {
                "polled_at": o.polled_at,
                "outcome": Outcome(o.outcome).name.lower(),
                "reverted": o.reverted,
            }
            for o in outcomes
        ],
    }


def _holds(
    known: "Knowledge", page: Page, rests: bool, due_at: float, now: float
) -> dict[str, float | None]:
    """What holds a page back, as far as it was written down, and when all of that is over."""
    rests_until = known.scheduler.rests_until(page.id) if rests else None
    host_free_at = known.scheduler.host_free_at(page.scope, now)
    known_end = not rests or rests_until is not None
    waits_for = due_at if rests_until is None else rests_until
    return {
        "rests_until": rests_until,
        "host_free_at": host_free_at if host_free_at > now else None,
        "next_poll_at": max(waits_for, host_free_at, now) if known_end else None,
    }


def _sources(
    known: "Knowledge", page_id: int, polls: int, recent: Sequence[Observation]
) -> dict[str, Any]:
    """What the rate of a page was learned from.

    `polls` are its own that told something, `dates` are those of the latest ones whose server told
    the time of the change, `prior_changes_per_day` is what is expected of a page like it;
    `own_share` is how much of the uncertainty that this leaves (the variance of the rate's
    logarithm) its own polls took away.
    """
    import numpy as np

    rates, (posterior,) = known.policy.rate_posteriors([page_id])
    (prior,) = known.policy.prior_probabilities([page_id])
    logs = np.log(rates)
    before, after = (float(p @ logs**2 - (p @ logs) ** 2) for p in (prior, posterior))
    return {
        "polls": polls,
        "dates": sum(one.last_changed_at is not None for one in recent),
        "prior_changes_per_day": float(prior @ rates) * _DAY,
        "own_share": min(max(1.0 - after / before, 0.0), 1.0) if before > 0 else 0.0,
    }
