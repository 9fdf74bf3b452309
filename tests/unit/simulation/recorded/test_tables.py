"""Columns of tables: what cells may hold, in CSV and Parquet alike."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from pollwise.errors import TraceError
from pollwise.simulation.recorded.tables import Table, open_table, read_table


def csv_table(folder: Path, text: str) -> Table:
    (folder / "t.csv").write_text(text, encoding="utf-8")
    return read_table(folder / "t.csv", ())


def parquet_table(folder: Path, **columns) -> Table:
    parquet.write_table(pa.table(columns), folder / "t.parquet")
    return read_table(folder / "t.parquet", ())


def test_text_is_numbered_in_the_order_of_its_first_rows(tmp_path):
    for table in (
        csv_table(tmp_path, "page\nb\na\nb\n"),
        parquet_table(tmp_path, page=["b", "a", "b"]),
        parquet_table(tmp_path, page=pa.array(["b", "a", "b"], pa.large_string())),
        parquet_table(tmp_path, page=pa.array(["b", "a", "b"]).dictionary_encode()),
    ):
        codes, texts = table.codes("page")
        assert (codes.tolist(), texts) == ([0, 1, 0], ["b", "a"])
        assert table.texts("page") == ["b", "a", "b"]
        assert len(table) == 3


def test_numbers_may_be_names(tmp_path):
    assert parquet_table(tmp_path, page=[7, 5, 7]).texts("page") == ["7", "5", "7"]


@pytest.mark.parametrize(
    "column",
    [
        [0.0, 86_400.0],
        pa.array([0, 86_400], pa.int32()),
        pa.array([0, 86_400_000_000_000], pa.timestamp("ns")),
        pa.array([datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 2, tzinfo=UTC)]),
        [date(1970, 1, 1), date(1970, 1, 2)],
        [Decimal(0), Decimal(86_400)],
        ["1970-01-01T00:00:00Z", "1970-01-02T01:00:00+01:00"],
    ],
)
def test_times(tmp_path, column):
    assert parquet_table(tmp_path, t=column).times("t").tolist() == [0.0, 86_400.0]


def test_cells_that_may_be_empty(tmp_path):
    for table in (
        csv_table(tmp_path, "t,n\n1,\n,2\n"),
        parquet_table(tmp_path, t=[1, None], n=[None, 2.0]),
        parquet_table(tmp_path, t=["1", None], n=[None, "2"]),
    ):
        assert table.times("t", empty=-1.0).tolist() == [1.0, -1.0]
        assert table.numbers("n", empty=0.5).tolist() == [0.5, 2.0]
        with pytest.raises(TraceError, match=r"row 2: t is empty; fill it in, or drop the row"):
            table.times("t")
        with pytest.raises(TraceError, match=r"row 1: n is empty"):
            table.texts("n")


def test_what_is_no_number(tmp_path):
    for table in (
        csv_table(tmp_path, "n\n1\nmany\n"),
        parquet_table(tmp_path, n=[1.0, math.inf]),
        parquet_table(tmp_path, n=["1", "nan"]),
    ):
        with pytest.raises(TraceError, match=r"row 2: n .* is no number; give a finite one"):
            table.numbers("n")


def test_rows_of_csv_that_do_not_fit(tmp_path):
    with pytest.raises(TraceError, match="row 2: 3 cells under 2 headings"):
        csv_table(tmp_path, "a,b\n1,2\n1,2,3\n")
    assert csv_table(tmp_path, "a,b\n\n1,2\n\n").texts("b") == ["2"]
    assert csv_table(tmp_path, 'a\n"one, two"\n').texts("a") == ["one, two"]


def test_a_first_line_that_tells_spreadsheets_the_comma_is_no_heading(tmp_path):
    assert csv_table(tmp_path, "sep=,\npage,n\na,2\n").texts("page") == ["a"]
    with pytest.raises(TraceError, match=r"t\.csv, row 1: 3 cells under 2 headings"):
        csv_table(tmp_path, "sep=,\na,b\n1,2,3\n")


def test_names_of_columns_may_have_capitals_and_blanks(tmp_path):
    for table in (
        csv_table(tmp_path, "\n Page ,N\na,2\n"),
        parquet_table(tmp_path, **{" Page ": ["a"], "N": [2]}),
        open_table({" Page ": ["a"], "N": [2]}, ("page", "n"), "the table"),
    ):
        assert table.texts("page") == ["a"]
        assert table.numbers("n").tolist() == [2.0]
    with pytest.raises(TraceError, match="two columns are called 'page'; drop or rename one"):
        csv_table(tmp_path, "page,PAGE\na,b\n")


@pytest.mark.parametrize(
    ("rows", "row"), [('"a,1\nb,2\n', 1), ('a,1\n\n"b"c,2\n', 2), ('a,1\nb,"2\n', 2)]
)
def test_quotes_that_are_not_closed(tmp_path, rows, row):
    with pytest.raises(TraceError, match=rf"t\.csv, row {row}: no CSV \(.*\); close each quote"):
        csv_table(tmp_path, f"page,n\n{rows}")


def test_day_numbers_of_a_spreadsheet(tmp_path):
    # 45231.5 is noon of 1 November 2023, by the documentation of Excel and LibreOffice.
    assert datetime(2023, 11, 1, 12, tzinfo=UTC).timestamp() == (45_231.5 - 25_569) * 86_400
    for table in (
        csv_table(tmp_path, "t\n45231.5\n45239\n"),
        parquet_table(tmp_path, t=[45_231.5, 45_239]),
        open_table({"t": [45_231.5, 45_239]}, (), "t"),
    ):
        with pytest.raises(TraceError, match=r"row 1: t 45231.5 .* \(day - 25569\) \* 86400"):
            table.times("t")
    assert csv_table(tmp_path, "t\n0\n45231.5\n").times("t").tolist() == [0.0, 45_231.5]
    assert csv_table(tmp_path, "t\n").times("t").tolist() == []


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
def test_numbers_are_kept_to_the_last_digit(tmp_path_factory, numbers):
    folder = tmp_path_factory.mktemp("numbers")
    written = csv_table(folder, "n\n" + "".join(f"{number!r}\n" for number in numbers))
    stored = parquet_table(folder, n=np.array(numbers, np.float64))
    assert written.numbers("n").tolist() == numbers == stored.numbers("n").tolist()


class Frame:
    """A table as pandas and polars have them: names, and columns that numpy can read."""

    def __init__(self, **columns) -> None:
        self.columns = list(columns)
        self._columns = columns

    def __getitem__(self, name: str):
        return self._columns[name]


@pytest.mark.parametrize("make", [Frame, dict, lambda **columns: pa.table(columns)])
def test_tables_in_memory(make):
    dates = np.array(["1970-01-02", "NaT"], "datetime64[ns]")
    table = open_table(make(page=["b", "a"], t=dates, n=[1, 2]), ("page", "t"), "the table")
    assert table.texts("page") == ["b", "a"]
    assert table.times("t", empty=-1.0).tolist() == [86_400.0, -1.0]
    assert table.numbers("n").tolist() == [1.0, 2.0]
    assert len(table) == 2
    with pytest.raises(TraceError, match=r"^the table, row 2: t is empty; fill it in"):
        table.times("t")


def test_cells_of_python_objects():
    moment = datetime(1970, 1, 2, tzinfo=UTC)
    cells = {"t": [moment, "1970-01-02", 86_400], "page": ["nan", 7, None]}
    table = open_table(cells, (), "the table")
    assert table.times("t").tolist() == [86_400.0] * 3
    with pytest.raises(TraceError, match=r"^the table, row 3: page is empty"):
        table.texts("page")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (5, "the table: int is no table; give the path of one, a DataFrame, or lists"),
        (Frame, "the table: type is no table"),
        ({"t": [1]}, "the table: no column page; it has t"),
        ({"page;t": [1]}, "it has page;t, needed are page: separate them by commas"),
        ({"page\tt": [1]}, "needed are page: separate them by commas"),
        ({"page": ["a"], "t": [1, 2]}, r"the table: its columns have \[1, 2\] rows"),
    ],
)
def test_what_is_no_table(source, words):
    with pytest.raises(TraceError, match=words):
        open_table(source, ("page",), "the table")


def test_times_that_are_no_seconds(tmp_path):
    for table in (
        csv_table(tmp_path, "t\n1714564800\n1714564800000\n"),
        parquet_table(tmp_path, t=[1714564800, 1714564800000]),
        open_table({"t": [1714564800, 1714564800000]}, (), "t"),
    ):
        with pytest.raises(TraceError, match=r"row 2: t 1714564800000 is too large .* by 1000"):
            table.times("t")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([10**400], "row 1: t 1000.* is no time"),
        ([10**5000], "row 1: t int too long to show is no time"),
        ([Decimal("sNaN")], "row 1: t Decimal.* is no time"),
        ([np.datetime64(2**60, "s")], "row 1: t -inf is no time"),
        ([np.timedelta64(5, "s")], "row 1: t '5 seconds' is no time"),
        ([[1.0]], "the table: t .* is no single value"),
        ([[1.0], [1.0, 2.0]], "the table: t .* is no single value"),
        ([np.zeros(2), "x"], "t .* is no single value"),
        (np.zeros((2, 2)), "the table: t .* is no single value"),
        (["x" * 10_000], r"row 1: t 'x{199}\.\.\. is no time"),
    ],
    ids=type,
)
def test_cells_that_are_no_times(column, words):
    with pytest.raises(TraceError, match=words) as error:
        open_table({"t": column}, (), "the table").times("t")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_two_columns_of_one_name(tmp_path):
    frame = Frame(t=[1.0])
    frame.columns = ["t", "t"]
    two = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["t", "t"])
    parquet.write_table(two, tmp_path / "t.parquet")
    for make in (
        lambda: csv_table(tmp_path, "t,t\n1,2\n"),
        lambda: read_table(tmp_path / "t.parquet", ()),
        lambda: open_table(frame, (), "the table"),
    ):
        with pytest.raises(TraceError, match="two columns are called 't'; drop or rename one"):
            make()


@pytest.mark.parametrize("cells", [[[1.0], [2.0]], [{"a": 1}, {"a": 2}]])
def test_parquet_columns_of_several_values(tmp_path, cells):
    table = parquet_table(tmp_path, t=cells)
    for read in (table.times, table.texts, table.numbers):
        with pytest.raises(TraceError, match=r"row 1: t .* is no single value"):
            read("t")


def test_damaged_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    parquet.write_table(pa.table({"page": bad}), path)
    with pytest.raises(TraceError, match="not a Parquet file of ours") as error:
        read_table(path, ())
    assert "\n" not in str(error.value)
    parquet.write_table(pa.table({"page": ["a", "b"] * 50, "t": list(range(100))}), path)
    whole = path.read_bytes()
    generator = np.random.default_rng(1)
    complaints = []
    for _ in range(200):
        data = bytearray(whole)
        for place in generator.integers(4, len(data) - 8, size=3):
            data[place] = generator.integers(256)
        path.write_bytes(data)
        try:
            table = read_table(path, ("page", "t"))
            table.texts("page")
            table.times("t")
        except TraceError as error:
            complaints.append(str(error))
    assert complaints
    assert not any("\n" in complaint for complaint in complaints)


@pytest.mark.parametrize("path", ["", "a\0b.csv"])
def test_what_is_no_path(path):
    with pytest.raises(TraceError, match=r"is no path; give that of a .parquet or a .csv file"):
        open_table(path, (), "the table")
