"""Learned state in the tables: a packed row for each page, and the arrays that all pages share.

A *layout* is a JSON text that names the columns of a row with dtype and shape, sorted by name:
`[["page.alpha","<f8",[]],["page.window","<u2",[4]]]`. Rows are the columns' bytes in that order
without padding, so that the rows of many pages, joined, are one structured array.

Any bytes would be numbers, and wrong ones may end the process in compiled code. So in the tables a
checksum follows the bytes, and `crc32 ` before the layout or dtype says so; earlier versions wrote
neither.
"""

import json
import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import StateError
from pollwise.store.place import Place
from pollwise.store.tables.connection import Connection, Writer
from pollwise.store.tables.rows import Row
from pollwise.types import StateDict

__all__ = [
    "pack_rows",
    "pack_shared",
    "read_learned",
    "save_learned",
    "unpack_rows",
    "unpack_shared",
]

_PAGE_IDS = "page_ids"
_PREFIX = "page."
_MARK = "crc32 "
_CHECKSUM = 4
_AT_ONCE = 10_000
"""Rows that one statement writes: they are in memory twice meanwhile."""
# Kinds of dtype whose `str` describes them fully: no objects, no records.
_KINDS = "biufcmMSU"


def save_learned(writer: Writer, state: StateDict) -> None:
    """Write, within a transaction, what was learned of some pages and what all pages share."""
    layout, rows = pack_rows(state)
    writer.execute("insert_layout", {"layout": _MARK + layout})
    for begin in range(0, len(rows), _AT_ONCE):
        some = rows[begin : begin + _AT_ONCE]
        packed = [_with_checksum(data) for _, data in some]
        writer.execute(
            "save_learned_pages",
            {
                "page_ids": json.dumps([page_id for page_id, _ in some]),
                "layout": _MARK + layout,
                "size": len(packed[0]),  # of each: they have one layout
                "data": b"".join(packed),
            },
        )
    writer.execute("clear_learned_shared")
    writer.execute_all(
        "save_learned_shared",
        [
            {"name": name, "dtype": _MARK + dtype, "shape": shape, "data": _with_checksum(data)}
            for name, dtype, shape, data in pack_shared(state)
        ],
    )


def read_learned(connection: Connection) -> StateDict | None:
    """See `Store.load_learned`."""
    with connection.snapshot():
        layouts = dict(connection.rows("learned_layouts"))
        rows = [row for rows in connection.rows_in_parts("learned_pages") for row in rows]
        shared = connection.rows("learned_shared")
    if not layouts:
        return None
    try:
        return _state_of(connection.path, layouts, rows, shared)
    except StateError:
        raise
    except (ValueError, TypeError, LookupError, OverflowError, SyntaxError) as error:
        raise connection.damaged(f"what was learned: {error}") from error


def _state_of(
    path: Place, layouts: dict[int, str], rows: list[Row], shared: list[Row]
) -> StateDict:
    columns = {number: text.removeprefix(_MARK) for number, text in layouts.items()}
    used = {columns[layout_id] for _, layout_id, _ in rows} or {columns[max(columns)]}
    if len(used) > 1:
        names = "; ".join(
            ", ".join(column[0] for column in json.loads(layout))
            for layout in sorted(used, key=list(columns.values()).index)
        )
        raise StateError(
            f"{path} holds what {len(used)} different policies learned ({names}):"
            " forget it and learn anew, or go back to a copy of the file"
        )
    state = unpack_rows(
        used.pop(),
        [(page_id, _checked(layouts[layout_id], data)) for page_id, layout_id, data in rows],
    )
    return state | unpack_shared(
        [
            (name, dtype.removeprefix(_MARK), shape, _checked(dtype, data))
            for name, dtype, shape, data in shared
        ]
    )


def _with_checksum(data: bytes) -> bytes:
    return data + zlib.crc32(data).to_bytes(_CHECKSUM, "little")


def _checked(told: str, data: bytes) -> bytes:
    """The bytes without the checksum that the layout or dtype tells of; `ValueError` if wrong."""
    if not told.startswith(_MARK):
        return data
    plain = data[:-_CHECKSUM]
    if zlib.crc32(plain).to_bytes(_CHECKSUM, "little") != data[-_CHECKSUM:]:
        raise ValueError("bytes that do not fit their checksum")
    return plain


def pack_rows(state: StateDict) -> tuple[str, list[tuple[int, bytes]]]:
    """The layout of a state's `page.*` arrays, and of each page its id and packed row.

    `StateError` if an array has not one row per page, or holds objects or records.
    """
    page_ids = state.get(_PAGE_IDS, np.empty(0, dtype=np.int64))
    if page_ids.ndim != 1 or page_ids.dtype.kind not in "iu":
        raise StateError(
            f"page_ids is an array of {page_ids.dtype} with {page_ids.ndim} dimensions;"
            " expected a flat array of integers"
        )
    columns = {name: state[name] for name in sorted(state) if name.startswith(_PREFIX)}
    for name, column in columns.items():
        _check_dtype(name, column)
        if column.shape[:1] != page_ids.shape:
            raise StateError(
                f"array {name!r} has the shape {column.shape};"
                f" expected one row for each of {len(page_ids)} pages"
            )
    layout = [[name, column.dtype.str, column.shape[1:]] for name, column in columns.items()]
    text = json.dumps(layout, separators=(",", ":"))
    dtype = _row_dtype(text)
    records = np.empty(len(page_ids), dtype=dtype)
    for name, column in columns.items():
        records[name] = column
    data, size = records.tobytes(), dtype.itemsize
    rows = [data[start * size : (start + 1) * size] for start in range(len(page_ids))]
    return text, list(zip(page_ids.tolist(), rows, strict=True))


def unpack_rows(layout: str, rows: Sequence[tuple[int, bytes]]) -> StateDict:
    """`page_ids` and the `page.*` arrays of packed rows; `StateError` if a row does not fit."""
    dtype = _row_dtype(layout)
    if any(len(row) != dtype.itemsize for _, row in rows):
        raise StateError(
            f"a page's learned state has not the {dtype.itemsize} bytes of its columns:"
            " forget it and learn anew"
        )
    data = b"".join(row for _, row in rows)
    records: NDArray[np.void] = np.ndarray(len(rows), dtype=dtype, buffer=data)
    state: StateDict = {_PAGE_IDS: np.array([page_id for page_id, _ in rows], dtype=np.int64)}
    for name in dtype.names or ():
        state[name] = records[name].copy()
    return state


def pack_shared(state: StateDict) -> list[tuple[str, str, str, bytes]]:
    """Name, dtype, shape (a JSON text) and bytes of each array that all pages share."""
    rows = []
    for name, array in state.items():
        if name != _PAGE_IDS and not name.startswith(_PREFIX):
            _check_dtype(name, array)
            rows.append((name, array.dtype.str, json.dumps(array.shape), array.tobytes()))
    return rows


def unpack_shared(rows: Sequence[tuple[str, str, str, bytes]]) -> StateDict:
    """The arrays that `pack_shared` packed; `StateError` if the bytes do not fit the shape."""
    state: StateDict = {}
    for name, dtype_text, shape_text, data in rows:
        dtype, shape = _plain_dtype(dtype_text), _shape(json.loads(shape_text))
        if len(data) != dtype.itemsize * math.prod(shape):
            raise StateError(
                f"the learned array {name!r} has {len(data)} bytes, not those of {dtype} {shape}:"
                " forget it and learn anew"
            )
        state[name] = np.ndarray(shape, dtype=dtype, buffer=data).copy()
    return state


def _check_dtype(name: str, array: NDArray[np.generic]) -> None:
    if array.dtype.kind not in _KINDS:
        raise StateError(
            f"array {name!r} holds {array.dtype}; expected numbers, truth values, times or text"
        )


def _row_dtype(layout: str) -> np.dtype[np.void]:
    columns = [
        (name, _plain_dtype(text), _shape(shape)) for name, text, shape in json.loads(layout)
    ]
    return np.dtype(columns)


def _shape(told: Any) -> tuple[int, ...]:
    if not isinstance(told, list) or not all(type(n) is int and n >= 0 for n in told):
        raise ValueError(f"no shape of an array: {told!r}")
    return tuple(told)


def _plain_dtype(text: str) -> np.dtype[np.generic]:
    """The dtype of this name; `ValueError` if it is none that can be stored."""
    dtype = np.dtype(text)
    # Bytes of a file taken for the addresses of objects would end the process.
    if dtype.kind not in _KINDS or dtype.str != text:
        raise ValueError(f"no dtype of numbers, truth values, times or text: {text!r}")
    return dtype
