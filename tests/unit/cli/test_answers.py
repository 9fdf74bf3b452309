"""What is said while an answer is made."""

import sys
import time
from pathlib import Path

import pytest

from pollwise.cli import answers


@pytest.mark.parametrize("is_compiled", [True, False])
def test_what_takes_long_is_explained(
    is_compiled: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(answers, "_SILENT", 0.0)
    monkeypatch.setattr("pollwise.kernel_folder.kernel_folder", lambda: str(tmp_path))
    monkeypatch.setitem(sys.modules, "numba", sys)
    if is_compiled:
        with answers.reading_what_was_learned("plan"):
            pass
        time.sleep(0.05)
        capsys.readouterr()
    told = ""
    with answers.reading_what_was_learned("plan"):
        while not told:
            time.sleep(0.01)
            told = capsys.readouterr().err
    assert told.startswith("pollwise: getting ready: what was learned is read")
    assert ("the first time that takes up to a minute" in told) is not is_compiled


def test_where_nothing_compiled_can_be_kept_each_time_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(answers, "_SILENT", 0.0)
    monkeypatch.setattr("pollwise.kernel_folder.kernel_folder", str)
    told = ""
    with answers.reading_what_was_learned("plan"):
        while not told:
            time.sleep(0.01)
            told = capsys.readouterr().err
    assert "; each time, as nothing compiled can be kept (XDG_CACHE_HOME " in told
    assert "the first time" not in told


def test_what_is_quick_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with answers.reading_what_was_learned("plan"):
        pass
    assert capsys.readouterr().err == ""
