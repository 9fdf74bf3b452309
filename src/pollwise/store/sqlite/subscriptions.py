"""The table of what hubs are asked for."""

import sqlite3
from collections.abc import Iterable
from dataclasses import asdict

from pollwise.store.records import StoredSubscription
from pollwise.store.sqlite.connection import Connection
from pollwise.store.sqlite.queries import SQL

__all__ = ["drop_subscription", "read_subscriptions", "save_subscriptions"]


def read_subscriptions(connection: Connection) -> list[StoredSubscription]:
    """See `StoreReader.subscriptions`."""
    return [StoredSubscription(*row) for row in connection.rows("subscriptions")]


def save_subscriptions(
    connection: sqlite3.Connection, subscriptions: Iterable[StoredSubscription]
) -> None:
    """Keep subscriptions, within a transaction; not those of pages that are removed."""
    connection.executemany(SQL["save_subscription"], map(asdict, subscriptions))


def drop_subscription(connection: sqlite3.Connection, page_id: int) -> None:
    """Drop the subscription of a page, if it has one, within a transaction."""
    connection.execute(SQL["drop_subscription"], {"id": page_id})
