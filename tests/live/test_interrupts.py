"""Ctrl-C or SIGTERM before a watch has begun, or while a command is at work, ends it cleanly."""

import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ..fork_server import PROGRAM

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


def test_an_experiment_ends_with_its_workers_and_leaves_nothing(tmp_path: Path) -> None:
    asked = ("reproduce", "gpoks-table-8.2", "--trials", "400", "--no-figure")
    with subprocess.Popen(
        [*PROGRAM, *asked], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        said = b""
        while b" trials" not in said:
            said += process.stderr.read1(1024)
        time.sleep(2.0)  # the workers are loading, or at work
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        assert process.wait() == 130
    assert b"leaked" not in rest
    assert b"Traceback" not in rest
