"""The line of a command that is ended while it gets ready comes after all others."""

import signal
import subprocess
import sys

import pytest

GETS_READY = """
import signal, sys
from pollwise.cli.answers import notify
from pollwise.console.interrupts import end_on_interrupt
from pollwise.console.slow_readers import stderr_beside

end_on_interrupt()
with stderr_beside(notify):
    for number in range(1_000):
        sys.stderr.write(f"{number}\\n")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_waits_is_written_before_the_line(number: signal.Signals) -> None:
    ended = ended_after(f"{GETS_READY}    signal.raise_signal({int(number)})\n", signalled=None)
    *before, last = ended.stderr.splitlines()
    assert before == [str(number) for number in range(1_000)]
    assert last.startswith("stopped while it got ready")
    assert ended.returncode == -number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM] * 5)
def test_it_ends_in_the_middle_of_a_write(number: signal.Signals) -> None:
    goes_on = "    while True: sys.stderr.write('it goes on\\n')\n"
    ended = ended_after(f"{GETS_READY}{goes_on}", signalled=number)
    assert ended.stderr.splitlines()[-1].startswith("stopped while it got ready")
    assert ended.returncode == -number


def ended_after(code: str, signalled: signal.Signals | None) -> subprocess.CompletedProcess[str]:
    """The end of a process, which gets a signal once it has written something."""
    writing = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, bufsize=0)
    assert writing.stderr is not None
    first = writing.stderr.readline()
    if signalled is not None:
        writing.send_signal(signalled)
    rest = writing.communicate(timeout=60)[1]
    return subprocess.CompletedProcess(
        writing.args, writing.returncode, stderr=(first + rest).decode()
    )
