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


GOES_ON = f"{GETS_READY}    while True: sys.stderr.write('it goes on\\n')\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_waits_is_written_before_the_line(number: signal.Signals) -> None:
    ended = ended_after(f"{GETS_READY}    signal.raise_signal({int(number)})\n")
    *before, last = ended.stderr.splitlines()
    assert before == [str(number) for number in range(1_000)]
    assert last.startswith("stopped before its run began")
    assert ended.returncode == -number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM] * 5)
def test_it_ends_in_the_middle_of_a_write(number: signal.Signals) -> None:
    ended = ended_after(GOES_ON, number)
    assert ended.stderr.splitlines()[-1].startswith("stopped before its run began")
    assert ended.returncode == -number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM] * 5)
def test_another_signal_ends_it_at_once(number: signal.Signals) -> None:
    """It may come in the middle of the first one's handler, which holds whatever it holds."""
    ended = ended_after(GOES_ON, number, signal.SIGINT, signal.SIGTERM)
    assert -ended.returncode in (signal.SIGINT, signal.SIGTERM)


def test_a_hangup_without_a_terminal_waits_and_nohup_stays() -> None:
    """It ended a collection that compiled, without a word."""
    hung_up = "signal.raise_signal(signal.SIGHUP)\nprint(repr(signal.getsignal(signal.SIGHUP)))\n"
    said = {}
    for handler in ("SIG_DFL", "SIG_IGN"):
        before = f"import signal\nsignal.signal(signal.SIGHUP, signal.{handler})\n"
        ended = subprocess.run(
            [sys.executable, "-c", f"{before}{GETS_READY}{hung_up}"],
            capture_output=True,
            text=True,
            start_new_session=True,
            timeout=60,
        )
        assert ended.returncode == 0
        said[handler] = ended.stdout
    assert "NotedHangup" in said["SIG_DFL"]
    assert "SIG_IGN" in said["SIG_IGN"]


def ended_after(code: str, *signalled: signal.Signals) -> subprocess.CompletedProcess[str]:
    """The end of a process, which gets these signals once it has written something."""
    writing = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, bufsize=0)
    assert writing.stderr is not None
    first = writing.stderr.readline()
    for number in signalled:
        writing.send_signal(number)
    rest = writing.communicate(timeout=60)[1]
    return subprocess.CompletedProcess(
        writing.args, writing.returncode, stderr=(first + rest).decode()
    )
