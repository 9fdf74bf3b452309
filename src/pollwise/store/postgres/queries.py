"""The statements of `queries.sql` by name, and the migrations that make the tables."""

from pollwise.store.tables.queries import read_migrations, read_queries

__all__ = ["SQL", "migrations"]

SQL = read_queries("pollwise.store.postgres", r"%(\1)s")
"""Every statement that the store runs on its tables, by name."""


def migrations() -> list[str]:
    """The scripts of `migrations/` in order; the nth (from 1) makes format version n."""
    return read_migrations("pollwise.store.postgres")
