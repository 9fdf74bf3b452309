"""What is said while an answer is made."""

import time

import pytest

from pollwise.cli import answers


def test_what_takes_long_is_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(answers, "_SILENT", 0.0)
    told = ""
    with answers.reading_what_was_learned():
        while not told:
            time.sleep(0.01)
            told = capsys.readouterr().err
    assert told.startswith("pollwise: getting ready")


def test_what_is_quick_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with answers.reading_what_was_learned():
        pass
    assert capsys.readouterr().err == ""
