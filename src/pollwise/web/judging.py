"""Is a change one that notices tell of? By the conditions of its page."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from pollwise.sources.conditions import alone, read_conditions
from pollwise.sources.legible import legible_view
from pollwise.sources.reading import read
from pollwise.sources.view import Parts, UnreadableError, View
from pollwise.store.records import FoundItem
from pollwise.types import Mask, Page
from pollwise.web.noise.looks import Copy
from pollwise.web.noise.masks import left_of

__all__ = ["Judgement", "counted", "judged"]


class Judgement(NamedTuple):
    """Whether a change is held back from notices, and its new items, which say so themselves."""

    held_back: bool
    items: tuple[FoundItem, ...]


def judged(
    page: Page,
    masks: Sequence[Mask],
    body: bytes,
    content_type: str | None,
    before: Copy | None,
    new: Sequence[FoundItem],
) -> Judgement:
    """Whether a change to this body meets a condition of its page, both without these masks.

    `before` is the latest version that was stored; what cannot be read of it was not there. Of a
    list the `new` items are judged, each by itself; of those that go by the same key, as they have
    no id, one that meets a condition is enough. `UnreadableError` for the body.
    """
    conditions, parts = read_conditions(page.notify_when, "notify-when"), Parts.of(page)
    now = counted(read(body, content_type, parts), masks)
    if now.items is not None:
        texts = ((item.found.key, alone(item, now)) for item in now.items)
        told = {key for key, text in texts if any(one.is_met(text, None) for one in conditions)}
        items = tuple(replace(item, held_back=item.key not in told) for item in new)
        return Judgement(all(item.held_back for item in items), items)
    earlier = None
    if before is not None:
        with suppress(UnreadableError):
            earlier = counted(read(before.body, before.content_type or None, parts), masks)
    return Judgement(not any(one.is_met(now, earlier) for one in conditions), tuple(new))


def counted(view: View, masks: Sequence[Mask]) -> View:
    """What people read in what a poll sees, without the noise that is masked."""
    return legible_view(replace(view, blocks=tuple(left_of(view.blocks, masks))) if masks else view)
