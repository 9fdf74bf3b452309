"""Recorded histories: read from tables, replayed as they were, errors in one line."""

import math
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pollwise.errors import InputError, TraceError
from pollwise.simulation.recorded.replay import Replay
from pollwise.types import Outcome

TRACE = "page,changed_at\nb,30\na,10\na,20.5\n"
COMPANION = "page,first_seen,died_at,observed_until\na,5,25,40\nb,8,,50\nc,12,-1,45\n"

WriteText = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> WriteText:
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def content(world: Replay) -> dict[str, tuple]:
    """By page name: changes, birth and death."""
    world.reset(0)
    return {
        page.url: (
            world.changes.of_page(page.id).tolist(),
            world.changes.born[page.id],
            world.changes.died[page.id],
        )
        for page in world.pages
    }


class TestCsv:
    def test_a_table_of_changes(self, write):
        world = Replay.read(write("trace.csv", TRACE))
        assert content(world) == {
            "a": ([10.0, 20.5], 10.0, math.inf),
            "b": ([30.0], 10.0, math.inf),
        }
        assert (world.begin, world.end) == (10.0, 30.0)

    def test_the_companion_tells_of_births_deaths_and_pages_without_changes(self, write):
        write("trace.pages.csv", COMPANION)
        world = Replay.read(write("trace.csv", TRACE))
        assert content(world) == {
            "a": ([10.0, 20.5], 5.0, 25.0),
            "b": ([30.0], 8.0, math.inf),
            "c": ([], 12.0, math.inf),
        }
        assert (world.begin, world.end) == (5.0, 50.0)

    def test_a_companion_need_not_say_until_when_it_looked(self, write):
        write("trace.pages.csv", "page,first_seen,died_at\na,5,45\nb,8,\n")
        assert Replay.read(write("trace.csv", TRACE)).end == 45.0

    def test_times_may_be_iso_8601(self, write):
        rows = ["a,2024-05-01T12:00:00Z", "a,2024-05-01T14:00:01+02:00", "a,2024-05-01T12:00:02"]
        world = Replay.read(write("t.csv", "\n".join(["page,changed_at", *rows])))
        noon = datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp()
        assert world.changes.of_page(0).tolist() == [noon, noon + 1, noon + 2]

    def test_further_columns_are_ignored(self, write):
        world = Replay.read(write("t.csv", "size,changed_at,page\n9,1,a\n9,2,a\n"))
        assert content(world) == {"a": ([1.0, 2.0], 1.0, math.inf)}


class TestParquet:
    def test_the_same_tables_give_the_same_world(self, write, tmp_path):
        write("text.pages.csv", COMPANION)
        expected = Replay.read(write("text.csv", TRACE))
        changes = {"page": ["b", "a", "a"], "changed_at": [30.0, 10.0, 20.5]}
        lives = {
            "page": ["a", "b", "c"],
            "first_seen": [5.0, 8.0, 12.0],
            "died_at": [25.0, None, -1.0],
            "observed_until": [40.0, 50.0, 45.0],
        }
        parquet.write_table(pa.table(changes), tmp_path / "trace.parquet")
        parquet.write_table(pa.table(lives), tmp_path / "trace.pages.parquet")
        world = Replay.read(tmp_path / "trace.parquet")
        assert content(world) == content(expected)
        assert (world.begin, world.end) == (expected.begin, expected.end)

    def test_timestamps_are_times(self, tmp_path):
        noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
        for kind in (pa.timestamp("us", "UTC"), pa.timestamp("ms"), pa.timestamp("ns")):
            column = pa.array([noon.replace(tzinfo=None)], pa.timestamp("us")).cast(kind)
            table = pa.table({"page": ["a"], "changed_at": column})
            parquet.write_table(table, tmp_path / "t.parquet")
            world = Replay.read(tmp_path / "t.parquet")
            assert world.changes.of_page(0).tolist() == [noon.timestamp()]


class TestErrors:
    """Each names the file and what is to be done, in one line."""

    def complaint(self, path: Path, **options: bool) -> str:
        with pytest.raises(TraceError) as error:
            Replay.read(path, **options)
        message = str(error.value)
        assert "\n" not in message
        assert str(path.parent) in message
        return message

    def test_no_such_file(self, tmp_path):
        for name in ("no.csv", "no.parquet"):
            assert f"{name}: cannot be read (no such file)" in self.complaint(tmp_path / name)

    def test_a_folder(self, tmp_path):
        for name in ("folder.csv", "folder.parquet"):
            (tmp_path / name).mkdir()
            assert name in self.complaint(tmp_path / name)

    def test_another_kind_of_file(self, write):
        message = self.complaint(write("trace.xlsx", TRACE))
        assert "must be a .parquet or a .csv file" in message

    def test_missing_columns(self, write):
        message = self.complaint(write("trace.csv", "url,changed_at\na,1\n"))
        assert "trace.csv: no column page; it has url, changed_at" in message
        message = self.complaint(write("trace.csv", ""))
        assert "no column page, changed_at; it has none" in message
        assert (
            "needed are page, changed_at or, of past checks, page, checked_at, changed" in message
        )

    def test_missing_columns_of_the_companion(self, write):
        write("trace.pages.csv", "page,died_at\na,1\n")
        assert "trace.pages.csv: no column first_seen" in self.complaint(write("trace.csv", TRACE))

    @pytest.mark.parametrize("value", ["yesterday", "nan", "inf", "2024-13-01"])
    def test_what_is_no_time(self, write, value):
        message = self.complaint(write("trace.csv", f"page,changed_at\na,1\nb,{value}\n"))
        assert "trace.csv, row 2: changed_at" in message
        assert value in message

    def test_a_change_without_a_time(self, write):
        message = self.complaint(write("trace.csv", "page,changed_at\na,1\nb,\n"))
        assert "trace.csv, row 2: changed_at" in message

    def test_a_row_with_too_few_cells(self, write):
        message = self.complaint(write("trace.csv", "page,changed_at\na,1\nb\n"))
        assert "trace.csv, row 2: 1 cells under 2 headings" in message

    def test_a_birth_without_a_time(self, write):
        write("trace.pages.csv", "page,first_seen,died_at\na,,\n")
        message = self.complaint(write("trace.csv", TRACE))
        assert "trace.pages.csv, row 1: first_seen" in message

    def test_a_change_without_a_page(self, write):
        message = self.complaint(write("trace.csv", "page,changed_at\n,1\n"))
        assert "trace.csv, row 1: page" in message

    def test_no_parquet_inside(self, write):
        assert "trace.parquet: not a Parquet file of ours" in self.complaint(
            write("trace.parquet", "x")
        )

    def test_no_utf8_inside(self, tmp_path):
        path = tmp_path / "trace.csv"
        path.write_bytes(b"page,changed_at\n\xff,1\n")
        assert "not a CSV file in UTF-8" in self.complaint(path)

    def test_an_empty_table(self, write):
        message = self.complaint(write("trace.csv", "page,changed_at\n"))
        assert "trace.csv: no rows" in message

    def test_a_death_before_the_birth(self, write):
        write("trace.pages.csv", "page,first_seen,died_at\na,30,20\n")
        message = self.complaint(write("trace.csv", TRACE))
        assert "trace.pages.csv, row 1: died_at" in message

    @pytest.mark.parametrize(
        ("rows", "row", "words"),
        [
            ("a,2\nb,1\na,1\n", 3, ["'a'", "order of time", "sort the table"]),
            ("a,2\nb,2\nb,1\na,1\n", 3, ["'b'", "order of time", "sort the table"]),
            ("a,1\nb,1\na,1\n", 3, ["'a'", "twice", "keep one"]),
        ],
    )
    def test_times_of_a_page_that_do_not_rise(self, write, rows, row, words):
        message = self.complaint(write("trace.csv", f"page,changed_at\n{rows}"))
        assert f"trace.csv, row {row}: " in message
        for word in words:
            assert word in message

    @pytest.mark.parametrize(
        ("pages", "row", "words"),
        [
            ("b,5,\n", 2, ["'a' has no birth", "trace.pages.csv"]),
            ("a,15,\nb,5,\n", 2, ["'a' changed before its birth (first_seen)"]),
            ("a,5,\nb,5,30\n", 1, ["'b' changed at or after its death (died_at)"]),
        ],
    )
    def test_changes_of_pages_that_are_not_there(self, write, pages, row, words):
        write("trace.pages.csv", f"page,first_seen,died_at\n{pages}")
        message = self.complaint(write("trace.csv", TRACE))
        assert f"trace.csv, row {row}: page " in message
        for word in words:
            assert word in message

    def test_changes_and_births_after_the_recording(self, write):
        write("trace.pages.csv", "page,first_seen,died_at,observed_until\na,5,,25\nb,8,,15\n")
        message = self.complaint(write("trace.csv", TRACE))
        assert "trace.csv, row 1: page 'b' changed after the end of all recording" in message
        write("trace.pages.csv", "page,first_seen,died_at,observed_until\na,5,,40\nb,48,,40\n")
        message = self.complaint(write("trace.csv", TRACE))
        assert "trace.pages.csv, row 2: first_seen is after every observed_until" in message

    def test_a_page_listed_twice(self, write):
        write("trace.pages.csv", "page,first_seen,died_at\na,1,\nb,1,\na,2,\n")
        message = self.complaint(write("trace.csv", TRACE))
        assert "trace.pages.csv, row 3: page 'a' is listed before" in message

    def test_a_table_of_no_pages(self, write):
        write("trace.pages.csv", "page,first_seen,died_at\n")
        assert "trace.pages.csv: no rows" in self.complaint(write("trace.csv", TRACE))

    @pytest.mark.parametrize(
        ("cell", "words"),
        [
            ("-1", ["row 2", "weight -1 is negative"]),
            ("", ["row 2", "weight is empty"]),
            ("much", ["row 2", "weight 'much' is no number"]),
            ("inf", ["row 2", "weight 'inf' is no number"]),
            ("0", ["every weight is 0"]),
        ],
    )
    def test_weights_that_cannot_be_used(self, write, cell, words):
        write("trace.pages.csv", f"page,first_seen,died_at,weight\na,1,,0\nb,1,,{cell}\n")
        path = write("trace.csv", TRACE)
        Replay.read(path)  # they do not matter if they are not asked for
        message = self.complaint(path, weighted=True)
        assert "trace.pages.csv" in message
        for word in words:
            assert word in message

    def test_no_weights(self, write):
        path = write("trace.csv", TRACE)
        assert "leave out --weighted" in self.complaint(path, weighted=True)
        write("trace.pages.csv", COMPANION)
        message = self.complaint(path, weighted=True)
        assert "trace.pages.csv: no column weight" in message

    def test_no_reverts(self, write):
        message = self.complaint(write("trace.csv", TRACE), ignore_reverts=True)
        assert "trace.csv: no column revert" in message
        message = self.complaint(write("trace.csv", "page,changed_at,revert\na,1,0\na,2,2\n"))
        assert "trace.csv, row 2: revert is 2" in message


def test_rates_are_those_of_a_life():
    world = Replay({"a": [10.0, 20.0], "b": [12.0]}, {"a": (0.0, 50.0), "b": (10.0, math.inf)}, 100)
    assert dict(world.rates) == pytest.approx({0: 2 / 50, 1: 1 / 90})


def test_polls_find_changes_and_pages_that_are_gone():
    world = Replay({"a": [10.0, 20.0]}, {"a": (5.0, 30.0)}, 100.0)
    world.reset(0)
    found = [world.poll([0], now)[0].outcome for now in (4.0, 5.0, 9.0, 10.0, 29.0, 30.0)]
    assert found == [
        Outcome.GONE,
        Outcome.CHANGED,  # the first copy
        Outcome.UNCHANGED,
        Outcome.CHANGED,
        Outcome.CHANGED,
        Outcome.GONE,
    ]


def test_past_checks_in_place_of_changes_are_named():
    checks = {"page": ["a"], "checked_at": [1.0], "changed": [1]}
    with pytest.raises(TraceError, match=r"past checks \(checked_at\), not changes"):
        Replay.read(checks)


def test_a_reset_forgets_the_polls():
    world = Replay({"a": [1.0, 9.0]})
    for _ in range(2):
        world.reset(0)
        assert [world.poll([0], now)[0].outcome for now in (1.0, 2.0)] == [
            Outcome.CHANGED,
            Outcome.UNCHANGED,
        ]


class TestWhatPagesAre:
    PAGES = (
        "page,first_seen,died_at,site,type,weight\n"
        "b,5,,two.example,news,0.5\na,5,,one.example,shop,3\n"
    )

    def test_site_kind_and_weight(self, write):
        write("trace.pages.csv", self.PAGES)
        path = write("trace.csv", TRACE)
        a, b = Replay.read(path, weighted=True).pages
        assert (a.url, a.site, a.kind, a.weight) == ("a", "one.example", "shop", 3.0)
        assert (b.url, b.site, b.kind, b.weight) == ("b", "two.example", "news", 0.5)
        assert [page.weight for page in Replay.read(path).pages] == [1.0, 1.0]

    def test_without_a_type_the_kind_is_the_pattern_of_the_name(self, write):
        path = write("t.csv", "page,changed_at\nblog/2024/one,1\nblog/2025/two,2\n")
        assert {page.kind for page in Replay.read(path).pages} == {"blog/#/*"}
        write("t.pages.csv", "page,first_seen,died_at\nblog/2024/one,1,\nblog/2025/two,1,\n")
        assert {page.kind for page in Replay.read(path).pages} == {"blog/#/*"}


class TestReverts:
    TRACE = "page,changed_at,revert\na,10,0\na,20,1\na,30,0\na,40,1\nb,15,0\n"

    def test_polls_tell_of_them(self, write):
        world = Replay.read(write("trace.csv", self.TRACE))
        world.reset(0)
        found = [world.poll([0], now)[0] for now in (20.0, 25.0, 30.0, 40.0, 41.0)]
        assert [one.outcome for one in found] == [
            Outcome.CHANGED,
            Outcome.UNCHANGED,
            Outcome.CHANGED,
            Outcome.CHANGED,
            Outcome.UNCHANGED,
        ]
        # The first copy cannot have been seen before, and the change of 20 is known already.
        assert [one.reverted for one in found] == [False, False, False, True, False]

    def test_they_may_count_for_nothing(self, write):
        world = Replay.read(write("trace.csv", self.TRACE), ignore_reverts=True)
        assert world.changes.of_page(0).tolist() == [10.0, 30.0]
        assert world.changes.of_page(1).tolist() == [15.0]
        assert not any(world.poll([0], now)[0].reverted for now in (12.0, 45.0))


def test_polls_may_tell_when_a_page_changed_last(write):
    write("trace.pages.csv", "page,first_seen,died_at\na,5,\nb,8,\n")
    path = write("trace.csv", "page,changed_at\na,10\na,20\nb,30\n")
    assert Replay.read(path).poll([0], 11.0)[0].last_changed_at is None
    world = Replay.read(path, last_changed=True)
    told = [[found.last_changed_at for found in world.poll([0, 1], now)] for now in (9, 10, 25, 30)]
    # Page a was there before the history begins, so that its birth is not known.
    assert told == [[None, 8.0], [10.0, 8.0], [20.0, 8.0], [20.0, 30.0]]


def test_a_part_of_a_history(write):
    write("t.pages.csv", "page,first_seen,died_at,site\na,0,25,x\nb,5,,y\nc,60,,z\nd,10,,z\n")
    rows = "a,10,0\na,20,1\nb,15,1\nb,20,0\nb,30,0\nc,70,0\n"
    whole = Replay.read(write("t.csv", f"page,changed_at,revert\n{rows}"), last_changed=True)
    part = whole.within(12.0, 30.0)
    assert content(part) == {
        "a": ([20.0], 12.0, 25.0),
        "b": ([15.0, 20.0], 12.0, math.inf),
        "d": ([], 12.0, math.inf),
    }
    assert [(page.id, page.site) for page in part.pages] == [(0, "x"), (1, "y"), (2, "z")]
    assert part.changes.reverted.tolist() == [True, True, False]
    assert (part.begin, part.end, part.tells_last_changed) == (12.0, 30.0, True)
    assert whole.within(-10.0, 1e3).end == whole.end
    with pytest.raises(InputError, match="no page lives"):
        whole.within(-10.0, -5.0)


def test_some_pages_of_a_history(write):
    write("t.pages.csv", "page,first_seen,died_at,site\na,0,25,x\nb,5,,y\nc,6,,z\n")
    rows = "a,10,0\na,20,1\nb,15,1\nb,20,0\nb,30,0\n"
    whole = Replay.read(write("t.csv", f"page,changed_at,revert\n{rows}"), last_changed=True)
    some = whole.among([2, 0])
    assert content(some) == {"c": ([], 6.0, math.inf), "a": ([10.0, 20.0], 0.0, 25.0)}
    assert [(page.id, page.site) for page in some.pages] == [(0, "z"), (1, "x")]
    assert some.changes.reverted.tolist() == [False, True]
    assert (some.begin, some.end, some.tells_last_changed) == (0.0, 30.0, True)


def test_a_history_with_further_pages():
    whole = Replay({"a": [1.0, 7.0], "b": [3.0]})
    more = whole.joined_by({"n": [2.0, 4.0], "m": []})
    assert content(more) == content(whole) | {
        "n": ([2.0, 4.0], 1.0, math.inf),
        "m": ([], 1.0, math.inf),
    }
    assert [(page.id, page.site) for page in more.pages[2:]] == [(2, "n"), (3, "m")]
    assert (more.begin, more.end) == (1.0, 7.0)
    assert whole.joined_by({}).changes.offsets.tolist() == whole.changes.offsets.tolist()
    assert whole.joined_by({}).changes.offsets.dtype == np.int64


class TestOrder:
    """The ids of pages are in the order of the caller."""

    def test_of_names(self):
        world = Replay({"b": [2.0], "a": [1.0]}, {"c": (0.0, math.inf), "a": (0.0, math.inf)})
        assert [page.url for page in world.pages] == ["b", "a", "c"]
        assert world.changes.of_page(1).tolist() == [1.0]
        assert world.changes.born.tolist() == [0.0, 0.0, 0.0]

    def test_of_tables_in_memory(self):
        changes = {"page": ["b", "a", "b"], "changed_at": [1.0, 2.0, 3.0]}
        assert content(Replay.read(changes)).keys() == {"b", "a"}
        assert [page.url for page in Replay.read(changes).pages] == ["b", "a"]
        lives = {"page": ["c", "a", "b"], "first_seen": [0, 0, 0], "died_at": [None, 9, -1]}
        world = Replay.read(changes, lives)
        assert [page.url for page in world.pages] == ["c", "a", "b"]
        assert world.changes.of_page(2).tolist() == [1.0, 3.0]

    def test_of_files_by_name(self, write):
        write("trace.pages.csv", "page,first_seen,died_at\nb,5,45\na,8,\n")
        assert [page.url for page in Replay.read(write("trace.csv", TRACE)).pages] == ["a", "b"]


class TestTimesInWords:
    def test_of_changes_lives_and_the_end(self):
        moment = datetime(1970, 1, 2, tzinfo=UTC)
        world = Replay(
            {"a": ["1970-01-02", moment.replace(day=3)], "b": np.array(["1970-01-04"], "M8[D]")},
            {"b": (moment, math.inf)},
            end=np.datetime64("1970-01-05"),
        )
        assert content(world)["a"] == ([86_400.0, 2 * 86_400.0], 86_400.0, math.inf)
        assert content(world)["b"] == ([3 * 86_400.0], 86_400.0, math.inf)
        assert world.end == 4 * 86_400.0
        assert len(world.within("1970-01-02T12:00", "1970-01-03T12:00").changes.times) == 1

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"a": [1714564800000]}, r"changes of 'a'=1714564800000 .* divide milliseconds"),
            ({"a": ["soon"]}, r"changes of 'a'='soon' must be a time"),
            ({"a": 5.0}, r"changes of 'a'=5.0 must be a list of times"),
            ([("a", 5.0)], r"must be times by the names of pages; for a table, Replay.read"),
        ],
    )
    def test_what_is_no_time(self, changes, words):
        with pytest.raises(InputError, match=words):
            Replay(changes)

    def test_paths_may_be_text(self, write):
        assert Replay.read(str(write("trace.csv", TRACE))).end == 30.0
