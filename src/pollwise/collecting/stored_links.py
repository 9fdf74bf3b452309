"""The links that a robot follows next, as the store keeps them for whoever asks meanwhile."""

import json
from collections.abc import Sequence

from pollwise.checks import read_json
from pollwise.store.base import StoreReader
from pollwise.types import LikelyLink

__all__ = ["NEXT_LINKS", "pack_links", "stored_links"]

NEXT_LINKS = "next-links"
"""The name by which the store keeps them."""


def pack_links(links: Sequence[LikelyLink]) -> bytes:
    """Links as the store keeps them."""
    return json.dumps(links).encode()


def stored_links(store: StoreReader) -> list[LikelyLink]:
    """The links that were kept last; none if there are none, or they cannot be read."""
    try:
        rows = read_json((store.state(NEXT_LINKS) or b"[]").decode())
        return [LikelyLink(int(row[0]), float(row[1]), str(row[2])) for row in rows]
    except (ValueError, TypeError, LookupError):
        return []
