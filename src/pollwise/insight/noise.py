"""What is known of the noise of a page: the parts that are masked."""

from collections.abc import Sequence
from dataclasses import dataclass

from pollwise.types import Mask, MaskState, PageMemory

__all__ = ["MaskedPart", "masked_part", "masked_parts", "set_masks"]

_SET = (MaskState.SET, MaskState.BEGINNING)


@dataclass(frozen=True, slots=True)
class MaskedPart:
    """A part of a page that counts for no change.

    `number` is by what it is unmasked, from 1; None: it has been, and this ends with the next poll,
    or it is not masked yet.
    `text` is what stood there when it was found. `whole`: whatever stands there does not count;
    else only the numbers, dates and the like that differed do not. `quiet_polls` have found it the
    same, in a row. Somebody masked it `by_hand`: that does not end by itself.
    """

    number: int | None
    text: str
    whole: bool
    quiet_polls: int
    by_hand: bool = False


def set_masks(memory: PageMemory) -> list[Mask]:
    """The masks of a page by their numbers, from 1."""
    return [mask for mask in memory.noise.masks if mask.state in _SET]


def masked_parts(masks: Sequence[Mask]) -> tuple[MaskedPart, ...]:
    """The parts of a page under its masks, those that are unmasked last."""
    set_now = [mask for mask in masks if mask.state in _SET]
    ending = [mask for mask in masks if mask.state is MaskState.ENDING]
    numbers = [*range(1, len(set_now) + 1), *(None for _ in ending)]
    return tuple(map(masked_part, numbers, [*set_now, *ending]))


def masked_part(number: int | None, mask: Mask) -> MaskedPart:
    """The part under one mask, with its number if it has one."""
    return MaskedPart(number, mask.sample, not mask.shape, mask.quiet, mask.by_hand)
