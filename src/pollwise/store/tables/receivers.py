"""The table of who is told of changes, and how far."""

from dataclasses import asdict

from pollwise.store.records import StoredReceiver
from pollwise.store.tables.connection import Connection, Writer

__all__ = ["read_receivers", "save_receiver"]


def read_receivers(connection: Connection) -> list[StoredReceiver]:
    """See `StoreReader.receivers`."""
    return [StoredReceiver(*row) for row in connection.rows("receivers")]


def save_receiver(writer: Writer, receiver: StoredReceiver) -> None:
    """Keep how far a receiver was told, within a transaction."""
    writer.execute("save_receiver", asdict(receiver))
