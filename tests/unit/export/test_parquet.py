"""Parquet: the same as JSON lines, in columns with types."""

import json
from datetime import UTC, datetime
from pathlib import Path

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
