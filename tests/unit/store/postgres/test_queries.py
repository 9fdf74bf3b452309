"""The statements for PostgreSQL have the names of those for SQLite, and are used."""

import re
from importlib import resources
from pathlib import Path

import pollwise.store.postgres
from pollwise.store.postgres.queries import SQL, migrations
from pollwise.store.sqlite.queries import SQL as OF_SQLITE
from pollwise.store.tables.queries import parse_queries

OF_COLLECTIONS = {
    "collect_page", "count_matches", "document", "drop_text", "history_after", "index_text",
    "insert_plain_page", "rescore_page", "save_document", "save_links", "search", "search_state",
    "searchable_pages", "set_searchable", "terms_after", "terms_of",
    "unsettled",
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


def test_a_statement_that_both_word_alike_stands_in_one_place() -> None:
    def alike(text: str) -> str:
        return " ".join(re.sub(r"%\((\w+)\)s", r":\1", text).split())

    folder = Path(pollwise.store.postgres.__file__).parents[1]
    shared, own, other = (
        parse_queries((folder / name / "queries.sql").read_text(encoding="utf-8"))
        for name in ("tables", "postgres", "sqlite")
    )
    assert not shared.keys() & (own.keys() | other.keys())
    assert [name for name in own.keys() & other if alike(own[name]) == alike(other[name])] == []
    assert SQL["forget_page"] == "DELETE FROM learned_pages WHERE page_id = %(id)s;"


def test_every_query_is_used() -> None:
    folder = Path(pollwise.store.postgres.__file__).parents[1]
    code = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    assert [name for name in SQL if f'"{name}"' not in code] == []


def test_migrations_are_numbered_without_gaps() -> None:
    folder = resources.files("pollwise.store.postgres") / "migrations"
    numbers = sorted(int(entry.name[:4]) for entry in folder.iterdir())
    assert numbers == list(range(1, len(migrations()) + 1))
