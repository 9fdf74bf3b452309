"""The pages of a collection as a whole, by what their latest polls brought."""

from pollwise.types import Outcome

__all__ = ["KnownPages"]

_UNKNOWN, _NEW, _ANSWERED, _FAILED, _GONE = _ALL = range(5)
_STATES = {
    None: _NEW,
    Outcome.CHANGED: _ANSWERED,
    Outcome.UNCHANGED: _ANSWERED,
    Outcome.FAILED: _FAILED,
    Outcome.GONE: _GONE,
}


class KnownPages:
    """Counts pages, which must be those that may be polled: see `UrlRules`.

    Of a million pages it takes a megabyte.
    """

    def __init__(self) -> None:
        self._states = bytearray()
        """By the ids of the pages."""
        self._counts = [0] * len(_ALL)

    def note(self, page_id: int, outcome: Outcome | None) -> None:
        """What the latest poll of a page brought; None: it is known by links only.

        A POSTPONED poll was not made, and says nothing.
        """
        state = _STATES.get(outcome)
        if state is None:
            return
        if page_id >= len(self._states):
            self._states.extend(bytes(page_id + 1 - len(self._states)))
        self._counts[self._states[page_id]] -= 1
        self._counts[state] += 1
        self._states[page_id] = state

    @property
    def fringe(self) -> int:
        """The pages that are known by links only: no poll of them was made."""
        return self._counts[_NEW]
