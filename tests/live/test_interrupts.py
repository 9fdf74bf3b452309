"""Ctrl-C or SIGTERM before a watch has begun leaves the terminal as it was."""

import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from .daemons import PROGRAM

HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("sign", [b"watching", HIDE])
def test_the_end_at_the_start_shows_the_cursor_and_a_line(
    tmp_path: Path, sign: bytes, number: signal.Signals
) -> None:
    """However far it has come: it says that it stopped."""
    ours, its = pty.openpty()
    watch = subprocess.Popen(
        [*PROGRAM, "watch", "http://127.0.0.1:9/", "--allow-private", "--budget", "1/hour"],
        cwd=tmp_path,
        stdin=its,
        stdout=its,
        stderr=its,
    )
    os.close(its)
    shown = b""
    while sign not in shown:
        shown += os.read(ours, 1024)
    watch.send_signal(number)
    try:
        while part := os.read(ours, 1024):
            shown += part
    except OSError:  # it has ended
        pass
    finally:
        os.close(ours)
    assert watch.wait() in (0, -number)
    assert shown.rfind(HIDE) <= shown.rfind(SHOW)
    assert b"stopped" in shown.splitlines()[-1]
