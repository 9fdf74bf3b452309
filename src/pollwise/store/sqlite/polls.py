"""Writing polls: what they told of their pages, and the versions that they brought."""

import sqlite3
from pathlib import Path

from pollwise.errors import InputError
from pollwise.store.records import PollResult
from pollwise.store.sqlite.bodies import pack_body
from pollwise.store.sqlite.queries import SQL
from pollwise.store.sqlite.rows import poll_values, storable
from pollwise.types import Outcome, Version

__all__ = ["save_poll"]

_KEPT_POLLS = 50
"""Polls of each page that are kept for explanations; the event log has them all."""

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
    if not connection.execute(SQL["count_poll"], values).rowcount:
        raise InputError(f"a poll of page {seen.page_id}, which {path} never had")
    if is_told and connection.execute(SQL["insert_change"], values).rowcount:
        connection.execute(SQL["drop_changes"], {"kept": _KEPT_CHANGES})
    connection.execute(SQL["update_polled_page"], values)
    connection.execute(SQL["insert_poll"], values)
    connection.execute(SQL["prune_polls"], {"page_id": seen.page_id, "kept": _KEPT_POLLS})
    if poll.version is not None:
        if poll.version.page_id != seen.page_id:
            raise InputError(
                f"a version of page {poll.version.page_id} in a poll of page {seen.page_id}"
            )
        _save_version(connection, poll.version)


def _save_version(connection: sqlite3.Connection, version: Version) -> None:
    values = {
        "page_id": version.page_id,
        "seen_at": version.seen_at,
        "content_type": storable(version.content_type),
        "body_hash": version.body_hash,
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
