"""Parquet: the same as JSON lines, in columns with types."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyarrow import parquet

from pollwise.export import export_collection


def test_a_row_for_each_page(db: Path) -> None:
    path, lines = db.with_name("x.parquet"), db.with_name("x.jsonl")
    export_collection(db, path, now=0.0)
    export_collection(db, lines, now=0.0)
    rows = parquet.read_table(path).to_pylist()
    assert rows[0]["first_seen_at"] == datetime(1970, 1, 1, 0, 0, 1, 250_000, tzinfo=UTC)
    for row in rows:
        for name, value in row.items():
            if isinstance(value, datetime):
                row[name] = value.timestamp()
    assert rows == [json.loads(line) for line in lines.read_bytes().splitlines()]


def test_no_page_is_a_table_without_rows(db: Path) -> None:
    path = db.with_name("x.parquet")
    assert export_collection(db, path, now=0.0, min_relevance=1.0) == 0
    table = parquet.read_table(path)
    assert (table.num_rows, table.schema.field("url").type) == (0, "string")


def test_bodies_are_bytes(db: Path) -> None:
    path = db.with_name("x.parquet")
    export_collection(db, path, now=0.0, bodies=True)
    table = parquet.read_table(path)
    assert table.schema.names[-2:] == ["content_type", "body"]
    assert table.column("body").to_pylist() == [b"<p>two \xc3\xa9", b"<p>one", b"\0\xff"]


def test_large_bodies_are_written_a_few_at_a_time(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pollwise.export.parquet._BYTES_AT_ONCE", 10)
    path = db.with_name("x.parquet")
    assert export_collection(db, path, now=0.0, bodies=True) == 3
    file = parquet.ParquetFile(path)
    assert (file.num_row_groups, file.metadata.num_rows) == (2, 3)
