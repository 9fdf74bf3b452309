"""The bootstrap script, where it does not install anything to the end."""

import os
import runpy
import shutil
import signal
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


@pytest.fixture
def start(tmp_path):
    """Starts a copy of the script in a group of its own, as a terminal does."""
    script = Path(shutil.copy(SCRIPT, tmp_path))
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    started = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-I", str(script), "demo"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def interrupt(process):
    os.killpg(process.pid, signal.SIGINT)
    return process.communicate(timeout=60)


def test_an_interrupted_program_ends_in_its_own_way(start, tmp_path):
    names = runpy.run_path(str(tmp_path / "bootstrap.py"))
    names["BIN"].mkdir(parents=True)
    names["STAMP"].write_text(names["fingerprint"]())
    program = names["BIN"] / "pollwise"
    program.write_text(
        f"#!{sys.executable}\n"
        "import sys, time\n"
        "try:\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    time.sleep(1)\n"
        "    print('ended')\n"
        "    sys.exit(3)\n"
    )
    program.chmod(0o755)
    process = start()
    assert process.stdout.readline() == "begun\n"
    assert interrupt(process) == ("ended\n", "")
    assert process.returncode == 3


def test_an_interrupted_installation_ends_with_a_line(start):
    process = start()
    assert process.stderr.readline() == "bootstrap: making .venv\n"
    assert interrupt(process) == ("", "bootstrap: stopped: the same command goes on with it\n")
    assert process.returncode == 130
