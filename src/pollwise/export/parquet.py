"""A collection as a Parquet table: one row for each page."""

from dataclasses import asdict
from itertools import islice
from typing import BinaryIO

from pollwise.export.documents import documents_with_text
from pollwise.store import Store

__all__ = ["write_parquet"]

_ROWS_AT_ONCE = 1000


def write_parquet(file: BinaryIO, store: Store, min_relevance: float | None) -> int:
    """Write a row for each page; the number of pages.

    The columns are the fields of `pollwise.store.records.Document`; times are timestamps in UTC.
    """
    import pyarrow as pa
    from pyarrow import parquet

    time = pa.timestamp("us", tz="UTC")
    types = {
        "page_id": pa.int64(),
        "url": pa.string(),
        "title": pa.string(),
        "text": pa.string(),
        "relevance": pa.float64(),
        "depth": pa.int64(),
        "first_seen_at": time,
        "last_seen_at": time,
        "last_changed_at": time,
        "polls": pa.int64(),
        "changes": pa.int64(),
        "gone": pa.bool_(),
        "duplicate_of": pa.string(),
    }
    times = [name for name, kind in types.items() if kind == time]
    schema = pa.schema(list(types.items()))
    documents = documents_with_text(store, min_relevance)
    count = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while rows := [asdict(document) for document in islice(documents, _ROWS_AT_ONCE)]:
            for row in rows:
                row.update({name: _microseconds(row[name]) for name in times})
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    return count


def _microseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e6)
