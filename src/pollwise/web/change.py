"""Has a page changed? The cheapest test comes first.

1.  The server says so: 304 Not Modified (RFC 9110 section 15.4.5).
2.  The body is byte for byte the same: equal `body_hash`.
3.  What a poll sees of it (`pollwise.sources`) is the same: equal `text_hash`. Of HTML that is the
    visible text: scripts, styles, templates, comments and attributes (nonces, session numbers,
    cache busters) do not count. Of a page of which parts were selected, it is these.
4.  What is left of that without the noise of the page (`pollwise.web.noise`) is the same. Then
    `text_hash` is that of what is left, also of JSON, XML and plain text.

For everything else that is not HTML (XHTML included: its tags nest by the rules of XML), for HTML
without visible text (a shell that scripts fill) and for HTML in an encoding that does not extend
ASCII (but UTF-16 with its mark), `text_hash` is the `body_hash`, so that test 3 equals test 2,
unless something is masked.

A feed or a sitemap has changed if it has an item that was not seen before, or that says something
else now. Items that leave it are no change, nor are its title and the date of its making. If
something else is answered for a while, such as a login page, that is a change, and so is its end;
its items stay known, so that the new ones among those that come back are told.

If other parts are selected than for the latest copy, nothing is known of changes: the poll finds
none, and the next one compares with it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import xxhash

from pollwise.sources.view import WHOLE, ListedItem, Parts, View
from pollwise.store.records import FoundItem
from pollwise.types import Mask, MaskState, PageMemory
from pollwise.web.noise.masks import digest, mask_blocks
from pollwise.web.noise.tokens import shape_of

__all__ = [
    "Comparison",
    "Fingerprint",
    "compare",
    "fingerprint",
    "is_changed",
    "is_same",
    "remembered",
    "unmodified",
]

_BYTE_ORDER_MARK = "\ufeff"
_EARLIER_VERSIONS = 12
"""The versions of a page that are remembered: enough for A/B tests and for servers behind a load
balancer that disagree."""

_MOST_ITEMS_GONE = 1_000
"""Items that left a list and are remembered: some lists drop items and bring them back."""

# Polls in a row in which a masked part stayed the same.
_QUIET = 10


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Hexadecimal XXH3 hashes (128 bits) of a body and of what a poll sees of it without `masks`.

    `text_hash` ends with the mark of the parts that were selected, if any were. `masks` are those
    given, as they found the page.
    """

    body_hash: str
    text_hash: str
    masks: tuple[Mask, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a fetched body is to the latest copy.

    `changed`: it differs, as the first one does. `reverted`: it is a version seen before.
    `memory` is what to remember of the page, but for the validators. `masked` are
    samples of what was found to be noise just now. `items` are the new ones of a list (None: it is
    none, or nothing is known of what it had before), `changed_at` is the latest time that an item
    tells which is new or says something else now.
    """

    body_hash: str
    changed: bool
    reverted: bool
    memory: PageMemory
    masked: tuple[str, ...] = ()
    items: tuple[FoundItem, ...] | None = None
    changed_at: float | None = None


def fingerprint(view: View, masks: Sequence[Mask] = ()) -> Fingerprint:
    """The hashes of what a poll sees; those of a list are of its items."""
    body_hash, found = view.body_hash, tuple(masks)
    if view.items is not None:
        text = " ".join(_hashes(view.items))
    elif masks and view.blocks:
        text, found = mask_blocks(view.blocks, masks)
    elif view.exact or not view.blocks:
        return Fingerprint(body_hash, (view.unmarked_hash or body_hash) + view.mark, found)
    else:
        text = " ".join(view.blocks)
    text_hash = xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass"))
    return Fingerprint(body_hash, text_hash + view.mark, found)


def is_same(memory: PageMemory, body: bytes, parts: Parts = WHOLE) -> bool:
    """Whether a body need not be read: byte for byte it is the latest copy, without masks."""
    return (
        memory.body_hash == xxhash.xxh3_128_hexdigest(body)
        and not memory.noise.masks
        and _mark_of(memory) == parts.mark
    )


def same(memory: PageMemory, body_hash: str) -> Comparison:
    """What the latest copy is to itself."""
    memory = replace(unmodified(memory), etag=None, last_modified=None)
    return Comparison(body_hash, False, False, memory, items=() if memory.items else None)


def is_changed(memory: PageMemory, found: Fingerprint) -> bool:
    """Whether a fetched body differs from the latest copy; without a copy it does."""
    return found.body_hash != memory.body_hash and found.text_hash != memory.text_hash


def compare(memory: PageMemory, view: View) -> Comparison:
    """What a poll sees against the latest copy, both without the noise that is masked.

    A mask that was quiet for ten polls ends, as one does that was refused: what it covered counts
    from the next poll on, so that this alone is no change. So one begins that somebody asked for.
    """
    if memory.text_hash is not None and _mark_of(memory) != view.mark:
        return _begun_again(memory, view)
    if view.items is not None:
        return _compare_list(memory, view, view.items)
    noise = memory.noise
    held = tuple(m for m in noise.masks if m.state in (MaskState.SET, MaskState.ENDING))
    beginning = tuple(
        replace(mask, state=MaskState.SET)
        for mask in noise.masks
        if mask.state is MaskState.BEGINNING
    )
    refused = tuple(mask for mask in noise.masks if mask.state is MaskState.REFUSED)
    found = fingerprint(view, held)
    is_first = memory.text_hash is None  # which differs from nothing, however it begins
    changed = is_changed(memory, found) and (
        is_first
        or not view.blocks
        or all(is_changed(memory, fingerprint(other, held)) for other in _mark_flipped(view))
    )
    going_on = tuple(
        mask
        for mask in found.masks
        if mask.state is MaskState.SET and (mask.by_hand or mask.quiet < _QUIET)
    )
    ended = [m for m in found.masks if m.state is MaskState.ENDING]
    if refused:  # they hide nothing, but keep their places
        refused = fingerprint(view, refused).masks
    refused += tuple(replace(mask, state=MaskState.REFUSED) for mask in ended)
    kept = found
    going_on += beginning
    if beginning or len(going_on) < len(held):
        kept = fingerprint(view, going_on)
        kept = replace(kept, masks=going_on)
    # Of a first copy nothing is known of changes.
    counted = changed and not is_first
    noise = replace(
        noise,
        masks=going_on + refused,
        changes_in_a_row=noise.changes_in_a_row + 1 if counted else 0,
        since_look=noise.since_look + counted,
    )
    if not changed:
        # The same text, perhaps by fewer masks: no earlier version.
        memory = replace(memory, text_hash=kept.text_hash)
    return Comparison(
        found.body_hash,
        changed,
        found.text_hash in memory.earlier_hashes,
        replace(remembered(memory, kept), noise=noise),
    )


def _mark_flipped(view: View) -> Iterable[View]:
    """What would be seen if the body began without its byte order mark, or with one it has not.

    Nobody sees that mark; the hashes of pages that have one are made with it. It is a block of its
    own before a tag, and belongs to the first one before text.
    """
    first, *others = view.blocks
    if first.startswith(_BYTE_ORDER_MARK):
        rest = first.removeprefix(_BYTE_ORDER_MARK)
        yield replace(view, blocks=(rest, *others) if rest else tuple(others))
        return
    yield replace(view, blocks=(_BYTE_ORDER_MARK, *view.blocks))
    yield replace(view, blocks=(_BYTE_ORDER_MARK + first, *others))


def _begun_again(memory: PageMemory, view: View) -> Comparison:
    """What is seen by other parts than the latest copy: no change, and what was known is void."""
    fresh = compare(PageMemory(), view)
    return replace(fresh, changed=False)


def _mark_of(memory: PageMemory) -> str:
    """The mark of the parts that the latest copy was read by."""
    return (memory.text_hash or "")[_TEXT_HASH:]


_TEXT_HASH = 32
"""Characters of a `text_hash` without the mark."""


def _compare_list(memory: PageMemory, view: View, listed: Sequence[ListedItem]) -> Comparison:
    """A feed or a sitemap against all items that were seen of it."""
    found = fingerprint(view)
    items = dict(zip(_hashes(listed), listed, strict=True))
    known = set(memory.items)
    kept = replace(
        remembered(memory, found), earlier_hashes=(), items=_items_seen(memory.items, items)
    )
    if not (known or _EMPTY + view.mark in (memory.text_hash, *memory.earlier_hashes)):
        # The first copy, or one that was no list, as earlier versions read none: it begins anew.
        return Comparison(view.body_hash, memory.text_hash is None, False, kept)
    is_back = bool(memory.earlier_hashes)  # which a copy that is a list has not
    other = {own: item for own, item in items.items() if own not in known}
    seen = {own[:_IDENTITY] for own in known}
    new = tuple(item.found for own, item in other.items() if own[:_IDENTITY] not in seen)
    times = (item.found.published_at for item in other.values())
    return Comparison(
        view.body_hash,
        is_back or bool(other),
        is_back and not other,
        kept,
        items=new,
        changed_at=max((time for time in times if time is not None), default=None),
    )


def _items_seen(before: Sequence[str], now: Iterable[str]) -> tuple[str, ...]:
    listed = dict.fromkeys(now)
    gone = [own for own in before if own not in listed]
    stayed = [own for own in before if own in listed]
    new = listed.keys() - set(stayed)
    return (*gone[-_MOST_ITEMS_GONE:], *stayed, *(own for own in listed if own in new))


_IDENTITY = 8
"""The digits of an item's hash that tell which one it is; the others tell what it says."""

_EMPTY = xxhash.xxh3_128_hexdigest(b"")
"""The `text_hash` of a list without items."""


def _hashes(items: Sequence[ListedItem]) -> list[str]:
    """64 bits of each item, hexadecimal. Numbers and dates in its text may differ: many count."""
    return [
        digest(item.identity)[:_IDENTITY]
        + digest(f"{item.found.title}\n{shape_of(item.text)}")[_IDENTITY:]
        for item in items
    ]


def unmodified(memory: PageMemory) -> PageMemory:
    """What to remember of a page whose server says that it is as it was."""
    noise = memory.noise
    if not (noise.masks or noise.changes_in_a_row):
        return memory
    quiet = tuple(replace(mask, quiet=mask.quiet + 1) for mask in noise.masks)
    return replace(memory, noise=replace(noise, masks=quiet, changes_in_a_row=0))


def remembered(memory: PageMemory, found: Fingerprint) -> PageMemory:
    """What to remember of a page once the body found is its latest copy, without validators.

    The page changed back to a version seen before exactly if the `text_hash` found is among
    `memory.earlier_hashes`. The copy before joins the earlier hashes.
    """
    seen = [*memory.earlier_hashes, *([memory.text_hash] if memory.text_hash else [])]
    earlier = [text_hash for text_hash in seen if text_hash != found.text_hash]
    return PageMemory(
        body_hash=found.body_hash,
        text_hash=found.text_hash,
        earlier_hashes=tuple(earlier[-_EARLIER_VERSIONS:]),
        items=memory.items,
        told_number=memory.told_number,
    )
