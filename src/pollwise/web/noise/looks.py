"""A look for noise: what a poll that found a change makes of further fetches of its page.

A change may be nothing but noise, so now and then a poll that found one fetches its page again,
after the crawl delay of the host, and if that differs a third time. What then proves to be noise is
masked at once, in the latest copy too: the poll found a change only if the rest differs. Pages that
do not change are fetched no more often than before.

A clock that stands still between these fetches, as one of minutes mostly does, is not found: by the
polls alone it looks like the time of an update, and news must not be hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pollwise.sources.view import View
from pollwise.types import MaskState, PageMemory
from pollwise.web.change import Comparison, fingerprint, remembered
from pollwise.web.noise.masks import covered
from pollwise.web.noise.search import find_noise

__all__ = ["Copy", "found_nothing", "is_due", "judged_again", "says_the_same"]

_LONGEST_GAP = 64
"""Changes from one look to the next, at most."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A body that was fetched, with its Content-Type (empty: it had none)."""

    body: bytes
    content_type: str


def is_due(compared: Comparison) -> bool:
    """Whether the page is to be looked at for noise, after what a poll has found.

    That is so at the first change, then after 1, 2, 4 ... 64 changes more; sooner while noise is
    found.
    """
    noise = compared.memory.noise
    return compared.changed and noise.since_look >= noise.gap


def found_nothing(compared: Comparison) -> Comparison:
    """What a poll found, after a look that found no noise or could not be had."""
    noise = compared.memory.noise
    noise = replace(noise, since_look=0, gap=min(2 * noise.gap, _LONGEST_GAP))
    return replace(compared, memory=replace(compared.memory, noise=noise))


def says_the_same(memory: PageMemory, first: View, again: View) -> bool:
    """Whether two fetches of a page are the same without its noise."""
    held = [mask for mask in memory.noise.masks if mask.state is MaskState.SET]
    one, other = (fingerprint(each, held) for each in (first, again))
    return one.text_hash == other.text_hash


def judged_again(
    before: PageMemory,
    compared: Comparison,
    views: Sequence[View],
    latest: View | None,
) -> Comparison:
    """What a poll found by three fetches in a row.

    `before` is what was known before the poll, `compared` what its first view was to the latest
    copy. `latest` is the latest version that was stored; if that is not the latest copy before the
    poll, its change is believed.
    """
    noise = compared.memory.noise
    pages = [view.blocks for view in views]
    refused = tuple(mask for mask in noise.masks if mask.state is MaskState.REFUSED)
    held = tuple(
        mask
        for mask, places in zip(noise.masks, covered(pages[-1], noise.masks), strict=True)
        # One that has lost its place is found anew.
        if (places or mask.by_hand) and mask.state is MaskState.SET
    )
    known = held + refused
    new = find_noise(pages, known)
    if not new:
        return found_nothing(compared)
    found = fingerprint(views[0], held + new)
    noise = replace(noise, masks=found.masks + refused, since_look=0)
    told = tuple(mask.sample for mask in new)
    if (
        latest is None
        or not _is_latest(before, latest)
        or fingerprint(latest, found.masks).text_hash != found.text_hash
    ):
        memory = remembered(before, found)
        reverted = found.text_hash in before.earlier_hashes
        return Comparison(found.body_hash, True, reverted, replace(memory, noise=noise), told)
    memory = remembered(replace(before, text_hash=found.text_hash), found)
    noise = replace(noise, changes_in_a_row=0)
    return Comparison(found.body_hash, False, False, replace(memory, noise=noise), told)


def _is_latest(memory: PageMemory, view: View) -> bool:
    """Whether a body says what the latest copy does, which need not be the same bytes."""
    held = [m for m in memory.noise.masks if m.state in (MaskState.SET, MaskState.ENDING)]
    return memory.text_hash == fingerprint(view, held).text_hash
