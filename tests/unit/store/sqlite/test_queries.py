"""The annotated SQL file: every query has a name and a purpose, fits the tables, and is used."""

import re
import sqlite3
from importlib import resources
from pathlib import Path

import pytest

import pollwise.store.sqlite
from pollwise.store.sqlite.queries import SQL, migrations
from pollwise.store.tables.queries import parse_queries


@pytest.fixture(scope="module")
def tables() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for script in migrations():
        connection.executescript(script)
    connection.execute(SQL["make_told_polls"])
    return connection


def test_a_query_is_found_by_its_name() -> None:
    queries = parse_queries(
        "-- About the file.\n\n-- name: one\n-- What for.\nSELECT\n  1;\n\n"
        "-- name: two\n-- What for.\nSELECT 2; -- why\n"
    )
    assert queries == {"one": "SELECT\n  1;", "two": "SELECT 2; -- why"}


@pytest.mark.parametrize(
    "text",
    [
        "-- name: one\n-- What for.\nSELECT 1;\n-- name: one\n-- What for.\nSELECT 2;",
        "-- name: one\nSELECT 1;",
    ],
    ids=["the same name twice", "no purpose"],
)
def test_a_query_needs_its_own_name_and_a_purpose(text: str) -> None:
    with pytest.raises(ValueError, match="comes twice, or the comment line"):
        parse_queries(text)


@pytest.mark.parametrize("name", SQL)
def test_a_query_fits_the_tables(tables: sqlite3.Connection, name: str) -> None:
    named = dict.fromkeys(re.findall(r":(\w+)", SQL[name]))
    values = named or [None] * SQL[name].count("?")
    assert tables.execute(f"EXPLAIN {SQL[name]}", values).fetchall()


@pytest.mark.parametrize(
    "name", ["changes_of_page", "newest_changes_of_pages", "count_changes_of_pages"]
)
def test_the_changes_of_a_page_are_found_by_an_index(tables: sqlite3.Connection, name: str) -> None:
    values = dict.fromkeys(re.findall(r":(\w+)", SQL[name]))
    plan = tables.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", values).fetchall()
    assert any("USING INDEX changes_by_page" in step[3] for step in plan)


def test_all_pages_are_not_read_in_the_order_of_their_urls(tables: sqlite3.Connection) -> None:
    by_url = []
    for name, sql in SQL.items():
        values = dict.fromkeys(re.findall(r":(\w+)", sql)) or [None] * sql.count("?")
        plan = tables.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
        if any("SCAN" in step[3] and "pages_by_url" in step[3] for step in plan):
            by_url.append(name)
    assert by_url == ["count_pages"]  # it reads the index alone


def test_every_query_is_used() -> None:
    folder = Path(pollwise.store.sqlite.__file__).parents[1]
    code = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    assert [name for name in SQL if f'"{name}"' not in code] == []


def test_migrations_are_numbered_without_gaps() -> None:
    folder = resources.files("pollwise.store.sqlite") / "migrations"
    numbers = sorted(int(entry.name[:4]) for entry in folder.iterdir())
    assert numbers == list(range(1, len(migrations()) + 1))
