"""The table of who is told of changes, and how far."""

import sqlite3
from dataclasses import asdict

from pollwise.store.records import StoredReceiver
from pollwise.store.sqlite.connection import Connection
from pollwise.store.sqlite.queries import SQL

__all__ = ["read_receivers", "save_receiver"]


def read_receivers(connection: Connection) -> list[StoredReceiver]:
    """See `StoreReader.receivers`."""
    return [StoredReceiver(*row) for row in connection.rows("receivers")]


def save_receiver(connection: sqlite3.Connection, receiver: StoredReceiver) -> None:
    """Keep how far a receiver was told, within a transaction."""
    connection.execute(SQL["save_receiver"], asdict(receiver))
