"""Is a change one that notices tell of? By the conditions of its page.

Steps (`falls by 5 %`) are measured from the number that was told last: that of the latest change
that was not held back, if it said another number than the copy before, or met a condition on steps.
Until one was told it is that of the first copy. Where the copy before a change says another number
than it did when it came, something else happened in between: other parts of the page count, noise
was masked, there were no such conditions, or a change could not be judged in time. Then steps are
measured from that copy.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from pollwise.sources.conditions import alone, number_of, read_conditions
from pollwise.sources.legible import legible_view
from pollwise.sources.reading import read
from pollwise.sources.view import Parts, UnreadableError, View
from pollwise.store.records import FoundItem
from pollwise.types import Mask, NumberTold, Page
from pollwise.web.noise.looks import Copy
from pollwise.web.noise.masks import left_of

__all__ = ["Judgement", "counted", "judged"]


class Judgement(NamedTuple):
    """Whether a change is held back from notices, its new items, which say so themselves, and from
    which number steps are measured after it (None: there is no number, or no such condition)."""

    held_back: bool
    items: tuple[FoundItem, ...]
    told_number: NumberTold | None = None


def judged(
    page: Page,
    masks: Sequence[Mask],
    body: bytes,
    content_type: str | None,
    before: Copy | None,
    new: Sequence[FoundItem],
    told_number: NumberTold | None = None,
) -> Judgement:
    """Whether a change to this body meets a condition of its page, both without these masks.

    `before` is the latest version that was stored; what cannot be read of it was not there. Of a
    list the `new` items are judged, each by itself; of those that go by the same key, as they have
    no id, one that meets a condition is enough. `told_number` is that of the change before.
    `UnreadableError` for the body.
    """
    conditions, parts = read_conditions(page.notify_when, "notify-when"), Parts.of(page)
    now = counted(read(body, content_type, parts), masks)
    if now.items is not None:
        texts = ((item.found.key, alone(item, now)) for item in now.items)
        wanted = {key for key, text in texts if any(one.is_met(text, None) for one in conditions)}
        items = tuple(replace(item, held_back=item.key not in wanted) for item in new)
        return Judgement(all(item.held_back for item in items), items)
    earlier = None
    if before is not None:
        with suppress(UnreadableError):
            earlier = counted(read(before.body, before.content_type or None, parts), masks)
    if not any(one.is_of_steps for one in conditions):
        return Judgement(not any(one.is_met(now, earlier) for one in conditions), tuple(new))
    number, number_before = number_of(now), None if earlier is None else number_of(earlier)
    last = _measured_from(told_number, number_before)
    met = [one for one in conditions if one.is_met(now, earlier, last)]
    is_shown = bool(met) and number != number_before
    if number is not None and (last is None or is_shown or any(one.is_of_steps for one in met)):
        last = number
    return Judgement(not met, tuple(new), None if last is None else NumberTold(last, number))


def _measured_from(told: NumberTold | None, before: Decimal | None) -> Decimal | None:
    """The number from which the step of a change is measured, with that of the copy before it."""
    if told is None:
        return before
    return told.told if before is None or before == told.latest else before


def counted(view: View, masks: Sequence[Mask]) -> View:
    """What people read in what a poll sees, without the noise that is masked."""
    return legible_view(replace(view, blocks=tuple(left_of(view.blocks, masks))) if masks else view)
