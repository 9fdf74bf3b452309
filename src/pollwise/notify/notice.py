"""What a receiver is told at once."""

from dataclasses import dataclass

from pollwise.insight.changes import ListedChange

__all__ = ["Notice"]


@dataclass(frozen=True, slots=True)
class Notice:
    """Some changes, and what people are to read of them, made at `made_at` (UTC seconds).

    `id` is the same however often the notice is sent; `database` is the id of the database.
    """

    id: str
    database: str
    made_at: float
    title: str
    text: str
    changes: tuple[ListedChange, ...]
