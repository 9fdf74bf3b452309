"""The engine directory: which peers there are, what they are about, and whether they answer."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace

from pollwise.search.description import Description
from pollwise.search.peer_client import PeerError

__all__ = ["EngineDirectory", "Peer"]

_RENEWAL = 60.0
_FIRST_PAUSE = 2.0
_LONGEST_PAUSE = 300.0


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer by its URL, with its latest description, heard at `heard_at` (None: never).

    `failures` counts how often in a row it did not answer, `error` is the latest reason. Until it
    answers again it rests: no query goes to it. It is asked for its description again at `ask_at`.
    Times are UTC seconds.
    """

    url: str
    description: Description | None = None
    heard_at: float | None = None
    failures: int = 0
    error: str | None = None
    ask_at: float = 0.0


class EngineDirectory:
    """The peers of an engine; `clock` gives the time in UTC seconds.

    Descriptions are renewed each minute. A peer that fails rests for 2 seconds, after each further
    failure for twice as long, at most 5 minutes.
    """

    def __init__(self, urls: Iterable[str], *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._peers = {url: Peer(url) for url in urls}

    @property
    def peers(self) -> list[Peer]:
        """All peers, in the order in which they were named."""
        return list(self._peers.values())

    async def refresh(self, describe: Callable[[str], Awaitable[Description]]) -> None:
        """Ask all peers that are due, at once; `describe` may raise `PeerError`."""
        now = self._clock()
        due = [peer.url for peer in self._peers.values() if not _waits(peer, now)]
        await asyncio.gather(*(self._ask(url, describe) for url in due))

    def failed(self, url: str, error: str) -> None:
        """Note that a peer gave no usable answer; if it rests already, nothing changes."""
        peer, now = self._peers[url], self._clock()
        if peer.failures and _waits(peer, now):
            return
        pause = min(_FIRST_PAUSE * 2.0**peer.failures, _LONGEST_PAUSE)
        self._peers[url] = replace(
            peer, failures=peer.failures + 1, error=error, ask_at=now + pause
        )

    async def _ask(self, url: str, describe: Callable[[str], Awaitable[Description]]) -> None:
        try:
            description = await describe(url)
        except PeerError as error:
            self.failed(url, str(error))
            return
        now = self._clock()
        self._peers[url] = Peer(url, description, heard_at=now, ask_at=now + _RENEWAL)


def _waits(peer: Peer, now: float) -> bool:
    """Whether it is to be asked later; no peer waits for longer, so else the clock was set back."""
    return now < peer.ask_at <= now + _LONGEST_PAUSE
