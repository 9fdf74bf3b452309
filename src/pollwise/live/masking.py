"""Requests for the masks of a page: what they mean for it, as it is in the store."""

from pollwise.errors import InputError
from pollwise.insight.difference import shown_text
from pollwise.insight.noise import set_masks
from pollwise.live.requests import Effect, MaskPart, UnmaskPart
from pollwise.sources.reading import LARGE, read
from pollwise.sources.recognition import recognised
from pollwise.sources.view import Parts, UnreadableError, View
from pollwise.store.base import StoreReader
from pollwise.store.place import Place, command
from pollwise.store.records import PageRecord
from pollwise.texts import printable
from pollwise.types import Mask, MaskState
from pollwise.web.change import fingerprint
from pollwise.web.noise.by_hand import MaskChange, find_text, masks_of
from pollwise.web.noise.masks import covered_blocks
from pollwise.web.noise.search import MOST_MASKS, leaves_words

__all__ = ["masked", "unmasked"]


def unmasked(db: Place, record: PageRecord, request: UnmaskPart) -> tuple[Effect, MaskChange]:
    """What it is for a page of `db` that masked parts count again.

    `InputError` if it has no such part.
    """
    url, number, text = request.url, request.number, request.text
    masks = set_masks(record.memory)
    if not masks:
        raise InputError(f"nothing of {url} is masked")
    shows = f"`{command(db, 'explain', url)}` shows them"
    if number is not None and not 1 <= number <= len(masks):
        raise InputError(f"{url} has no masked part {number}: expected 1 to {len(masks)}; {shows}")
    chosen = masks if number is None else [masks[number - 1]]
    if text is not None:
        chosen = [mask for mask in chosen if mask.sample == text]
        if not chosen:
            which = "no masked part" if number is None else f"another masked part {number}"
            raise InputError(f"{url} has {which} by now than {printable(text)!r}; {shows}")
    return _effect(url, chosen), MaskChange(record.page.id, ending=tuple(chosen))


def masked(store: StoreReader, record: PageRecord, request: MaskPart) -> tuple[Effect, MaskChange]:
    """What it is for a page that a part of its latest copy counts no more.

    `InputError` if no part has this text, or if it cannot be masked.
    """
    url, memory = request.url, record.memory
    view = _latest_view(store, record)
    blocks = view.blocks
    texts = [shown_text(block, view.kind) for block in blocks]
    places = find_text(request.text, texts)
    if not places:
        raise InputError(
            f"{url}: its latest copy has no part with the text {_shown(request.text)};"
            f" give one as `{command(store.path, 'diff', url)}` shows it; what a selector names is"
            f" left out by `{command(store.path, 'set', url, '--ignore', 'SELECTOR')}`"
        )
    held = [m for m in memory.noise.masks if m.state in (MaskState.SET, MaskState.ENDING)]
    known = [m for m in memory.noise.masks if m.state is not MaskState.REFUSED]
    wanted = {number for place in places for number in range(*place)}
    if wanted & covered_blocks(blocks, known):
        raise InputError(
            f"{url}: {_shown(request.text)} is masked already, at least in part:"
            f" `{command(store.path, 'explain', url)}` shows the masks"
        )
    new = masks_of(blocks, places)
    why = None
    if not new:
        why = "too much like the rest of the page to be found again"
    elif len(known) + len(new) > MOST_MASKS:
        why = f"more than the {MOST_MASKS} parts of a page that can be masked"
    elif not leaves_words(blocks, [*known, *new]):
        why = "all that the page says"
    if why is not None:
        raise InputError(
            f"{url}: {_shown(request.text)} cannot be masked, it is {why}; leave parts out by"
            f" `{command(store.path, 'set', url, '--ignore', 'SELECTOR')}`"
        )
    text_hash = fingerprint(view, held).text_hash
    masked_hash = fingerprint(view, [*held, *new]).text_hash
    change = MaskChange(record.page.id, new, text_hash=text_hash, masked_hash=masked_hash)
    return _effect(url, new), change


def _latest_view(store: StoreReader, record: PageRecord) -> View:
    """What a poll sees of the latest version; `InputError` if that cannot be masked."""
    url, versions = record.page.url, store.versions(record.page.id)
    if record.memory.text_hash is None or not versions:
        raise InputError(f"{url}: no copy is kept that has a part to mask: wait for a poll")
    latest = versions[-1]
    body, content_type = store.body(latest.body_hash), latest.content_type or None
    kind = recognised(body, content_type)
    if kind in ("feed", "sitemap", "pdf", "bytes") or latest.size > LARGE:
        what = "copies above 256 KiB are" if latest.size > LARGE else f"a copy read as {kind} is"
        sets = command(store.path, "set", url, "--ignore", "SELECTOR")
        raise InputError(f"{url}: {what} not masked by hand; `{sets}` leaves out")
    try:
        return read(body, content_type, Parts.of(record.page))
    except UnreadableError as error:
        raise InputError(f"{url}: its latest copy cannot be read: {error}") from error


def _shown(text: str) -> str:
    return repr(printable(text)[:60])


def _effect(url: str, masks: list[Mask] | tuple[Mask, ...]) -> Effect:
    return Effect(changed=(url,), parts=tuple(printable(mask.sample) for mask in masks))
