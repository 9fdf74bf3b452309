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
    ("arguments", "wrong"),
    [
        ((), "name a command"),
        (("watch",), "there is no command 'watch'"),
        (("--quick", "demo"), "there is no command '--quick'"),
    ],
)
def test_without_a_right_command_one_line_says_which_there_are(script, arguments, wrong):
    ended = run(script, *arguments)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == (
        f"bootstrap: {wrong}: `python3 bootstrap.py demo` installs pollwise and shows what it"
        " does, `python3 bootstrap.py test` installs it and runs its tests\n"
    )


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_shows_both_commands(script, option):
    ended = run(script, option)
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert "python3 bootstrap.py demo" in ended.stdout
    assert "python3 bootstrap.py test" in ended.stdout
