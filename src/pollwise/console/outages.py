"""That this machine has no network, told once instead of once a page."""

import errno
import os
import re

from pollwise.console.quantities import count
from pollwise.types import Outcome

__all__ = ["Outage"]

_OF_THIS_MACHINE = {
    os.strerror(errno.ENETUNREACH),
    os.strerror(errno.ENETDOWN),
    "Temporary failure in name resolution",
}
"""Why there was no connection, if most likely there is none to any host."""


class Outage:
    """Notes the polls of a watch, and knows whether they fail as there is no network.

    The fetcher judges that, and postpones polls then. There is a network again if it says so
    (`over`), or once a host that could not be asked is asked, also without success: others may
    answer over kept connections.

    >>> outage, why = Outage(), "no connection to a:80 (Network is unreachable)"
    >>> outage.note(1, "a", Outcome.FAILED, why, pages=3)
    >>> outage.note(2, "b", Outcome.POSTPONED, f"no network: {why}", pages=3)
    'no network: 2 of 3 pages failed with "Network is unreachable", and none answered; more that \
fail so are not told'
    >>> outage.hides(2), outage.hides(1)
    (True, False)
    >>> outage.note(3, "c", Outcome.UNCHANGED, None, pages=3)
    >>> outage.note(2, "b", Outcome.UNCHANGED, None, pages=3)
    'the network is back: 2 of 3 pages had failed with "Network is unreachable"'
    """

    def __init__(self) -> None:
        self._failed: set[int] = set()
        """The pages that failed so since there was one."""
        self._hosts: set[str] = set()
        """Their hosts."""
        self._why: str | None = None
        """Why there is no network, as it was told; None: there is one."""
        self._hidden: set[int] = set()
        """The pages whose latest poll failed so, which was not told."""

    def note(
        self, page_id: int, host: str, outcome: Outcome, error: str | None, *, pages: int
    ) -> str | None:
        """Note a poll, one of so many `pages`; what is to be told of the network, if anything."""
        self._hidden.discard(page_id)
        why = _why(error or "")
        if why is None or outcome is not Outcome.POSTPONED:
            told = None
            if outcome is not Outcome.POSTPONED and (self._why is None or host in self._hosts):
                told = self.over(pages) if self.is_told else None
                self._forget()
            if why is not None:
                self._note_failed(page_id, host)
            return told
        self._note_failed(page_id, host)
        self._hidden.add(page_id)
        if self._why is not None:
            return None
        self._why = why
        return (
            f'no network: {self._words(pages)} failed with "{why}", and none answered; more that'
            " fail so are not told"
        )

    def _note_failed(self, page_id: int, host: str) -> None:
        self._failed.add(page_id)
        self._hosts.add(host)

    @property
    def is_none(self) -> bool:
        """Whether an answer tells nothing new: no poll failed so since the latest one."""
        return self._why is None and not (self._failed or self._hidden)

    def hides(self, page_id: int) -> bool:
        """Whether the latest poll of a page failed so, which is not told."""
        return page_id in self._hidden

    @property
    def is_told(self) -> bool:
        """Whether it was told last that there is no network."""
        return self._why is not None

    def over(self, pages: int) -> str:
        """There is a network again, with so many `pages` watched; what is to be told."""
        told = f'the network is back: {self._words(pages)} had failed with "{self._why}"'
        self._forget()
        return told

    def _forget(self) -> None:
        self._failed.clear()
        self._hosts.clear()
        self._why = None

    def _words(self, pages: int) -> str:
        return f"{len(self._failed):,} of {count(pages, 'page')}"


def _why(error: str) -> str | None:
    """Why this machine had no connection; None: it had one, or the host is to blame."""
    found = re.search(r"no connection to \S+ \(([^()]+)\)$", error)
    return found[1] if found is not None and found[1] in _OF_THIS_MACHINE else None
