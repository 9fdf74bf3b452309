"""A recorded history of real changes as a world."""

import csv
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from pollwise.errors import TraceError
from pollwise.metrics import Changes
from pollwise.simulation.world import Recorded
from pollwise.types import Page

__all__ = ["Replay"]

_MAY_BE_EMPTY = ("died_at", "observed_until")


class Replay(Recorded):
    """The pages and changes of a table; every reset gives the same history.

    `changes` maps the name of each page to the times (UTC seconds) at which it changed, `lives`
    to its birth and death (infinite: none); pages without an entry are there from the first
    change of the whole table on. Pages are polled from their birth on, without a copy at first.

    >>> world = Replay({"a": [3.0, 1.0], "b": []}, lives={"b": (2.0, math.inf)})
    >>> world.reset(seed=0)
    >>> world.begin, world.end, world.change_times(0).tolist()
    (1.0, 3.0, [1.0, 3.0])
    """

    def __init__(
        self,
        changes: Mapping[str, list[float]],
        lives: Mapping[str, tuple[float, float]] | None = None,
        end: float | None = None,
    ) -> None:
        super().__init__()
        lives = {} if lives is None else lives
        names = sorted({*changes, *lives})
        times = [np.unique(np.asarray(changes.get(name, ()), np.float64)) for name in names]
        known = np.concatenate([*times, [born for born, _ in lives.values()]])
        if len(known) == 0:
            raise TraceError("the trace has no pages: give one with at least one change or birth")
        self.begin = float(known.min())
        latest = max([float(known.max()), *(d for _, d in lives.values() if math.isfinite(d))])
        self._end = latest if end is None else end
        born = np.array([lives.get(name, (self.begin, math.inf))[0] for name in names])
        died = np.array([lives.get(name, (self.begin, math.inf))[1] for name in names])
        table = Changes.of(times, born, died)
        self._set_history([Page(i, url=name) for i, name in enumerate(names)], table)

    @classmethod
    def read(cls, path: Path) -> "Replay":
        """Read a table with the columns `page` and `changed_at`, Parquet or CSV by its ending.

        Times are UTC seconds, or in CSV also ISO 8601. A table NAME.pages.parquet (or .csv)
        beside NAME.parquet, with the columns `page`, `first_seen` and `died_at` (negative or
        empty: alive) and perhaps `observed_until`, says when pages were born and died.
        `TraceError` names what is missing and where.
        """
        table = _read_table(path, ("page", "changed_at"))
        changes: dict[str, list[float]] = {}
        for page, changed_at in zip(table["page"], table["changed_at"], strict=True):
            changes.setdefault(page, []).append(changed_at)
        companion = path.with_name(f"{path.stem}.pages{path.suffix}")
        lives, end = _read_lives(companion) if companion.is_file() else ({}, None)
        if not changes and not lives:
            raise TraceError(f"{path}: no rows; a trace needs at least one change")
        return cls(changes, lives, end)

    @property
    def end(self) -> float:
        """When the history ends."""
        return self._end

    @property
    def rates(self) -> Mapping[int, float]:
        """Changes per second of each page's life: what a policy could have known at best."""
        changes = self._changes
        lived = np.minimum(changes.died, self._end) - np.maximum(changes.born, self.begin)
        counts = np.diff(changes.offsets)
        return dict(enumerate((counts / np.maximum(lived, 1.0)).tolist()))

    def reset(self, seed: int, duration: float = math.inf) -> None:
        """Begin anew; there is no chance in a recorded history."""
        self._set_history(self._pages, self._changes)


def _read_lives(path: Path) -> tuple[dict[str, tuple[float, float]], float | None]:
    """Births and deaths by page, and until when pages were observed (None: not told)."""
    table = _read_table(path, ("page", "first_seen", "died_at"))
    lives = {}
    rows = zip(table["page"], table["first_seen"], table["died_at"], strict=True)
    for row, (page, born, died) in enumerate(rows, start=1):
        if 0 <= died < born:
            raise TraceError(
                f"{path}, row {row}: died_at {died:.0f} is before first_seen {born:.0f};"
                " leave died_at empty for a page that is alive"
            )
        lives[page] = (born, died if died >= 0 else math.inf)
    until = [time for time in table.get("observed_until", []) if time >= 0]
    return lives, max(until) if until else None


def _read_table(path: Path, required: tuple[str, ...]) -> dict[str, list[Any]]:
    """Columns by name: `page` as text, the others as seconds."""
    try:
        if path.suffix == ".parquet":
            table = _read_parquet(path)
        elif path.suffix == ".csv":
            table = _read_csv(path)
        else:
            raise TraceError(f"{path}: a trace must be a .parquet or a .csv file")
    except OSError as error:
        raise TraceError(
            f"{path}: cannot be read ({error.strerror or error}); check the path"
        ) from error
    missing = [name for name in required if name not in table]
    if missing:
        raise TraceError(
            f"{path}: no column {', '.join(missing)}; it has {', '.join(table) or 'none'},"
            f" needed are {', '.join(required)}"
        )
    columns = (name for name in (*required, "observed_until") if name in table)
    return {
        name: [_cell(path, name, row, value) for row, value in enumerate(table[name], start=1)]
        for name in columns
    }


def _read_parquet(path: Path) -> dict[str, list[Any]]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise TraceError(
            f"{path}: reading Parquet needs pyarrow; run pip install 'pollwise[parquet]',"
            " or give a CSV file"
        ) from error
    try:
        columns: dict[str, list[Any]] = parquet.read_table(path).to_pydict()
    except ValueError as error:  # such as ArrowInvalid, or a time with nanoseconds
        raise TraceError(f"{path}: not a Parquet file of ours ({error})") from error
    return columns


def _read_csv(path: Path) -> dict[str, list[Any]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            columns: dict[str, list[Any]] = {name: [] for name in rows.fieldnames or ()}
            for row in rows:
                for name, column in columns.items():
                    column.append(row[name])
    except (csv.Error, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: not a CSV file in UTF-8 ({error})") from error
    return columns


def _cell(path: Path, column: str, row: int, value: object) -> str | float:
    """A cell as the name of a page, or as UTC seconds: -1 where it is empty and may be."""
    if value is None or value == "":
        if column in _MAY_BE_EMPTY:
            return -1.0
        raise TraceError(f"{path}, row {row}: {column} is empty; fill it in, or drop the row")
    return str(value) if column == "page" else _seconds(path, column, row, value)


def _seconds(path: Path, column: str, row: int, value: object) -> float:
    """A cell of a time column as UTC seconds."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    try:
        seconds = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            seconds = math.nan
        else:
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(seconds):
        raise TraceError(
            f"{path}, row {row}: {column} {value!r} is no time; give UTC seconds or ISO 8601,"
            " such as 2024-05-01T12:00:00Z"
        )
    return seconds
