"""Processes that we start do not see Ctrl-C."""

import os
import subprocess
import sys
from pathlib import Path

import pollwise

PROGRAM = """
import signal
from multiprocessing import get_context

from pollwise.child_processes import without_interrupts


def report():
    print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))


if __name__ == "__main__":
    process = get_context("spawn").Process(target=report)
    with without_interrupts():
        process.start()
    process.join()
"""


def test_even_the_first_one(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(Path(pollwise.__file__).parents[1])}
    said = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (said.stdout, said.stderr) == ("True\n", "")
