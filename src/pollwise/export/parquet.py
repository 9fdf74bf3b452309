"""A collection as a Parquet table: one row for each page."""

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from pollwise.export.documents import exported_pages
from pollwise.store import Store

__all__ = ["write_parquet"]

_ROWS_AT_ONCE = 1000
_BYTES_AT_ONCE = 64 * 1024 * 1024


def write_parquet(
    file: BinaryIO, store: Store, min_relevance: float | None, *, bodies: bool
) -> int:
    """Write a row for each page; the number of pages.

    The columns are the keys of `exported_pages`; times are timestamps in UTC.
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
        "name": pa.string(),
        "tags": pa.list_(pa.string()),
        "weight": pa.float64(),
        "longest_interval": pa.float64(),
        "shortest_interval": pa.float64(),
    }
    if bodies:
        types |= {"content_type": pa.string(), "body": pa.binary()}
    times = [name for name, kind in types.items() if kind == time]
    schema = pa.schema(list(types.items()))
    pages = exported_pages(store, min_relevance, bodies=bodies)
    count = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for rows in _batches(pages):
            for row in rows:
                row.update({name: _microseconds(row[name]) for name in times})
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    return count


def _batches(pages: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The pages in groups that memory holds."""
    batch, size = [], 0
    for page in pages:
        batch.append(page)
        size += len(page["text"] or "") + len(page.get("body") or b"")
        if len(batch) == _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _microseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e6)
