"""Has a page changed? The cheapest test comes first.

1.  The server says so: 304 Not Modified (RFC 9110 section 15.4.5).
2.  The body is byte for byte the same: equal `body_hash`.
3.  The body is HTML and its visible text is the same: equal `text_hash`. Scripts, styles,
    templates, comments and attributes (nonces, session numbers, cache busters) do not count.
4.  What is left of the text without the noise of the page (`pollwise.web.noise`) is the same. Then
    `text_hash` is that of what is left, also of JSON, XML and plain text.

For everything that is not HTML (XHTML included: its tags nest by the rules of XML), for HTML
without visible text (a shell that scripts fill) and for HTML in an encoding that does not extend
ASCII, `text_hash` is the `body_hash`, so that test 3 equals test 2, unless something is masked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import xxhash

from pollwise.types import Mask, MaskState, PageMemory
from pollwise.web.noise.blocks import blocks_of, kind_of_body
from pollwise.web.noise.masks import mask_blocks
from pollwise.web.visible_text import visible_text

__all__ = [
    "Comparison",
    "Fingerprint",
    "compare",
    "fingerprint",
    "is_changed",
    "remembered",
    "unmodified",
    "visible_text",
]

_EARLIER_VERSIONS = 12
"""The versions of a page that are remembered: enough for A/B tests and for servers behind a load
balancer that disagree."""

# Polls in a row in which a masked part stayed the same.
_QUIET = 10


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Hexadecimal XXH3 hashes (128 bits) of a body and of its visible text without `masks`.

    `masks` are those given, as they found the page.
    """

    body_hash: str
    text_hash: str
    masks: tuple[Mask, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a fetched body is to the latest copy.

    `changed`: it differs, as the first one does. `reverted`: it is a version seen before.
    `memory` is what to remember of the page, but for the validators. `masked` are
    samples of what was found to be noise just now.
    """

    body_hash: str
    changed: bool
    reverted: bool
    memory: PageMemory
    masked: tuple[str, ...] = ()


def fingerprint(body: bytes, content_type: str | None, masks: Sequence[Mask] = ()) -> Fingerprint:
    """The hashes of a decompressed body; `content_type` is the header's value. Never raises."""
    body_hash = xxhash.xxh3_128_hexdigest(body)
    kind = kind_of_body(body, content_type)
    if masks and (blocks := blocks_of(body, content_type)):
        text, found = mask_blocks(blocks, masks)
        return Fingerprint(body_hash, xxhash.xxh3_128_hexdigest(text.encode()), found)
    text = visible_text(body) if kind == "html" else ""
    if not text:
        return Fingerprint(body_hash, body_hash, tuple(masks))
    return Fingerprint(body_hash, xxhash.xxh3_128_hexdigest(text.encode()), tuple(masks))


def is_changed(memory: PageMemory, found: Fingerprint) -> bool:
    """Whether a fetched body differs from the latest copy; without a copy it does."""
    return found.body_hash != memory.body_hash and found.text_hash != memory.text_hash


def compare(memory: PageMemory, body: bytes, content_type: str | None) -> Comparison:
    """A fetched body against the latest copy, both without the noise that is masked.

    A mask that was quiet for ten polls ends, as one does that was refused: what it covered counts
    from the next poll on, so that this alone is no change.
    """
    noise = memory.noise
    held = tuple(mask for mask in noise.masks if mask.state is not MaskState.REFUSED)
    refused = tuple(mask for mask in noise.masks if mask.state is MaskState.REFUSED)
    found = fingerprint(body, content_type, held)
    changed = is_changed(memory, found)
    going_on = tuple(
        mask for mask in found.masks if mask.state is MaskState.SET and mask.quiet < _QUIET
    )
    ended = [m for m in found.masks if m.state is MaskState.ENDING]
    if refused:  # they hide nothing, but keep their places
        refused = fingerprint(body, content_type, refused).masks
    refused += tuple(replace(mask, state=MaskState.REFUSED) for mask in ended)
    kept = found
    if len(going_on) < len(held):
        kept = fingerprint(body, content_type, going_on)
        kept = replace(kept, masks=going_on)
    # Of a first copy nothing is known of changes.
    counted = changed and memory.text_hash is not None
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
    )
