"""Writing polls: what they told of their pages, and the versions that they brought."""

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pollwise.errors import InputError
from pollwise.store.records import PollResult
from pollwise.store.retention import KEPT_POLLS
from pollwise.store.sqlite.bodies import pack_body, pack_head
from pollwise.store.sqlite.collection import settle
from pollwise.store.sqlite.noise import pack_noise
from pollwise.store.sqlite.queries import SQL
from pollwise.store.sqlite.rows import poll_values, storable
from pollwise.types import Outcome, PageMemory, Version

__all__ = ["save_masks", "save_poll", "save_polls"]

_UNIT = float(2**22)
"""Parts of a second: between 2004 and 2038 every float is a whole number of them."""
_LARGEST = 2.0**53
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
    changed = seen.outcome is Outcome.CHANGED
    # Before the row of the page tells of this poll.
    if is_told and changed and connection.execute(SQL["insert_change"], values).rowcount:
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


def save_polls(connection: sqlite3.Connection, path: Path, polls: Sequence[PollResult]) -> None:
    """Write polls, within a transaction, and bring the full-text index up to date.

    Most found nothing new: these are written together. Each statement lets other threads go on
    meanwhile, and then has to wait for them. Errors as for `save_poll`.
    """
    times = Counter(poll.observation.page_id for poll in polls)
    rows = [_unchanged_row(poll) if times[poll.observation.page_id] == 1 else "" for poll in polls]
    told = {"polls": f"[{','.join(filter(None, rows))}]", "unit": _UNIT}
    newer = connection.execute(SQL["count_newer_polls"], told).fetchone()[0]
    are_together = newer == len(rows) - rows.count("")
    for poll, row in zip(polls, rows, strict=True):
        if not (row and are_together):
            save_poll(connection, path, poll)
    if are_together and newer:
        connection.execute(SQL["update_unchanged_pages"], told)
        connection.execute(SQL["insert_unchanged_polls"], told)
        kept = {"polls": told["polls"], "kept": KEPT_POLLS}
        connection.execute(SQL["prune_polls_of_pages"], kept)
    page_ids = json.dumps(sorted(times))
    for (page_id,) in connection.execute(SQL["unsettled"], {"page_ids": page_ids}).fetchall():
        settle(connection, path, page_id)


def _unchanged_row(poll: PollResult) -> str:
    """A poll that found its page unchanged, as JSON for the statements; empty: not that simple.

    SQLite reads decimal fractions a little differently from Python, so times and costs are counted
    in units of a power of two. Those that are no whole number of them are not that simple.
    """
    seen = poll.observation
    if seen.outcome is not Outcome.UNCHANGED or poll.version is not None or poll.error is not None:
        return ""
    values = poll_values(poll)
    for name in ("polled_at", "last_changed_at", "cost"):
        number = getattr(seen, name)
        if number is None:
            continue
        counted = number * _UNIT
        if not (counted.is_integer() and abs(counted) < _LARGEST):
            return ""
        values[name] = int(counted)
    try:
        text = json.dumps(values, ensure_ascii=False)
    except TypeError:  # bytes: text that is not UTF-8
        return ""
    return "" if "\\u0000" in text else text


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
