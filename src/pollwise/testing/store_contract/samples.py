"""What the tests of the contract give to a store, and what they see of it."""

import numpy as np
from hypothesis import HealthCheck, settings

from pollwise.store import Store
from pollwise.store.records import NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, StateDict, Version

__all__ = ["A", "B", "C", "gone", "held", "learned", "poll", "steady"]

A, B, C = (NewPage(f"https://{name}.example/", f"{name}.example") for name in "abc")

steady = settings(
    derandomize=True,
    deadline=None,
    max_examples=50,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.differing_executors,
    ],
)
"""The same examples at every run, however long they take, all on one store, of any class."""


def poll(
    page_id: int, at: float, outcome: Outcome, body: bytes | None = None, error: str | None = None
) -> PollResult:
    """A poll that remembers its time as the page's etag."""
    version = None
    if body is not None:
        version = Version(page_id, at, "text/html", body, f"hash of {body[:20]!r}")
    return PollResult(Observation(page_id, at, outcome), PageMemory(etag=str(at)), version, error)


def gone(page_id: int, at: float, status: int) -> PollResult:
    """A poll that was told so by this status."""
    return PollResult(Observation(page_id, at, Outcome.GONE), PageMemory(), status=status)


def learned(page_ids: list[int], value: float) -> StateDict:
    """What a policy might have learned of these pages."""
    return {
        "page_ids": np.array(page_ids),
        "page.rate": np.full(len(page_ids), value),
        "page.window": np.full((len(page_ids), 3), value, dtype=np.float32),
        "price": np.array(value),
    }


def held(store: Store) -> dict[str, object]:
    """All that a store tells, but for the size of its files."""
    ids = range(store.next_page_id())
    state = store.load_learned()
    return {
        "pages": store.pages(),
        "outcomes": [store.recent_outcomes(page_id, 100) for page_id in ids],
        "revisits": [store.revisits(page_id) for page_id in ids],
        "versions": [store.versions(page_id) for page_id in ids],
        "changes": list(store.changes()),
        "learned": state and {name: array.tolist() for name, array in state.items()},
        "scheduler": store.scheduler_state(),
        "sizes": store.sizes(),
        "runs": store.runs(),
        "events": [list(store.events(run.id)) for run in store.runs()],
        "requests": store.waiting_requests(),
        "receivers": store.receivers(),
        "subscriptions": store.subscriptions(),
        "settings": store.changed_settings(),
        "database": store.database_id(),
    }
