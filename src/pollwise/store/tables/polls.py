"""Writing polls: what they told of their pages, and the versions that they brought."""

from collections import Counter
from collections.abc import Sequence

from pollwise.errors import InputError
from pollwise.store.place import Place
from pollwise.store.records import ChangeKind, PollResult
from pollwise.store.retention import KEPT_POLLS
from pollwise.store.tables.bodies import pack_body, pack_head
from pollwise.store.tables.connection import Writer
from pollwise.store.tables.noise import pack_noise
from pollwise.store.tables.rows import poll_values, told_values
from pollwise.types import Outcome, PageMemory, Version

__all__ = ["save_masks", "save_poll", "save_polls"]

_KEPT_CHANGES = 200_000
"""Of all pages together: about 30 megabytes."""


def save_poll(writer: Writer, path: Place, poll: PollResult, *, is_told: bool = True) -> None:
    """Write a poll, within a transaction; of one that was postponed only when and why.

    Unless it `is_told`, a change that it found is not noted among the changes.

    `InputError` for a page that the database at `path` never had, and for another page's version.
    """
    seen = poll.observation
    values = poll_values(poll, writer.storable)
    if seen.outcome is Outcome.POSTPONED:
        writer.execute("note_postponed", values)
        return
    # Before the row of the page tells of this poll.
    if is_told and _note_change(writer, poll, values):
        writer.execute("drop_changes", {"kept": _KEPT_CHANGES})
    counted = writer.execute("update_polled_page", values).fetchone()
    if counted is None and not writer.execute("count_poll", values).rowcount:
        raise InputError(f"a poll of page {seen.page_id}, which {path} never had")
    writer.execute("insert_poll", values)
    if counted is None or counted[0] > KEPT_POLLS:
        writer.execute("prune_polls", {"page_id": seen.page_id, "kept": KEPT_POLLS})
    if poll.version is not None:
        if poll.version.page_id != seen.page_id:
            raise InputError(
                f"a version of page {poll.version.page_id} in a poll of page {seen.page_id}"
            )
        _save_version(writer, poll.version)


def _note_change(writer: Writer, poll: PollResult, values: dict[str, object]) -> bool:
    """Note what happened to a page, if anything did; whether it did.

    A page may be back and changed, which is one change.
    """
    outcome = poll.observation.outcome
    if outcome is Outcome.FAILED:
        return False
    if outcome is Outcome.GONE:
        gone = {**values, "status": poll.status}
        return bool(writer.execute("insert_gone", gone).rowcount)
    back = ChangeKind.BACK_CHANGED if outcome is Outcome.CHANGED else ChangeKind.BACK
    found = {**values, "back": int(back)}
    return bool(writer.execute("insert_change", found).rowcount)


def save_polls(writer: Writer, path: Place, polls: Sequence[PollResult]) -> None:
    """Write polls, within a transaction.

    Most found nothing new: these are written together. Each statement lets other threads go on
    meanwhile, and then has to wait for them. Errors as for `save_poll`.
    """
    times = Counter(poll.observation.page_id for poll in polls)
    plain = [_is_plain(poll) and times[poll.observation.page_id] == 1 for poll in polls]
    together = [poll for poll, is_plain in zip(polls, plain, strict=True) if is_plain]
    alone = _tell(writer, together) if together else set()
    for poll, is_plain in zip(polls, plain, strict=True):
        if not is_plain or poll.observation.page_id in alone:
            save_poll(writer, path, poll)
    if len(together) > len(alone):
        writer.execute("update_unchanged_pages")
        writer.execute("insert_unchanged_polls")
        writer.execute("prune_polls_of_pages", {"kept": KEPT_POLLS})


def _is_plain(poll: PollResult) -> bool:
    """Whether a poll found its page unchanged, and nothing else is to be told."""
    is_unchanged = poll.observation.outcome is Outcome.UNCHANGED
    return is_unchanged and poll.version is None and poll.error is None


def _tell(writer: Writer, polls: Sequence[PollResult]) -> set[int]:
    """Put plain polls into the table `told_polls`, but for those that are to be saved alone; the
    pages of these. They are not newer than what their pages tell, or these were gone.
    """
    writer.execute("make_told_polls")
    writer.execute("forget_told_polls")
    writer.insert("tell_polls", [told_values(poll, writer.storable) for poll in polls])
    return {page_id for (page_id,) in writer.execute("take_out_told_polls").fetchall()}


def save_masks(writer: Writer, page_id: int, memory: PageMemory) -> None:
    """Write what is known of a page's noise, and its text without it, within a transaction."""
    noise = pack_noise(memory.noise)
    values = {"page_id": page_id, "noise": noise, "text_hash": memory.text_hash}
    writer.execute("save_masks", values)


def _save_version(writer: Writer, version: Version) -> None:
    values = {
        "page_id": version.page_id,
        "seen_at": version.seen_at,
        "content_type": writer.storable(version.content_type),
        "body_hash": version.body_hash,
        "head": pack_head(version.head),
    }
    if not writer.execute("insert_version", values).rowcount:
        return
    writer.execute("note_first_version", values)
    if writer.execute("content_exists", {"hash": version.body_hash}).fetchone() is None:
        codec, data = pack_body(version.body)
        writer.execute(
            "insert_content",
            {"hash": version.body_hash, "codec": codec, "size": len(version.body), "data": data},
        )
        writer.execute("add_body_bytes", {"bytes": len(data)})
