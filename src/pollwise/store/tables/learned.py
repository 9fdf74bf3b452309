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
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.array_growth import enlarged
from pollwise.errors import StateError
from pollwise.store.place import Place
from pollwise.store.tables.connection import Connection, Writer
from pollwise.types import StateDict

__all__ = [
    "LearnedPart",
    "learned_parts",
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
_RESIDUE = 0x2144DF1C
_UNFIT = "bytes that do not fit their checksum"
_LAYOUTS = 16
"""Those that are remembered, with their dtypes: each commit has the same one. So are shapes."""
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


def read_learned(connection: Connection, parts: Iterator["LearnedPart"]) -> StateDict | None:
    """See `Store.load_learned`; `parts` are the `learned_parts` of all pages."""
    try:
        with connection.snapshot():
            layouts = dict(connection.rows("learned_layouts"))
            if not layouts:
                return None
            state = _unpacked_alike(connection.path, layouts, parts)
            shared = connection.rows("learned_shared")
        return state | unpack_shared(
            [
                (
                    name,
                    dtype.removeprefix(_MARK),
                    shape,
                    _checked(data) if dtype.startswith(_MARK) else data,
                )
                for name, dtype, shape, data in shared
            ]
        )
    except StateError:
        raise
    except (ValueError, TypeError, LookupError, OverflowError, SyntaxError) as error:
        raise connection.damaged(f"what was learned: {error}") from error


def learned_parts(connection: Connection, first: int, behind: int) -> Iterator["LearnedPart"]:
    """What was learned of the pages with ids from `first` on and below `behind`, by id.

    `ValueError` or `LookupError` if it is damaged.
    """
    with connection.snapshot():
        layouts = dict(connection.rows("learned_layouts"))
        # Joined at once: apart, the rows of a million pages would take twice the memory.
        for columns in connection.columns_in_parts("learned_pages", first=first, behind=behind):
            yield _joined(layouts, *columns)


class LearnedPart(NamedTuple):
    """Some pages: the layouts of their rows, the ids, the sizes that rows have, and all bytes.

    Between two rows are so many bytes that are of neither.
    """

    layouts: frozenset[int]
    page_ids: NDArray[np.int64]
    sizes: frozenset[int]
    data: bytes
    between: int = 0


def _joined(
    layouts: dict[int, str],
    page_ids: Sequence[int],
    layout_ids: Sequence[int],
    packed: Sequence[bytes],
) -> LearnedPart:
    """The packed rows of pages joined; `ValueError` if one does not fit its checksum."""
    ids, used = np.array(page_ids, np.int64), frozenset(layout_ids)
    marked = {number: layouts[number].startswith(_MARK) for number in used}
    sizes = set(map(len, packed))
    if all(marked.values()) and len(sizes) == 1:  # nearly always
        data, size = b"".join(packed), sizes.pop()
        if size < _CHECKSUM or zlib.crc32(data) != _checksum_of_all(size, len(ids)):
            raise ValueError(_UNFIT)
        return LearnedPart(used, ids, frozenset({size - _CHECKSUM}), data, _CHECKSUM)
    plain = [
        _checked(data) if marked[layout_id] else data
        for layout_id, data in zip(layout_ids, packed, strict=True)
    ]
    return LearnedPart(used, ids, frozenset(map(len, plain)), b"".join(plain))


@lru_cache(_LAYOUTS)
def _checksum_of_all(size: int, rows: int) -> int:
    """That of rows of one size, joined, each of which fits its own checksum.

    It is the same for all such rows, as a CRC is linear: what a row adds to that of the rows before
    depends on its size alone. Any change of one row that its own checksum shows, this shows too; of
    changes of several rows it misses one in 2³².
    """
    return zlib.crc32(_with_checksum(bytes(size - _CHECKSUM)) * rows)


def _unpacked_alike(
    path: Place, layouts: dict[int, str], parts: Iterator[LearnedPart]
) -> StateDict:
    """What was learned of the pages in all parts; `StateError` if they have several layouts."""
    columns = {number: text.removeprefix(_MARK) for number, text in layouts.items()}
    used = set[str]()
    unpacked: _Unpacked | None = None
    for part in parts:
        used |= {columns[number] for number in part.layouts}
        if len(used) == 1:
            unpacked = _Unpacked(*used) if unpacked is None else unpacked
            unpacked.extend(part)
    if len(used) > 1:
        names = "; ".join(
            ", ".join(column[0] for column in json.loads(layout))
            for layout in sorted(used, key=list(columns.values()).index)
        )
        raise StateError(
            f"{path} holds what {len(used)} different policies learned ({names}):"
            " forget it and learn anew, or go back to a copy of the file"
        )
    return (_Unpacked(columns[max(columns)]) if unpacked is None else unpacked).state


def _with_checksum(data: bytes) -> bytes:
    return data + zlib.crc32(data).to_bytes(_CHECKSUM, "little")


def _checked(data: bytes) -> bytes:
    """The bytes without the checksum that follows them; `ValueError` if it is wrong."""
    # That of bytes and their checksum together is always the same one.
    if zlib.crc32(data) != _RESIDUE or len(data) < _CHECKSUM:
        raise ValueError(_UNFIT)
    return data[:-_CHECKSUM]


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
    text = _layout(
        tuple((name, column.dtype.str, column.shape[1:]) for name, column in columns.items())
    )
    dtype = _row_dtype(text)
    records = np.empty(len(page_ids), dtype=dtype)
    for name, column in columns.items():
        records[name] = column
    data, size = records.tobytes(), dtype.itemsize
    rows = [data[start * size : (start + 1) * size] for start in range(len(page_ids))]
    return text, list(zip(page_ids.tolist(), rows, strict=True))


def unpack_rows(layout: str, rows: Sequence[tuple[int, bytes]]) -> StateDict:
    """`page_ids` and the `page.*` arrays of packed rows; `StateError` if a row does not fit."""
    page_ids, packed = zip(*rows, strict=True) if rows else ((), ())
    ids = np.array(page_ids, np.int64)
    unpacked = _Unpacked(layout)
    unpacked.extend(LearnedPart(frozenset(), ids, frozenset(map(len, packed)), b"".join(packed)))
    return unpacked.state


class _Unpacked:
    """The rows of one layout, part by part: all of them joined would be in memory twice."""

    def __init__(self, layout: str) -> None:
        self._dtype = dtype = _row_dtype(layout)
        self.state: StateDict = {_PAGE_IDS: np.zeros(0, np.int64)}
        for name in dtype.names or ():
            self.state[name] = np.zeros((0, *dtype[name].shape), dtype[name].base)

    def extend(self, part: LearnedPart) -> None:
        """Take in more pages; `StateError` if their rows have another size."""
        dtype = self._dtype
        if part.sizes - {dtype.itemsize}:
            raise StateError(
                f"a page's learned state has not the {dtype.itemsize} bytes of its columns:"
                " forget it and learn anew"
            )
        count, strides = len(part.page_ids), (dtype.itemsize + part.between,)
        records: NDArray[Any] = np.ndarray(count, dtype, part.data, strides=strides)
        for name, before in self.state.items():
            array = self.state[name] = enlarged(before, count)
            array[len(before) :] = part.page_ids if name == _PAGE_IDS else records[name]


def pack_shared(state: StateDict) -> list[tuple[str, str, str, bytes]]:
    """Name, dtype, shape (a JSON text) and bytes of each array that all pages share."""
    rows = []
    for name, array in state.items():
        if name != _PAGE_IDS and not name.startswith(_PREFIX):
            _check_dtype(name, array)
            rows.append((name, array.dtype.str, _shape_text(array.shape), array.tobytes()))
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


@lru_cache(_LAYOUTS)
def _layout(columns: tuple[tuple[str, str, tuple[int, ...]], ...]) -> str:
    return json.dumps(columns, separators=(",", ":"))


@lru_cache(_LAYOUTS)
def _shape_text(shape: tuple[int, ...]) -> str:
    return json.dumps(shape)


@lru_cache(_LAYOUTS)
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
