"""The bootstrap script, where it does not install anything."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "bootstrap.py"


@pytest.fixture
def script(tmp_path):
    """A copy far from the repository; afterwards still alone in its directory."""
    copy = Path(shutil.copy(SCRIPT, tmp_path))
    yield copy
    assert list(tmp_path.iterdir()) == [copy]


def run(script, *arguments):
    return subprocess.run(
        [sys.executable, "-I", str(script), *arguments], capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("arguments", "given"),
    [((), "none"), (("watch",), "'watch'"), (("--quick", "demo"), "'--quick'")],
)
def test_a_wrong_command_is_named_in_one_line(script, arguments, given):
    ended = run(script, *arguments)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == (
        f"bootstrap: no such command: {given};"
        " usage: python3 bootstrap.py {demo,test} [ARGUMENT...]\n"
    )


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_shows_both_commands(script, option):
    ended = run(script, option)
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert "python3 bootstrap.py demo" in ended.stdout
    assert "python3 bootstrap.py test" in ended.stdout
