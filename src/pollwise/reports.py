"""What `pollwise status` and `explain` tell of a database, which may be at work meanwhile."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pollwise.errors import InputError
from pollwise.robot.urls import canonical
from pollwise.store import Store
from pollwise.types import Outcome, Page, StateDict

if TYPE_CHECKING:
    from pollwise.policies.bayes_index import PageEstimate

__all__ = ["read_explanation", "read_status"]

_RECENT = 10


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
    settings: Mapping[str, Any] = runs[-1].settings if runs else {}
    name = settings.get("objective", "detection")
    goal = name, settings.get("parameters", {})
    estimate = _estimate(record.page.id, [own.page for own in records], learned, *goal)
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


def _estimate(
    page_id: int,
    pages: Sequence[Page],
    learned: StateDict | None,
    objective_name: str,
    parameters: Mapping[str, float],
) -> "PageEstimate":
    """What the policy of a watch thinks of a page now."""
    # numba takes a while to load, and the status does without.
    from pollwise.objectives import objective
    from pollwise.policies.bayes_index import BayesianIndex

    policy = BayesianIndex(objective=objective(objective_name, **parameters))
    policy.add(pages)
    if learned is not None:
        policy.load_state_dict(learned)
    return policy.estimate(page_id, time.time())
