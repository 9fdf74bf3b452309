"""Words before a program by which its process is prepared first.

`preexec_fn` would run in a fork of the tests, which does not always survive: threads of gRPC hold
on to what a fork has closed. A process that prepares itself and then runs the program needs none.
"""

import sys

__all__ = ["CLOSED_INPUT", "HANGUPS_HEEDED", "prepared", "small_files"]

CLOSED_INPUT = "os.close(0)"
HANGUPS_HEEDED = "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
"""Tests that run in the background may have been told to ignore hangups, as `nohup` does."""

_EXECUTE = "os.execv(sys.argv[1], sys.argv[1:])"


def small_files(size: int) -> str:
    """What would make a file larger than so many bytes fails, as on a full disk.

    No byte code is written: Python 3.11 would keep the first part of it, for all tests after.
    """
    limits = f"({size}, resource.getrlimit(resource.RLIMIT_FSIZE)[1])"
    no_byte_code = "os.environ['PYTHONDONTWRITEBYTECODE'] = '1'"
    return f"resource.setrlimit(resource.RLIMIT_FSIZE, {limits}); {no_byte_code}"


def prepared(*statements: str) -> tuple[str, ...]:
    """What to put before the path and the words of a program."""
    return (
        sys.executable,
        "-c",
        "\n".join(("import os, resource, signal, sys", *statements, _EXECUTE)),
    )
