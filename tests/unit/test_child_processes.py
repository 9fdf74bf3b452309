"""Processes that we start do not see Ctrl-C."""

import os
import subprocess
import sys
from pathlib import Path

import pollwise

BLOCKED = """
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


INTERRUPTED = """
import os
import signal
import threading
import time

from pollwise.child_processes import without_interrupts

threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
try:
    with without_interrupts():
        os.kill(os.getpid(), signal.SIGINT)  # the other thread takes it
        time.sleep(0.1)
        print("all was started", flush=True)
except KeyboardInterrupt:
    print("interrupted")
"""

SIGNALLED_TWICE = """
import os
import signal
import sys

from pollwise.child_processes import without_interrupts

signal.signal(signal.SIGTERM, lambda *signalled: sys.exit("terminated"))
signal.signal(signal.SIGINT, lambda *signalled: print("interrupted"))
with without_interrupts():
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)
"""


def output(program: str, folder: Path) -> tuple[str, str]:
    """What a program says, and its errors."""
    path = folder / "program.py"
    path.write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(Path(pollwise.__file__).parents[1])}
    said = subprocess.run(
        [sys.executable, path], env=environment, capture_output=True, text=True, timeout=60
    )
    return said.stdout, said.stderr


def test_even_the_first_one(tmp_path: Path) -> None:
    assert output(BLOCKED, tmp_path) == ("True\n", "")


def test_an_interrupt_waits_until_all_are_started(tmp_path: Path) -> None:
    assert output(INTERRUPTED, tmp_path) == ("all was started\ninterrupted\n", "")


def test_all_signals_are_handed_on_whatever_the_first_of_them_does(tmp_path: Path) -> None:
    assert output(SIGNALLED_TWICE, tmp_path) == ("interrupted\n", "terminated\n")
