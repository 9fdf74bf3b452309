"""Bodies read and compared in one step, which can be done beside the loop.

All of it may raise `UnreadableError` and `InputError`, as `pollwise.sources.reading.read` does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import xxhash

from pollwise.sources.reading import read, read_plainly
from pollwise.sources.view import WHOLE, HubLinks, Kind, Parts, UnreadableError
from pollwise.types import PageMemory
from pollwise.web.beside import Beside
from pollwise.web.change import Comparison, compare, is_same, same
from pollwise.web.noise.looks import Copy, judged_again, says_the_same

__all__ = ["NOTHING", "Seen", "look", "read_beside", "say_the_same", "see", "see_plainly"]

T = TypeVar("T")

_READ_WITHIN = 20.0
"""Seconds in which a body must be read; then it is taken for one that is made to hurt."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a body is to the latest copy, with its title, kind and hub (None: as before).

    `left_out` is that of the `View`.
    """

    compared: Comparison
    title: str | None = None
    kind: Kind | None = None
    hub_links: HubLinks | None = None
    left_out: str = ""


def see(memory: PageMemory, body: bytes, content_type: str | None, parts: Parts = WHOLE) -> Seen:
    """What a poll sees of a body, against the latest copy."""
    if is_same(memory, body, parts):
        return Seen(same(memory, xxhash.xxh3_128_hexdigest(body)))
    view = read(body, content_type, parts)
    return Seen(compare(memory, view), view.title, view.kind, view.hub_links, view.left_out)


def see_plainly(memory: PageMemory, body: bytes, content_type: str | None) -> Seen:
    """A body compared by its text or its bytes alone; never raises."""
    return Seen(compare(memory, read_plainly(body, content_type)))


NOTHING = see_plainly(PageMemory(), b"", None)
"""What is seen of an answer without content."""


def say_the_same(
    memory: PageMemory, bodies: Sequence[bytes], content_type: str | None, parts: Parts
) -> bool:
    """Whether two fetches of a page are the same without its noise."""
    first, again = (read(body, content_type, parts) for body in bodies)
    return says_the_same(memory, first, again)


def look(
    before: PageMemory,
    compared: Comparison,
    bodies: Sequence[bytes],
    content_type: str | None,
    parts: Parts,
    latest: Copy | None,
) -> Comparison:
    """`judged_again` by bodies."""
    views = [read(body, content_type, parts) for body in bodies]
    copy = None if latest is None else read(latest.body, latest.content_type or None, parts)
    return judged_again(before, compared, views, copy)


async def read_beside(beside: Beside, function: Callable[..., T], *arguments: object) -> T:
    """What a function makes of a body; `UnreadableError` if that takes more than 20 seconds."""
    try:
        return await beside.call(function, *arguments, within=_READ_WITHIN)
    except TimeoutError as error:
        raise UnreadableError(f"it cannot be read within {_READ_WITHIN:g} s") from error
