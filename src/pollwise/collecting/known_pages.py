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
        self._by_scope: dict[str, list[int]] = {}
        """How many pages of a politeness scope are in each state."""
        self._fringe = 0

    def note(self, page_id: int, scope: str, outcome: Outcome | None) -> None:
        """What the latest poll of a page brought; None: it is known by links only.

        `scope` is its politeness scope. A POSTPONED poll was not made, and says nothing.
        """
        state = _STATES.get(outcome)
        if state is None:
            return
        if page_id >= len(self._states):
            self._states.extend(bytes(page_id + 1 - len(self._states)))
        before = self._states[page_id]
        self._states[page_id] = state
        self._fringe += (state == _NEW) - (before == _NEW)
        counts = self._by_scope.setdefault(scope, [0] * len(_ALL))
        counts[before] -= 1
        counts[state] += 1

    @property
    def fringe(self) -> int:
        """The pages that are known by links only: no poll of them was made."""
        return self._fringe

    def hosts(self) -> list[str]:
        """The politeness scopes that can take requests.

        They have a page that was there when it was polled last, or one of the fringe; but that says
        nothing if all polls failed, as they do where nobody answers or robots.txt disallows them.
        """
        return [
            scope
            for scope, count in self._by_scope.items()
            if count[_ANSWERED] or (count[_NEW] and (count[_GONE] or not count[_FAILED]))
        ]

    def silent_hosts(self) -> list[str]:
        """The politeness scopes where every poll failed, in the order in which they were found."""
        return [
            scope
            for scope, count in self._by_scope.items()
            if count[_FAILED] and not (count[_ANSWERED] or count[_GONE])
        ]
