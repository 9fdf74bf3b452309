"""Pages of every kind, for what reads many of them."""

from decimal import Decimal

import numpy as np

from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Noise, NumberTold, Observation, Outcome, PageMemory

_MEMORIES = (
    PageMemory(),
    PageMemory('"e"', "\udcff", "0f", "0e", ("0a", "0b"), Noise((), 2, 1, 4), ("1", "2")),
    PageMemory(etag="\udc80é"),
    PageMemory(items=("7",)),
    PageMemory(told_number=NumberTold(Decimal("20.50"), Decimal("1E+99"))),
)


def add_odd_pages(store: Store) -> None:
    """Add 40 pages with what was learned, and remove some.

    Their texts are short, long and of any script; they were found, gone or failed, or not polled.
    """
    added = store.add_pages(
        [
            NewPage(
                f"http{'s' * (n % 2)}://{'é' * (n % 3)}{n % 7}.example/{'ü' * (n**2)}/{n}",
                f"{n % 7}.example",
                weight=n % 4 + 0.1,
                tags=("x", "y") if n % 5 == 0 else None,
                shortest_interval=2.0 if n % 11 == 0 else None,
                name="Wörter" if n % 3 == 0 else None,
            )
            for n in range(40)
        ],
        now=0.0,
    )
    polls = [
        PollResult(
            Observation(page.id, 3.0 + page.id / 3, Outcome(page.id % 4)),
            _MEMORIES[page.id // 4 % 4],
        )
        for page in added
        if page.id % 9
    ]
    ids = np.array([page.id for page in added if page.id % 4])
    learned = {"page_ids": ids, "page.rates": np.arange(len(ids) * 3.0).reshape(-1, 3)}
    store.commit(Batch(polls=tuple(polls), learned={**learned, "price": np.array([0.5])}))
    store.remove_pages([4, *range(17, 24), 39], now=99.0)
