"""Pages of every kind, for what reads many of them."""

from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Noise, Observation, Outcome, PageMemory

_MEMORIES = (
    PageMemory(),
    PageMemory('"e"', "\udcff", "0f", "0e", ("0a", "0b"), Noise((), 2, 1, 4), ("1", "2")),
    PageMemory(etag="\udc80é"),
    PageMemory(items=("7",)),
)


def add_odd_pages(store: Store) -> None:
    """Add 40 pages and remove some: of few words and many, polled or not, found, gone or failed."""
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
    store.commit(Batch(polls=tuple(polls)))
    store.remove_pages([4, *range(17, 24), 39], now=99.0)
