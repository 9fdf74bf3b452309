import json
import lzma
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError, TraceError
from pollwise.testing.timelapse import Revision, TimeLapse, site_of

HISTORIES = {
    "news": [Revision(0.0, "one"), Revision(15.0, "two"), Revision(20.0, "three")],
    "late": [Revision(12.0, "born"), Revision(25.0, "after the end")],
}


@pytest.fixture
def timelapse() -> TimeLapse:
    return TimeLapse(HISTORIES, start=10.0, end=20.0)


@pytest.fixture(scope="module")
def bundled() -> TimeLapse:
    return TimeLapse.bundled()


def write(path: Path, *lines: str) -> Path:
    path.write_bytes(lzma.compress("".join(line + "\n" for line in lines).encode()))
    return path


def row(page: str = "a", time: float = 1.0, body: str = "x") -> str:
    return json.dumps({"page": page, "time": time, "body": body})


def test_a_page_is_what_it_was_at_that_time(timelapse: TimeLapse) -> None:
    assert timelapse.page_names == ("late", "news")
    assert timelapse.body_at("news", 14.9) == "one"
    assert timelapse.body_at("news", 15.0) == "two"
    assert timelapse.body_at("news", 1e9) == "three"


def test_a_page_is_not_there_before_it_appears(timelapse: TimeLapse) -> None:
    assert timelapse.body_at("late", 11.9) is None
    assert timelapse.body_at("late", 12.0) == "born"


def test_changes_are_those_of_the_window_without_the_appearance(timelapse: TimeLapse) -> None:
    assert timelapse.change_times("news") == (15.0, 20.0)
    assert timelapse.change_times("late") == ()


@given(
    times=st.lists(st.integers(0, 100), min_size=1, max_size=8, unique=True).map(sorted),
    asked=st.integers(-1, 101),
)
def test_the_revision_at_a_time_is_the_latest_that_is_not_later(
    times: list[int], asked: int
) -> None:
    history = [Revision(float(time), str(time)) for time in times]
    timelapse = TimeLapse({"page": history}, start=0.0, end=100.0)
    past = [revision for revision in history if revision.time <= asked]
    assert timelapse.revision_at("page", float(asked)) == (past[-1] if past else None)


def test_an_unknown_page_is_named(timelapse: TimeLapse) -> None:
    with pytest.raises(InputError, match="no page 'nws'"):
        timelapse.body_at("nws", 12.0)


@pytest.mark.parametrize(
    ("histories", "end", "message"),
    [
        ({}, 20.0, "0 pages"),
        (HISTORIES, 10.0, "end after the start"),
        ({"a": []}, 20.0, "page 'a'"),
        ({"a": [Revision(1.0, "x"), Revision(1.0, "y")]}, 20.0, "not in order"),
    ],
)
def test_histories_that_are_none(
    histories: dict[str, list[Revision]], end: float, message: str
) -> None:
    with pytest.raises(TraceError, match=message):
        TimeLapse(histories, start=10.0, end=end)


def test_a_file_gives_its_own_window_unless_told(tmp_path: Path) -> None:
    path = write(tmp_path / "t.xz", row(time=1), row("b", 3), row(time=7, body="y"))
    timelapse = TimeLapse.load(path)
    assert (timelapse.start, timelapse.end) == (1.0, 7.0)
    assert timelapse.history("a") == ((1.0, "x"), (7.0, "y"))
    assert TimeLapse.load(path, start=2.0, end=5.0).change_times("a") == ()


@pytest.mark.parametrize(
    "bad", ["{", "[]", "7", '{"page": "a", "time": 1}', row(body=None), row(time="x")]
)
def test_a_bad_line_is_named(tmp_path: Path, bad: str) -> None:
    path = write(tmp_path / "t.xz", row(), bad)
    with pytest.raises(TraceError, match=r"t\.xz, line 2: .* write an object"):
        TimeLapse.load(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole.xz", row()).read_bytes()
    (tmp_path / "text.xz").write_text(row())
    (tmp_path / "half.xz").write_bytes(whole[: len(whole) // 2])
    write(tmp_path / "empty.xz")
    for name in ("missing.xz", "text.xz", "half.xz", "empty.xz"):
        with pytest.raises(TraceError, match=name):
            TimeLapse.load(tmp_path / name)


def test_the_bundled_pages(bundled: TimeLapse) -> None:
    names = bundled.page_names
    changes = [len(bundled.change_times(name)) for name in names]
    assert len(names) == 101
    assert len({site_of(name) for name in names}) == 12
    assert bundled.end - bundled.start == 365 * 86400
    assert changes.count(0) == 40
    assert sum(count > 365 for count in changes) == 1
    assert all(bundled.body_at(name, bundled.start) is not None for name in names)
    for name in names:
        history = bundled.history(name)
        assert len(bundled.change_times(name)) == len(history) - 1
        assert bundled.body_at(name, bundled.end) == history[-1].body
        assert all(a.body != b.body for a, b in pairwise(history))
