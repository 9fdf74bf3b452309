"""Masks that people set and end by hand.

A page may be polled while somebody changes its masks, so a change is a value that can be applied to
whatever is remembered of the page by then. A part that is masked by hand is masked as a whole, and
its mask does not end by itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pollwise.types import Mask, MaskState, PageMemory
from pollwise.web.noise.masks import covered, neighbours, place_of, sample_of

__all__ = ["MaskChange", "find_text", "masks_of"]

_MOST_BLOCKS = 40
"""Blocks under one mask."""
_ROOM = 80
"""Characters that a mask may cover in any case: a counter of one digit grows."""


@dataclass(frozen=True, slots=True)
class MaskChange:
    """Masks of a page that somebody sets and ends.

    `masked_hash` is the text hash of the copy with the hash `text_hash` under the `new` masks, too;
    None: that is not known. Of another copy the next poll finds it out: until then such a mask is
    BEGINNING.
    """

    page_id: int
    new: tuple[Mask, ...] = ()
    ending: tuple[Mask, ...] = ()
    text_hash: str | None = None
    masked_hash: str | None = None

    def applied(self, memory: PageMemory) -> PageMemory:
        """What to remember of the page from now on."""
        masks = list(memory.noise.masks)
        for mask in self.ending:
            number = _found(mask, masks)
            if number is not None and masks[number].state is MaskState.BEGINNING:
                del masks[number]
            elif number is not None:
                masks[number] = replace(masks[number], state=MaskState.ENDING)
        places = {place_of(mask) for mask in self.new}
        # Somebody has thought better of what was refused.
        masks = [m for m in masks if m.state is not MaskState.REFUSED or place_of(m) not in places]
        text_hash, state = memory.text_hash, MaskState.BEGINNING
        if self.new and self.masked_hash is not None and text_hash == self.text_hash:
            text_hash, state = self.masked_hash, MaskState.SET
        masks += [replace(mask, state=state) for mask in self.new]
        noise = replace(memory.noise, masks=tuple(masks))
        return replace(memory, text_hash=text_hash, noise=noise)


def _found(wanted: Mask, masks: Sequence[Mask]) -> int | None:
    """Which of the masks is the one that was meant, though polls may have moved or renewed it."""
    alike: tuple[Callable[[Mask], bool], ...] = (
        lambda mask: place_of(mask) == place_of(wanted) and mask.sample == wanted.sample,
        lambda mask: mask.sample == wanted.sample,
        lambda mask: place_of(mask) == place_of(wanted),
    )
    for is_alike in alike:
        for number, mask in enumerate(masks):
            if mask.state in (MaskState.SET, MaskState.BEGINNING) and is_alike(mask):
                return number
    return None


def find_text(text: str, texts: Sequence[str]) -> list[tuple[int, int]]:
    """Where one of some texts, or several in a row, say this but for white space.

    Each place is the first text and the one behind the last.

    >>> find_text("7 visitors", ["News", "7", "visitors", "Visitors"])
    [(1, 3)]
    """
    wanted = "".join(text.split())
    bare = ["".join(one.split()) for one in texts]
    places = []
    for begin in range(len(bare) if wanted else 0):
        rest = wanted
        for end in range(begin, min(begin + _MOST_BLOCKS, len(bare))):
            if not bare[end] or not rest.startswith(bare[end]):
                break
            rest = rest.removeprefix(bare[end])
            if not rest:
                places.append((begin, end + 1))
                break
    return [
        place for place, follower in pairwise([*places, (len(bare), 0)]) if place[1] <= follower[0]
    ]


def masks_of(blocks: Sequence[str], places: Sequence[tuple[int, int]]) -> tuple[Mask, ...]:
    """The masks that cover some places of a page, whatever stands there.

    Those that could not find their place again are left out.
    """
    masks = {}
    for begin, end in places:
        text = " ".join(blocks[begin:end])
        before, after = neighbours(blocks, begin, end)
        mask = Mask(
            before=before,
            after=after,
            shape="",
            least=end - begin,
            most=end - begin,
            room=max(2 * len(text), _ROOM),
            sample=sample_of(text),
            by_hand=True,
        )
        if (begin, end) in covered(blocks, [mask])[0]:
            masks[place_of(mask)] = mask
    return tuple(masks.values())
