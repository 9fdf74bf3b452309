"""Writing polls: what they told of their pages, and the versions that they brought."""

import itertools
import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pollwise.errors import InputError
from pollwise.store.records import ChangeKind, PollResult
from pollwise.store.retention import KEPT_POLLS
from pollwise.store.sqlite.bodies import pack_body, pack_head
from pollwise.store.sqlite.collection import settle
from pollwise.store.sqlite.noise import pack_noise
from pollwise.store.sqlite.queries import SQL
from pollwise.store.sqlite.rows import poll_values, storable
from pollwise.types import Outcome, PageMemory, Version

__all__ = ["save_masks", "save_poll", "save_polls"]

_TOLD = (
    "page_id", "polled_at", "outcome", "last_changed_at", "n_items", "cost", "reverted",
    "etag", "last_modified", "body_hash", "text_hash", "earlier_hashes", "noise", "items",
    "title", "source",
)  # fmt: skip
_MOST_TOLD = 32
"""Polls that one statement puts into `told_polls`: some systems allow it 999 values."""
_KEPT_CHANGES = 200_000
"""Of all pages together: about 30 megabytes."""


def save_poll(
    connection: sqlite3.Connection, path: Path, poll: PollResult, *, is_told: bool = True
) -> None:
    """Write a poll, within a transaction; of one that was postponed only when and why.

    Unless it `is_told`, a change that it found is not noted among the changes.

    `InputError` for a page that the database at `path` never had, and for another page's version.
    """
    seen = poll.observation
    values = poll_values(poll)
    if seen.outcome is Outcome.POSTPONED:
        connection.execute(SQL["note_postponed"], values)
        return
    # Before the row of the page tells of this poll.
    if is_told and _note_change(connection, poll, values):
        connection.execute(SQL["drop_changes"], {"kept": _KEPT_CHANGES})
    counted = connection.execute(SQL["update_polled_page"], values).fetchone()
    if counted is None and not connection.execute(SQL["count_poll"], values).rowcount:
        raise InputError(f"a poll of page {seen.page_id}, which {path} never had")
    connection.execute(SQL["insert_poll"], values)
    if counted is None or counted[0] > KEPT_POLLS:
        connection.execute(SQL["prune_polls"], {"page_id": seen.page_id, "kept": KEPT_POLLS})
    if poll.version is not None:
        if poll.version.page_id != seen.page_id:
            raise InputError(
                f"a version of page {poll.version.page_id} in a poll of page {seen.page_id}"
            )
        _save_version(connection, poll.version)


def _note_change(
    connection: sqlite3.Connection, poll: PollResult, values: dict[str, object]
) -> bool:
    """Note what happened to a page, if anything did; whether it did.

    A page may be back and changed, which is one change.
    """
    outcome = poll.observation.outcome
    if outcome is Outcome.FAILED:
        return False
    if outcome is Outcome.GONE:
        gone = {**values, "status": poll.status}
        return bool(connection.execute(SQL["insert_gone"], gone).rowcount)
    back = ChangeKind.BACK_CHANGED if outcome is Outcome.CHANGED else ChangeKind.BACK
    found = {**values, "back": int(back)}
    return bool(connection.execute(SQL["insert_change"], found).rowcount)


def save_polls(connection: sqlite3.Connection, path: Path, polls: Sequence[PollResult]) -> None:
    """Write polls, within a transaction, and bring the full-text index up to date.

    Most found nothing new: these are written together. Each statement lets other threads go on
    meanwhile, and then has to wait for them. Errors as for `save_poll`.
    """
    times = Counter(poll.observation.page_id for poll in polls)
    plain = [_is_plain(poll) and times[poll.observation.page_id] == 1 for poll in polls]
    together = [poll for poll, is_plain in zip(polls, plain, strict=True) if is_plain]
    alone = _tell(connection, together) if together else set()
    for poll, is_plain in zip(polls, plain, strict=True):
        if not is_plain or poll.observation.page_id in alone:
            save_poll(connection, path, poll)
    if len(together) > len(alone):
        connection.execute(SQL["update_unchanged_pages"])
        connection.execute(SQL["insert_unchanged_polls"])
        connection.execute(SQL["prune_polls_of_pages"], {"kept": KEPT_POLLS})
    page_ids = json.dumps(sorted(times))
    for (page_id,) in connection.execute(SQL["unsettled"], {"page_ids": page_ids}).fetchall():
        settle(connection, path, page_id)


def _is_plain(poll: PollResult) -> bool:
    """Whether a poll found its page unchanged, and nothing else is to be told."""
    is_unchanged = poll.observation.outcome is Outcome.UNCHANGED
    return is_unchanged and poll.version is None and poll.error is None


def _tell(connection: sqlite3.Connection, polls: Sequence[PollResult]) -> set[int]:
    """Put plain polls into the table `told_polls`, but for those that are to be saved alone; the
    pages of these. They are not newer than what their pages tell, or these were gone.
    """
    connection.execute(SQL["make_told_polls"])
    connection.execute(SQL["forget_told_polls"])
    head, values, row = SQL["tell_poll"].rstrip(";").partition("VALUES ")
    begin = 0
    while begin < len(polls):
        # Powers of two, as a statement of each length has to be prepared once.
        count = min(1 << (len(polls) - begin).bit_length() - 1, _MOST_TOLD)
        told = map(_told, polls[begin : begin + count])
        statement = f"{head}{values}{', '.join([row] * count)}"
        connection.execute(statement, tuple(itertools.chain.from_iterable(told)))
        begin += count
    return {page_id for (page_id,) in connection.execute(SQL["take_out_told_polls"])}


def _told(poll: PollResult) -> tuple[object, ...]:
    """The columns of `told_polls`."""
    values = poll_values(poll)
    return tuple(values[name] for name in _TOLD)


def save_masks(connection: sqlite3.Connection, page_id: int, memory: PageMemory) -> None:
    """Write what is known of a page's noise, and its text without it, within a transaction."""
    noise = pack_noise(memory.noise)
    values = {"page_id": page_id, "noise": noise, "text_hash": memory.text_hash}
    connection.execute(SQL["save_masks"], values)


def _save_version(connection: sqlite3.Connection, version: Version) -> None:
    values = {
        "page_id": version.page_id,
        "seen_at": version.seen_at,
        "content_type": storable(version.content_type),
        "body_hash": version.body_hash,
        "head": pack_head(version.head),
    }
    if not connection.execute(SQL["insert_version"], values).rowcount:
        return
    connection.execute(SQL["note_first_version"], values)
    if connection.execute(SQL["content_exists"], {"hash": version.body_hash}).fetchone() is None:
        codec, data = pack_body(version.body)
        connection.execute(
            SQL["insert_content"],
            {"hash": version.body_hash, "codec": codec, "size": len(version.body), "data": data},
        )
        connection.execute(SQL["add_body_bytes"], {"bytes": len(data)})
