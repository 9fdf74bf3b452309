"""The statements of `queries.sql` by name, and the migrations that make the tables."""

from functools import cache

from pollwise.store.tables.queries import read_migrations, read_queries

__all__ = ["SQL", "migrations"]

SQL = read_queries("pollwise.store.sqlite")
"""Every statement that the store runs on its tables, by name."""


@cache
def migrations() -> tuple[str, ...]:
    """The scripts of `migrations/` in order; the nth (from 1) makes format version n."""
    return tuple(read_migrations("pollwise.store.sqlite"))
