"""Sitemaps and feeds that tell of pages of their host: their news are signals of those watched."""

from collections.abc import Mapping
from contextlib import suppress

from pollwise.errors import InputError
from pollwise.events import Signalled
from pollwise.live.progress import Progress, Watched
from pollwise.store import Store
from pollwise.units import DAY
from pollwise.web.urls import joined, scope_of

__all__ = ["ListedPages"]


class ListedPages:
    """What lists told anew since `carry_out` was called last."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[float | None, float]] = {}
        """By URL, the time that a list told, and when it was polled."""

    def __bool__(self) -> bool:
        return bool(self._told)

    def note(self, progress: Progress, watched: Mapping[int, Watched]) -> None:
        """Take in the new items of the lists that were polled, by address and time."""
        for report in progress.reports:
            source = watched.get(report.result.observation.page_id)
            if source is None:  # removed while it was polled
                continue
            for item in report.result.items:
                with suppress(InputError):  # the list may hold anything
                    url = joined(source.page.url, item.url)
                    # An item without a URL has that of its list; of others a list knows nothing.
                    if url != source.page.url and scope_of(url) == scope_of(source.page.url):
                        polled_at = report.result.observation.polled_at
                        self._told[url] = (item.published_at, polled_at)

    def carry_out(self, store: Store, now: float) -> list[Signalled]:
        """The events of the pages told of that are watched, unless their copies are newer.

        After an error the next call gives them.
        """
        told = dict(self._told)
        page_ids: dict[float, list[int]] = {}
        for url, (changed_at, polled_at) in told.items():
            record = store.find_page(url)
            if record is None or record.page.seen_at is None:
                continue
            latest = polled_at if changed_at is None else changed_at
            if changed_at is not None and changed_at % DAY == 0.0:
                latest += DAY  # no more than the day is told
            if latest > record.page.seen_at:
                page_ids.setdefault(polled_at, []).append(record.page.id)
        for url, seen in told.items():
            latest_told = self._told.pop(url, seen)
            if latest_told is not seen:  # told again meanwhile
                self._told.setdefault(url, latest_told)
        return [Signalled(now, tuple(ids), polled_at) for polled_at, ids in page_ids.items()]
