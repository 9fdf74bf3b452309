"""Sessions of a PostgreSQL database: opened, checked, and the one of the only writer."""

import os
import secrets
import socket
import time
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from pollwise.errors import StoreBusyError, StoreError, StoreInUseError, StoreVersionError
from pollwise.store.place import PostgresDatabase, command
from pollwise.store.postgres.connection import PostgresWriter, Session
from pollwise.store.postgres.failures import damaged, reported, unreachable
from pollwise.store.postgres.queries import migrations

__all__ = [
    "WriterName",
    "holds_store",
    "ledger_session",
    "looked_at",
    "opened_session",
    "reading_session",
    "requesting_session",
    "session_terms",
    "writer_of",
    "writing_session",
]

_OLDEST_SERVER = 130_000
_SETTINGS = b"""
SET tcp_keepalives_idle = 5;
SET tcp_keepalives_interval = 3;
SET tcp_keepalives_count = 2;
SET tcp_user_timeout = 11000;
SET lock_timeout = '10s';
SET statement_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_min_messages = warning;
SET jit = off;
"""
_LEDGER_SETTINGS = b"SET idle_in_transaction_session_timeout = '5s'"
"""Less than the lock timeout of the others, whom a process that sleeps would hold up."""
_ENDINGS = (0.05, 0.1, 0.2, 0.4)
"""Seconds between two looks: a server takes a moment to end a session that was closed."""
_LONGEST_NAME = 63


class WriterName:
    """How a writer calls its sessions, so that it knows those that it has lost.

    `number` is its own among all that ever opened the store for writing; None: it has not yet.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        told = f"process {os.getpid()} on {socket.gethostname()}"
        self.text = f"pollwise {secrets.token_hex(4)} {told}"[:_LONGEST_NAME]

    @staticmethod
    def told(name: str) -> str:
        """Who has a session of this name, in words."""
        return f"process {name.partition('process ')[2] or '(unknown)'}"


def writing_session(place: PostgresDatabase, name: WriterName, *, durable: bool = True) -> Session:
    """A session of the only writer; the tables are made or converted if need be.

    `StoreInUseError` if another one writes, or has written since a session of this one was lost;
    `StoreBusyError` if this one lost its session and the
    server has not noticed yet, `StoreError` if the schema is of another program,
    `StoreVersionError` if a later version of pollwise wrote it.
    """
    session = opened_session(place, name.text)
    try:
        with reported(place):
            writer = PostgresWriter(session)
            schema = _check_ours(place, writer, may_be_empty=True)
            _lock(place, writer, schema, name)
            if not durable:
                session.execute("SET synchronous_commit = off")
            _migrate(place, session)
            _number(place, writer, name)
    except BaseException:
        session.close()
        raise
    return session


def reading_session(place: PostgresDatabase) -> Session:
    """A session that cannot write; errors as for `requesting_session`."""
    session = requesting_session(place)
    try:
        with reported(place):
            session.execute("SET default_transaction_read_only = on")
    except BaseException:
        session.close()
        raise
    return session


def requesting_session(place: PostgresDatabase) -> Session:
    """A session for short writes beside the one writer.

    `StoreError` if there is no store, `StoreVersionError` if another version of pollwise wrote it
    in another format.
    """
    session = opened_session(place)
    try:
        with reported(place):
            writer = PostgresWriter(session)
            _check_ours(place, writer, may_be_empty=False)
            version, known = _format(place, writer), len(migrations())
            if version < known:
                raise StoreVersionError(
                    f"{place} has format {version}, older than format {known} of this pollwise:"
                    " 'pollwise watch', 'collect' or 'serve', whichever polls it, converts it"
                )
    except BaseException:
        session.close()
        raise
    return session


def ledger_session(place: PostgresDatabase) -> Session:
    """A session for what processes share; it is ended if its process sleeps in a transaction."""
    session = opened_session(place)
    try:
        with reported(place):
            session.execute(_LEDGER_SETTINGS)
    except BaseException:
        session.close()
        raise
    return session


def holds_store(place: PostgresDatabase) -> bool:
    """Whether there are tables of pollwise; `StoreError` if the server cannot tell."""
    with opened_session(place) as session, reported(place):
        [(_, ours, is_split, _)] = PostgresWriter(session).execute("is_ours").fetchall()
    return bool(ours or is_split)


def writer_of(writer: PostgresWriter, schema: str) -> str | None:
    """Who is the writer of a schema, in words; None: nobody."""
    rows = writer.execute("writer", {"schema": schema}).fetchall()
    return WriterName.told(rows[0][0]) if rows else None


def session_terms(name: str) -> dict[str, Any]:
    """How a session is made that the server shows by this name.

    Both ends know within a quarter of a minute that the other one is gone, its machine included.
    """
    return {
        "application_name": name,
        "client_encoding": "utf8",
        "connect_timeout": 10,
        "keepalives_idle": 5,
        "keepalives_interval": 3,
        "keepalives_count": 2,
        "tcp_user_timeout": 11_000,
    }


def opened_session(place: PostgresDatabase, name: str = "pollwise") -> Session:
    """A session of a server that is new enough, which the server shows by this name."""
    try:
        session: Session = psycopg.connect(
            place.url, autocommit=True, row_factory=tuple_row, **session_terms(name)
        )
    except psycopg.Error as error:
        raise unreachable(place, error) from error
    try:
        with reported(place):
            version = session.info.server_version
            if version < _OLDEST_SERVER:
                raise StoreError(
                    f"{place} is on a server of version {version // 10_000}: pollwise needs"
                    f" PostgreSQL {_OLDEST_SERVER // 10_000} or later"
                )
            encoding = session.info.parameter_status("server_encoding")
            if encoding != "UTF8":
                raise StoreError(
                    f"{place} keeps text as {encoding}: name a database that was made with"
                    " ENCODING 'UTF8' TEMPLATE template0"
                )
            session.execute(_SETTINGS)
    except BaseException:
        session.close()
        raise
    return session


def _check_ours(place: PostgresDatabase, writer: PostgresWriter, *, may_be_empty: bool) -> str:
    """The schema of the store."""
    schema, ours, is_split, has_tables = looked_at(place, writer)
    if ours:
        return schema
    if is_split:
        raise StoreError(
            f"{place} is split into shards: name one of them after --db, as"
            f" `{command(place, 'shards')}` tells"
        )
    if has_tables:
        raise StoreError(
            f"{place} has tables of another program: name another database, or a schema of its own"
            " by ?options=-csearch_path%3DSCHEMA"
        )
    if not may_be_empty:
        raise StoreError(
            f"{place} holds no pages: name another one with --db, or start 'pollwise watch' to"
            " begin"
        )
    return schema


def looked_at(place: PostgresDatabase, writer: PostgresWriter) -> tuple[str, bool, bool, bool]:
    """The first schema, whether it has the tables of pollwise, whether those of a split database,
    and whether it has any; `StoreError` if there is no such schema.
    """
    [(schema, ours, is_split, has_tables)] = writer.execute("is_ours").fetchall()
    if schema is None:
        raise StoreError(
            f"{place} has no such schema, or its user may not use it: CREATE SCHEMA makes one,"
            " GRANT USAGE ON SCHEMA lets a user"
        )
    return schema, ours, is_split, has_tables


def _lock(place: PostgresDatabase, writer: PostgresWriter, schema: str, name: WriterName) -> None:
    values = {"schema": schema}
    for pause in (0.0, *_ENDINGS):
        time.sleep(pause)
        [(is_locked,)] = writer.execute("become_writer", values).fetchall()
        if is_locked:
            return
    holders = [holder for (holder,) in writer.execute("writer", values).fetchall()]
    if name.text in holders:
        raise StoreBusyError(f"{place} still has the session that was lost: try again")
    raise StoreInUseError(
        f"{place} is in use by {WriterName.told(''.join(holders[:1]))}, which writes to it:"
        " stop that process, or choose another database"
    )


def _number(place: PostgresDatabase, writer: PostgresWriter, name: WriterName) -> None:
    """Number a new writer; one that lost its session must be the latest one still."""
    if name.number is None:
        [(name.number,)] = writer.execute("begin_writing").fetchall()
        return
    [(latest,)] = writer.execute("latest_writer").fetchall()
    if latest != name.number:
        raise StoreInUseError(
            f"{place} was written to by another process, while this one had lost it: start this"
            " one again"
        )


def _format(place: PostgresDatabase, writer: PostgresWriter) -> int:
    rows = writer.execute("format").fetchall()
    if len(rows) != 1:
        raise damaged(place, "it does not say which format it has")
    version: int = rows[0][0]
    known = len(migrations())
    if version > known:
        raise StoreVersionError(
            f"{place} has format {version}, this pollwise knows formats up to {known}:"
            " install a newer pollwise, or choose another database"
        )
    return version


def _migrate(place: PostgresDatabase, session: Session) -> None:
    writer = PostgresWriter(session)
    [(_, ours, _, _)] = writer.execute("is_ours").fetchall()
    done = _format(place, writer) if ours else 0
    for version, script in enumerate(migrations()[done:], start=done + 1):
        with session.transaction():
            session.execute(script.encode())
            writer.execute("note_format", {"format": version})
