"""Is a change one that notices tell of? By the conditions of its page."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from pollwise.sources.conditions import alone, read_conditions
from pollwise.sources.reading import read
from pollwise.sources.view import Parts, UnreadableError, View
from pollwise.store.records import PollResult
from pollwise.types import Mask, Page
from pollwise.web.noise.looks import Copy
from pollwise.web.noise.masks import left_of

__all__ = ["counted", "judged"]


def judged(
    poll: PollResult, page: Page, body: bytes, content_type: str | None, before: Copy | None
) -> PollResult:
    """A poll that found a change by this body, held back if it meets no condition of its page.

    `before` is the latest version that was stored; what cannot be read of it was not there. Of a
    list the new items are judged, each by itself. `UnreadableError` for the body.
    """
    conditions = read_conditions(page.notify_when, "notify-when")
    parts, masks = Parts.of(page), poll.memory.noise.masks
    now = counted(read(body, content_type, parts), masks)
    if now.items is not None:
        texts = ((item.found.key, alone(item, now)) for item in now.items)
        held = {key for key, text in texts if not any(one.is_met(text, None) for one in conditions)}
        items = tuple(replace(item, held_back=item.key in held) for item in poll.items)
        return replace(poll, items=items, held_back=all(item.held_back for item in items))
    earlier = None
    if before is not None:
        with suppress(UnreadableError):
            earlier = counted(read(before.body, before.content_type or None, parts), masks)
    return replace(poll, held_back=not any(one.is_met(now, earlier) for one in conditions))


def counted(view: View, masks: Sequence[Mask]) -> View:
    """What a poll sees without the noise that is masked."""
    return replace(view, blocks=tuple(left_of(view.blocks, masks))) if masks else view
