"""The log of a web server: what was asked for when, and whether that was polite."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

__all__ = ["Exchange", "rapid_fire", "read_exchanges"]

_TOLERANCE = 0.005
"""Seconds by which client and server may disagree on when an answer ended."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer; times in seconds of the server's clock."""

    host: str
    path: str
    begun_at: float
    ended_at: float


def rapid_fire(exchanges: Sequence[Exchange], delay: float) -> list[tuple[Exchange, Exchange]]:
    """The pairs of successive exchanges with a host less than `delay` seconds apart.

    From the end of one to the begin of the next, so overlapping ones are among them.
    """
    by_host: dict[str, list[Exchange]] = {}
    for exchange in sorted(exchanges, key=lambda exchange: exchange.begun_at):
        by_host.setdefault(exchange.host, []).append(exchange)
    return [
        (first, second)
        for of_host in by_host.values()
        for first, second in pairwise(of_host)
        if second.begun_at - first.ended_at < delay - _TOLERANCE
    ]


def read_exchanges(path: Path) -> list[Exchange]:
    """The log that the program wrote."""
    return [Exchange(*row) for row in json.loads(path.read_text(encoding="utf-8"))]
