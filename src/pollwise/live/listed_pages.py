"""Sitemaps and feeds that tell of pages of their host: their news are signals of those watched."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pollwise.errors import InputError
from pollwise.events import Signalled
from pollwise.live.progress import Progress
from pollwise.live.requests import SignalPages, encode_request
from pollwise.store import Store
from pollwise.store.records import FoundItem
from pollwise.types import Page
from pollwise.units import DAY
from pollwise.watched_pages import Watched
from pollwise.web.urls import joined, scope_of

__all__ = ["ListedPages"]


class ListedPages:
    """What lists told anew, and nobody has carried out yet."""

    def __init__(self) -> None:
        self._told: deque[_List] = deque()
        """The lists that were polled, in this order."""

    def __bool__(self) -> bool:
        return bool(self._told)

    def note(self, progress: Progress, watched: Mapping[int, Watched]) -> None:
        """Take in the new items of the lists that were polled.

        It takes no time: there may be ten thousands of them.
        """
        for report in progress.reports:
            seen, items = report.result.observation, report.result.items
            # None: removed while it was polled
            if items and (source := watched.get(seen.page_id)) is not None:
                self._told.append(_List(source.page.url, seen.polled_at, items))

    def carry_out(self, store: Store, now: float) -> list[Signalled]:
        """The events of the pages told of that are watched, unless their copies are newer.

        Of thousands it takes a moment. After an error the next call gives them.
        """
        pages = self._taken(store)
        return [
            Signalled(now, tuple(page.id for page in found), polled_at)
            for polled_at, found in pages.items()
        ]

    def leave(self, store: Store, now: float) -> None:
        """Have the next run take in what else `carry_out` would give, as this one ends."""
        with store.together():
            for found in self._taken(store).values():
                signalled = SignalPages(tuple(page.url for page in found))
                store.put_request(encode_request(signalled), now)

    def _taken(self, store: Store) -> dict[float, list[Page]]:
        """The pages, by the time of the poll that told of them."""
        lists = tuple(self._told)
        told = {url: times for one in lists for url, times in one.pages()}
        pages: dict[float, list[Page]] = {}
        for url, record in store.find_pages([*told]).items():
            changed_at, polled_at = told[url]
            if record.page.seen_at is None:
                continue
            latest = polled_at if changed_at is None else changed_at
            if changed_at is not None and changed_at % DAY == 0.0:
                latest += DAY  # no more than the day is told
            if latest > record.page.seen_at:
                pages.setdefault(polled_at, []).append(record.page)
        for _ in lists:  # others may have come behind them
            self._told.popleft()
        return pages


@dataclass(frozen=True, slots=True)
class _List:
    """The new items that a poll found in a list."""

    url: str
    polled_at: float
    items: Sequence[FoundItem]

    def pages(self) -> Iterator[tuple[str, tuple[float | None, float]]]:
        """The pages of its host that it names: when they changed, as it tells, and the poll."""
        scope = scope_of(self.url)
        for item in self.items:
            with suppress(InputError):  # the list may hold anything
                url = joined(self.url, item.url)
                # An item without a URL has that of its list; of others a list knows nothing.
                if url != self.url and scope_of(url) == scope:
                    yield url, (item.published_at, self.polled_at)
