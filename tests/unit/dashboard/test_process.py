"""The process that answers, by itself: how it ends."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pollwise
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.live.run_figures import encode
from pollwise.store import Store

from .some_figures import FIGURES

DEFECTIVE = """
import sys

from pollwise.dashboard import process

process.decode = None
sys.exit(process.main())
"""
SOUND = DEFECTIVE.replace("process.decode = None\n", "")


def ended(program: str, db: Path) -> subprocess.CompletedProcess[str]:
    """It hears one line of figures, and then its input ends."""
    Store.open(db).close()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number = listener.fileno()
        return subprocess.run(
            [sys.executable, "-c", program, str(number)],
            input=f"{AnsweringTerms(db).encode()}\n{encode(FIGURES)}\n",
            env={**os.environ, "PYTHONPATH": str(Path(pollwise.__file__).parents[1])},
            pass_fds=[number],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def test_it_ends_with_its_input(tmp_path: Path) -> None:
    end = ended(SOUND, tmp_path / "x.db")
    assert (end.returncode, end.stderr) == (0, "")


def test_a_defect_in_hearing_what_the_run_says_ends_it_with_an_error(tmp_path: Path) -> None:
    end = ended(DEFECTIVE, tmp_path / "x.db")
    assert end.returncode == 1
    assert end.stderr.startswith("Traceback")
    assert end.stderr.endswith("TypeError: 'NoneType' object is not callable\n")
