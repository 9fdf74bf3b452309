"""The table of what hubs are asked for."""

from collections.abc import Iterable
from dataclasses import asdict

from pollwise.store.records import StoredSubscription
from pollwise.store.tables.connection import Connection, Writer

__all__ = ["drop_subscription", "read_subscriptions", "save_subscriptions"]


def read_subscriptions(connection: Connection) -> list[StoredSubscription]:
    """See `StoreReader.subscriptions`."""
    return [StoredSubscription(*row) for row in connection.rows("subscriptions")]


def save_subscriptions(writer: Writer, subscriptions: Iterable[StoredSubscription]) -> None:
    """Keep subscriptions, within a transaction; not those of pages that are removed."""
    writer.execute_all("save_subscription", map(asdict, subscriptions))


def drop_subscription(writer: Writer, page_id: int) -> None:
    """Drop the subscription of a page, if it has one, within a transaction."""
    writer.execute("drop_subscription", {"id": page_id})
