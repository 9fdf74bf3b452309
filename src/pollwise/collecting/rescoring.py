"""Scores made anew: a sweep through a collection after its topic filter has changed.

The filter may be wrong, so one sweep takes only so many documents out of the collection. Of the
others that it finds irrelevant each keeps half its relevance, until a later sweep.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Sweep"]

_DROPPED_SHARE = 0.1
"""Of the relevant documents that a sweep has met, it drops at most this share, and one."""
_FADED = 0.02
"""A relevance as low as this is dropped in any case."""
_TOLD_SHARE, _TOLD_FROM = 0.1, 50
"""A sweep is told of that changed a larger share, of so many documents at least: first scores move
anyway."""


@dataclass(slots=True)
class Sweep:
    """A pass over the terms of all documents, as `StoredTerms` gives them."""

    rows: Iterator[tuple[int, bytes]] = field(default_factory=lambda: iter(()))
    scored: int = 0
    relevant: int = 0
    gained: int = 0
    dropped: int = 0
    halved: int = 0

    def settled(self, before: float, now: float) -> float:
        """The relevance that a document is given, `before` and `now` being those by the filter."""
        self.scored += 1
        self.relevant += before > 0
        self.gained += now > before == 0
        if now > 0 or before == 0:
            return now
        if before <= _FADED or self.dropped <= _DROPPED_SHARE * self.relevant:
            self.dropped += 1
            return now
        self.halved += 1
        return before / 2

    def told(self) -> str | None:
        """What people should know of a sweep that is over; None if it changed little."""
        changed = self.gained + self.dropped + self.halved
        if self.scored < _TOLD_FROM or changed <= _TOLD_SHARE * self.scored:
            return None
        return (
            f"the topic is known better: of {self.scored} documents scored anew {self.gained}"
            f" became relevant, {self.dropped} no longer are,"
            f" and {self.halved} keep half their relevance"
        )
