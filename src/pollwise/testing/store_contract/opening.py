"""How the tests of the contract reach one store."""

from collections.abc import Callable
from dataclasses import dataclass

from pollwise.store import Requester, Store

__all__ = ["StoreOpening"]


@dataclass(frozen=True, slots=True)
class StoreOpening:
    """What opens one and the same store, which is empty at first.

    `writer` gives its only writer, `reader` another reader, `requester` what puts requests. The
    tests close what they get.
    """

    writer: Callable[[], Store]
    reader: Callable[[], Store]
    requester: Callable[[], Requester]
