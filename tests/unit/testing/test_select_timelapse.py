"""The script that selected the bundled pages."""

import json
import lzma
import runpy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pollwise.testing.timelapse import Revision, TimeLapse

SCRIPT = Path(__file__).parents[3] / "tools" / "select_timelapse.py"
DAY = 86400.0
NEW_YEAR = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
FREE = "This document is in the\npublic domain."


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def history(*days: float, text: str = FREE) -> tuple[Revision, ...]:
    return tuple(Revision(NEW_YEAR + day * DAY, f"{text} {day}") for day in days)


def test_only_pages_that_may_be_shipped(script: dict[str, Any]) -> None:
    timelapse = TimeLapse(
        {"a": history(0, 5), "b": history(0, text="All rights reserved.")},
        start=NEW_YEAR,
        end=NEW_YEAR + 10 * DAY,
    )
    assert list(script["free_pages"](timelapse)) == ["a"]


def test_the_window_is_the_first_year_with_the_most_changes(script: dict[str, Any]) -> None:
    start, end = script["best_window"](
        {"a": history(0, 40, 45, 380)}, NEW_YEAR, NEW_YEAR + 800 * DAY
    )
    assert datetime.fromtimestamp(start, UTC) == datetime(2020, 2, 1, tzinfo=UTC)
    assert datetime.fromtimestamp(end, UTC) == datetime(2021, 2, 1, tzinfo=UTC)


def test_a_history_within_a_window(script: dict[str, Any]) -> None:
    within = script["within"]
    start, end = NEW_YEAR + 10 * DAY, NEW_YEAR + 20 * DAY
    assert within(history(0, 5, 15, 25), start, end) == history(5, 15)
    assert within(history(12, 15), start, end) == history(12, 15)
    assert within(history(30), start, end) == ()


def test_frequent_pages_are_all_taken_and_long_quiet_ones_are_not(script: dict[str, Any]) -> None:
    histories = {f"quiet-{i}": history(0) for i in range(300)}
    histories |= {f"rare-{i}": history(0, 1) for i in range(80)}
    histories |= {f"busy-{i}": history(*range(9), text="x" * 40_000) for i in range(30)}
    histories["long"] = history(0, text="x" * 40_000)
    chosen = script["select"](histories)
    assert len(chosen) == len(set(chosen)) == 250
    counts = {kind: sum(name.startswith(kind) for name in chosen) for kind in ("busy", "rare")}
    assert counts == {"busy": 30, "rare": 50}
    assert "long" not in chosen


def test_the_script_from_file_to_file(
    script: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"page": page, "time": int(time), "body": body}
        for page, revisions in {"a": history(0, 50, 100), "b": history(10)}.items()
        for time, body in [*revisions, (NEW_YEAR + 500 * DAY, FREE + page)]
    ]
    source, target = tmp_path / "in.xz", tmp_path / "out.xz"
    source.write_bytes(lzma.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    script["main"]([str(source), str(target)])
    said = capsys.readouterr().err
    assert said.startswith("2020-02-01 to 2021-02-01: 2 pages, 4 texts, 2 changes, 0 pages")
    selected = TimeLapse.load(target)
    assert selected.history("a") == history(0, 50, 100)
    assert selected.history("b") == history(10)


def test_a_bad_input_is_told_in_one_line(script: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"none\.xz: the time-lapse cannot be read"):
        script["main"]([str(tmp_path / "none.xz"), str(tmp_path / "out.xz")])


def test_a_history_shorter_than_a_year_is_refused(script: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="shorter than a year"):
        script["best_window"]({}, NEW_YEAR, NEW_YEAR + 200 * DAY)
