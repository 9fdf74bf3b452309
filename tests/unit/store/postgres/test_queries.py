"""The statements for PostgreSQL have the names of those for SQLite, and are used."""

from importlib import resources
from pathlib import Path

import pollwise.store.postgres
from pollwise.store.postgres.queries import SQL, migrations
from pollwise.store.sqlite.queries import SQL as OF_SQLITE

OF_COLLECTIONS = {
    "collect_page", "count_matches", "document", "drop_text", "history_after", "index_text",
    "rescore_page", "save_document", "save_links", "search", "search_state", "searchable_pages",
    "set_searchable", "terms_after", "unsettled",
}  # fmt: skip
OF_THE_SERVER = {
    "announce_budget", "become_writer", "begin_writing", "channel", "count_batch", "format",
    "insert_shards", "is_ours", "latest_batch", "latest_writer", "ledger_to_write", "make_shards",
    "note_format", "save_ledger", "shards", "share_budget", "shared_budget", "split_around",
    "unlock", "writer",
}  # fmt: skip


def test_the_names_are_those_of_sqlite_but_for_collections_and_the_server() -> None:
    assert OF_SQLITE.keys() - SQL.keys() == OF_COLLECTIONS
    assert SQL.keys() - OF_SQLITE.keys() == OF_THE_SERVER


def test_every_query_is_used() -> None:
    folder = Path(pollwise.store.postgres.__file__).parents[1]
    code = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    assert [name for name in SQL if f'"{name}"' not in code] == []


def test_migrations_are_numbered_without_gaps() -> None:
    folder = resources.files("pollwise.store.postgres") / "migrations"
    numbers = sorted(int(entry.name[:4]) for entry in folder.iterdir())
    assert numbers == list(range(1, len(migrations()) + 1))
