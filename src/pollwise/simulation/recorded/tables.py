"""Columns of Parquet and CSV files, and of tables in memory, as arrays; errors name the row."""

import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import shown, shown_text
from pollwise.errors import TraceError
from pollwise.extras import require_extra
from pollwise.times import LATEST, no_seconds, parse_time, seconds_of_dates

__all__ = ["Table", "open_table", "path_of", "read_headings", "read_table"]

Floats = NDArray[np.float64]

_SINGLE = "is no single value; give one in each cell"
_FLAGS = {
    **dict.fromkeys(("0", "0.0", "false", "no"), False),
    **dict.fromkeys(("1", "1.0", "true", "yes"), True),
}
_DAYS = 32_874, 73_051
"""The years 1990 to 2099 in the day numbers of spreadsheets; as seconds, a morning of 1970."""
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Table:
    """The columns of one table. Rows are counted from 1, without a line of headings.

    `name` says which it is, such as the path of its file. Every method raises a `TraceError` that
    names the table, the row and the remedy.
    """

    def __init__(self, name: str, columns: dict[str, Any], rows: int) -> None:
        """`columns`: lists of cells, None being an empty one, or Arrow arrays (Parquet)."""
        self.name = name
        self._columns = columns
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def require(self, *names: str, instead: str = "") -> None:
        """`TraceError` unless there are columns of these names; `instead`: what else would do."""
        missing = [name for name in names if name not in self]
        if missing:
            if any(mark in name for name in self._columns for mark in ";\t"):
                instead = f"{instead}: separate them by commas"
            raise TraceError(
                f"{self.name}: no column {', '.join(missing)}; it has"
                f" {', '.join(self._columns) or 'none'}, needed are {', '.join(names)}{instead}"
            )

    def complaint(self, row: int, text: str) -> TraceError:
        """An error about row number `row`, counted from 0."""
        return TraceError(f"{self.name}, row {row + 1}: {text}")

    def codes(self, name: str) -> tuple[NDArray[np.int64], list[str]]:
        """A column of text: each row's index into the distinct texts, and these texts."""
        column = self._columns[name]
        self._require_plain(name, column)
        if isinstance(column, list):
            numbers: dict[str, int] = {}
            cells = ["" if cell is None else str(cell) for cell in column]
            codes = np.array([numbers.setdefault(text, len(numbers)) for text in cells], np.int64)
            texts = list(numbers)
        else:
            encoded = column.dictionary_encode()
            texts = ["" if text is None else str(text) for text in encoded.dictionary.to_pylist()]
            codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        empty = np.flatnonzero(
            (codes < 0) | np.isin(codes, [i for i, t in enumerate(texts) if not t])
        )
        if len(empty):
            raise self._empty(int(empty[0]), name)
        return codes, texts

    def _require_plain(self, name: str, column: Any) -> None:
        """`TraceError` for cells that are no single values, such as lists."""
        if isinstance(column, list):
            row = next((row for row, cell in enumerate(column) if _is_several(cell)), None)
        else:
            import pyarrow as pa

            row = 0 if pa.types.is_nested(column.type) and len(column) else None
        if row is not None:
            cell = column[row] if isinstance(column, list) else column[row].as_py()
            raise self.complaint(row, f"{name} {shown(cell)} {_SINGLE}")

    def texts(self, name: str) -> list[str]:
        """A column of text, row by row."""
        codes, texts = self.codes(name)
        return [texts[code] for code in codes]

    def numbers(self, name: str, *, empty: float | None = None) -> Floats:
        """A column of finite numbers; `empty` replaces empty cells (None: there may be none)."""
        return self._floats(name, empty, _as_number, "is no number; give a finite one, such as 2.5")

    def flags(self, name: str) -> NDArray[np.bool_]:
        """A column of 0 or 1, which may also be yes and no, or true and false."""
        column = self._columns[name]
        self._require_plain(name, column)
        cells = column if isinstance(column, list) else column.to_pylist()
        flags = [_FLAGS.get(_flag_text(cell)) for cell in cells]
        for row, flag in enumerate(flags):
            if flag is None:
                if _is_empty(cells[row]):
                    raise self._empty(row, name)
                raise self.complaint(
                    row, f"{name} is {shown(cells[row])}; give 0 or 1, for no or yes"
                )
        return np.array(flags, np.bool_)

    def times(self, name: str, *, empty: float | None = None) -> Floats:
        """A column of times in UTC seconds, read from numbers, ISO 8601 or Arrow timestamps."""
        mend = "is no time; give UTC seconds or ISO 8601, such as 2024-05-01T12:00:00Z"
        seconds = self._floats(name, empty, _as_seconds, mend)
        for row in np.flatnonzero(np.abs(seconds) > LATEST)[:1].tolist():
            why = no_seconds(seconds[row])
            raise self.complaint(row, f"{name} {seconds[row]:.0f} {why}")
        if len(seconds) and np.all((_DAYS[0] <= seconds) & (seconds < _DAYS[1])):
            raise self.complaint(
                0,
                f"{name} {seconds[0]:g} is, as all others are, the number of a day in a"
                " spreadsheet; give UTC seconds, (day - 25569) * 86400, or ISO 8601",
            )
        return seconds

    def _floats(self, name: str, empty: float | None, parse: Any, mend: str) -> Floats:
        column = self._columns[name]
        self._require_plain(name, column)
        values, cells = self._quick(column), column
        if values is None:
            cells = column if isinstance(column, list) else column.to_pylist()
            values = np.array([parse(cell) for cell in cells])
        for row in np.flatnonzero(~np.isfinite(values)):
            cell = cells[row] if isinstance(cells, list) else cells[row].as_py()
            if not _is_empty(cell):
                raise self.complaint(int(row), f"{name} {shown(cell)} {mend}")
            if empty is None:
                raise self._empty(int(row), name)
            values[row] = empty
        return values

    def _empty(self, row: int, name: str) -> TraceError:
        return self.complaint(row, f"{name} is empty; fill it in, or drop the row")

    @staticmethod
    def _quick(column: Any) -> Floats | None:
        """A column of numbers or timestamps converted at once, empty cells being NaN; else None."""
        if isinstance(column, list):
            try:
                return np.array(column, np.float64) if column else np.empty(0)
            except (TypeError, ValueError, OverflowError):
                return None
        import pyarrow as pa

        scale = 1
        if pa.types.is_timestamp(column.type):
            scale = _PER_SECOND[column.type.unit]
            column = column.cast(pa.int64())
        elif not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            return None
        values = column.to_numpy(zero_copy_only=False).astype(np.float64)
        return values / scale


def _is_several(cell: object) -> bool:
    """Whether a cell holds several values, as an array does."""
    return isinstance(cell, list | tuple | dict | set | np.ndarray)


def _flag_text(cell: object) -> str:
    return cell.strip().casefold() if isinstance(cell, str) else shown(cell).casefold()


def _is_empty(cell: object) -> bool:
    """Whether a cell holds nothing; NaN in a column of numbers is empty, too."""
    if isinstance(cell, Decimal):
        return cell.is_qnan()
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell))


def _as_number(cell: object) -> float:
    """NaN for what is no number."""
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _as_seconds(cell: object) -> float:
    """NaN for what is no time."""
    seconds = _as_number(cell)
    if math.isnan(seconds):
        return math.nan if isinstance(cell, int) else parse_time(str(cell))
    return seconds


def open_table(source: object, required: Sequence[str], name: str) -> Table:
    """The table at a path, or one in memory: of pandas, polars or Arrow, or columns by name.

    Messages call the latter `name`. `TraceError` if it is none, or lacks a required column.
    """
    if isinstance(source, str | os.PathLike):
        return read_table(path_of(source), required)
    names = getattr(source, "column_names", None)  # of Arrow
    if names is None:
        names = getattr(source, "columns", source if isinstance(source, Mapping) else None)
    if names is None or isinstance(source, type):
        raise TraceError(
            f"{name}: {type(source).__name__} is no table; give the path of one, a DataFrame, or"
            " lists by the names of their columns"
        )
    table: Any = source
    headings = _headings(name, [str(column) for column in names])
    columns = {
        heading: _cells(f"{name}: {heading}", table[column])
        for heading, column in zip(headings, names, strict=True)
    }
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) > 1:
        raise TraceError(f"{name}: its columns have {sorted(lengths)} rows; give all as many")
    opened = Table(name, columns, max(lengths, default=0))
    opened.require(*required)
    return opened


def path_of(source: str | os.PathLike[str]) -> Path:
    """The path of a table; `TraceError` if it can be none."""
    text = os.fspath(source)
    if not text or "\0" in text:
        raise TraceError(f"{shown(text)} is no path; give that of a .parquet or a .csv file")
    return Path(text)


def _headings(name: str, columns: Sequence[str]) -> list[str]:
    """The names of the columns, in small letters and without blanks around them.

    `TraceError` for two columns of one name.
    """
    headings = [column.strip().lower() for column in columns]
    twice = next((heading for heading in headings if headings.count(heading) > 1), None)
    if twice is not None:
        raise TraceError(f"{name}: two columns are called {shown(twice)}; drop or rename one")
    return headings


def _cells(name: str, column: Any) -> list[Any]:
    """The cells of a column, times as seconds, None where one is empty."""
    try:
        array = np.asarray(column)
    except ValueError:  # lists of several lengths
        array = np.empty(())
    if array.ndim != 1:
        raise TraceError(f"{name} {shown(column)} {_SINGLE}")
    if array.dtype.kind == "m":  # lengths of time, which would look like whole numbers
        return [str(cell) for cell in array]
    if array.dtype.kind == "M":
        array = seconds_of_dates(array)
    cells: list[Any] = array.tolist()
    if array.dtype.kind != "O":
        return cells
    missing = {"nan", "NaT", "<NA>"}
    return [
        None if not isinstance(cell, str | int) and str(cell) in missing else cell for cell in cells
    ]


def read_table(path: Path, required: Sequence[str]) -> Table:
    """The table in a .parquet or .csv file; `TraceError` if a required column is missing."""
    try:
        if path.suffix.lower() == ".parquet":
            table = _read_parquet(path)
        elif path.suffix.lower() == ".csv":
            table = _read_csv(path)
        else:
            raise TraceError(f"{path}: a trace must be a .parquet or a .csv file")
    except FileNotFoundError as error:
        raise TraceError(f"{path}: cannot be read (no such file); check the path") from error
    except OSError as error:
        raise TraceError(
            f"{path}: cannot be read ({error.strerror or shown_text(str(error))}); check the path"
        ) from error
    table.require(*required)
    return table


def _read_parquet(path: Path) -> Table:
    require_extra("parquet", f"{path}: reading Parquet", "give a CSV file")
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # One thread: the figures of a replay are those of one core.
        names = parquet.read_schema(path).names
        headings = _headings(str(path), names)
        table = parquet.read_table(path, use_threads=False)
        table.validate(full=True)
        arrays = [table[name].combine_chunks() for name in names]
        columns = dict(zip(headings, arrays, strict=True))
    except (TraceError, OSError):
        raise
    except (pa.ArrowException, ValueError) as error:
        why = shown_text(str(error))
        raise TraceError(f"{path}: not a Parquet file of ours ({why})") from error
    return Table(str(path), columns, table.num_rows)


def read_headings(path: Path) -> list[str]:
    """The names of the columns of a CSV file; `OSError` or `TraceError` if it has none."""
    return _headings(str(path), next(_csv_rows(path), []))


def _read_csv(path: Path) -> Table:
    heads, *rows = list(_csv_rows(path)) or [[]]
    heads = _headings(str(path), heads)
    for number, row in enumerate(rows, start=1):
        if len(row) != len(heads):
            raise TraceError(
                f"{path}, row {number}: {len(row)} cells under {len(heads)} headings; give one for"
                " each, in quotes where it holds a comma"
            )
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in heads]
    return Table(str(path), dict(zip(heads, columns, strict=True)), len(rows))


def _csv_rows(path: Path) -> Iterator[list[str]]:
    """The rows that are not empty, the headings first; not what tells spreadsheets the comma."""
    row = 0
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            for cells in filter(None, csv.reader(file, strict=True)):
                if row == 0 and cells == ["sep=", ""]:
                    continue
                yield cells
                row += 1
    except csv.Error as error:
        raise TraceError(
            f"{path}, row {row}: no CSV ({error}); close each quote, and double those in a cell"
        ) from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: not a CSV file in UTF-8 ({error}); save it as such") from error
