"""A process that the fork server makes is what one is that began by itself."""

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .. import fork_server
from ..fork_server import ENVIRONMENT, FORK, FORKED, PROGRAM

BY_ITSELF = PROGRAM[:2]

TELLS = f"""
import contextlib, gc, importlib, json, locale, os, resource, signal, sys, threading, time, warnings
from pathlib import Path

for name in {fork_server._MODULES!r}:
    importlib.import_module(name)
files = {{}}
for one in Path("/proc/self/fd").iterdir():
    with contextlib.suppress(OSError):  # by which it was looked for
        files[one.name] = os.readlink(one).partition(":")[0]
told = dict(
    names=sorted(globals()),
    module=[__name__, __doc__, repr(__spec__), type(__loader__).__name__],
    words=[sys.argv, sys.orig_argv[1:], sys.path, sys.executable],
    python=[repr(sys.flags), sys._xoptions, sys.warnoptions, sys.getrecursionlimit()],
    texts=[sys.getfilesystemencoding(), locale.setlocale(locale.LC_ALL), time.tzname],
    folder=os.getcwd(),
    environment=dict(os.environ),
    streams=[
        [s.encoding, s.errors, s.line_buffering, s.write_through, s.isatty(), s.fileno(), s.mode]
        + [s.name, type(s.buffer).__name__, s.seekable()]
        for s in (sys.stdin, sys.stdout, sys.stderr)
    ],
    same=[getattr(sys, n) is getattr(sys, f"__{{n}}__") for n in ("stdin", "stdout", "stderr")],
    files=files,
    signals=[repr(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
    blocked=sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    limits=[resource.getrlimit(number) for number in range(16)],
    processors=sorted(os.sched_getaffinity(0)),
    niceness=os.getpriority(os.PRIO_PROCESS, 0),
    parent=os.getppid(),
    leads=[os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid()],
    group=os.getpgrp() if os.getpgrp() != os.getpid() else None,
    threads=[len(os.listdir("/proc/self/task")), threading.active_count()],
    main_thread=threading.main_thread().native_id == os.getpid(),
    garbage=[gc.isenabled(), gc.get_threshold()],
    warnings=sorted(map(repr, warnings.filters)),
    new_files=os.umask(0),
)
Path(sys.argv[1]).write_text(json.dumps(told))
"""


@pytest.mark.parametrize("case", ["plain", "session", "group", "files", "terminal"])
def test_it_is_like_one_that_began_by_itself(tmp_path: Path, case: str) -> None:
    folder, written = tmp_path / "folder", tmp_path / "written"
    folder.mkdir()
    master, terminal = pty.openpty()
    told: list[dict[str, Any]] = []
    with written.open("w+") as file:
        options: dict[str, Any] = {
            "plain": {"env": {**ENVIRONMENT, "TZ": "Asia/Tokyo", "OWN": "ü=1"}, "cwd": folder},
            "session": {"env": ENVIRONMENT, "start_new_session": True, "umask": 0o027},
            "group": {"env": ENVIRONMENT, "process_group": 0, "stdin": subprocess.PIPE},
            "files": {"env": ENVIRONMENT, "stdin": file, "stdout": file, "stderr": file},
            "terminal": {
                "env": ENVIRONMENT,
                **dict.fromkeys(("stdin", "stdout", "stderr"), terminal),
            },
        }[case]
        for number, interpreter in enumerate((BY_ITSELF, FORK)):
            answer = tmp_path / f"{number}.json"
            subprocess.run([*interpreter, TELLS, answer], check=True, **options)
            told.append(json.loads(answer.read_text()))
            told[-1]["words"][0].remove(str(answer))
            told[-1]["words"][1].remove(str(answer))
    os.close(master)
    os.close(terminal)
    for name in told[0]:
        assert told[1][name] == told[0][name], name


def test_it_has_random_numbers_of_its_own() -> None:
    code = (
        "import numpy, os, random, sys, uuid\n"
        "print(random.random(), numpy.random.random(), uuid.uuid4(), os.urandom(8).hex())"
    )
    told = [
        subprocess.run([*FORK, code], env=ENVIRONMENT, capture_output=True, text=True).stdout
        for _ in range(3)
    ]
    for numbers in zip(*(line.split() for line in told), strict=True):
        assert len(set(numbers)) == 3, numbers


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("pass", 0, ""),
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('no')", 1, "no\n"),
        ("import sys; sys.stdout.write('held back')", 0, "held back"),
        ("import atexit; atexit.register(print, 'at the end')", 0, "at the end\n"),
        ("import os; os._exit(7)", 7, ""),
        ("import os; os.abort()", -signal.SIGABRT, ""),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
        ("raise KeyboardInterrupt", -signal.SIGINT, "KeyboardInterrupt\n"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGTERM); signal.pause()",
            -signal.SIGTERM,
            "",
        ),
    ],
)
def test_it_ends_as_one_that_began_by_itself(code: str, status: int, said: str) -> None:
    for interpreter in (BY_ITSELF, FORK):
        ended = subprocess.run(
            [*interpreter, code],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert ended.returncode == status
        assert ended.stdout.endswith(said)
        assert said or not ended.stdout


async def test_asyncio_starts_signals_and_kills_it() -> None:
    code = "print(*open(0), flush=True); import signal; signal.pause()"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process = await asyncio.create_subprocess_exec(
            *(*FORK, code),
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"heard")
        process.stdin.close()
        assert await process.stdout.readline() == b"heard\n"
        process.send_signal(number)
        assert await process.wait() == -number
        assert await process.stdout.read() == b""
        assert not Path(f"/proc/{process.pid}").exists()


@pytest.mark.parametrize(
    "variable", ["HOME", "LC_ALL", "NUMBA_CACHE_DIR", "OPENBLAS_NUM_THREADS", "PYTHONHASHSEED"]
)
def test_what_loading_would_have_read_is_refused(variable: str) -> None:
    with pytest.raises(ValueError, match=variable):
        subprocess.run([*FORKED, "status"], env={**ENVIRONMENT, variable: "7"})


@pytest.mark.parametrize("option", [{"close_fds": False}, {"pass_fds": (0,)}, {"user": 0}])
def test_what_it_cannot_be_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="start PROGRAM"):
        subprocess.run([*FORKED, "status"], env=ENVIRONMENT, **option)


def test_the_server_ends_with_the_tests_and_others_do_not_become_theirs(tmp_path: Path) -> None:
    """However they end. What a process leaves is not the tests', but of who takes all in."""
    code = (
        "import os, subprocess, sys, time\n"
        f"sys.path.insert(0, {str(Path(fork_server.__file__).parent)!r})\n"
        "from fork_server import ENVIRONMENT, FORK\n"
        "made = [*FORK, 'import os; print(os.getpid())']\n"
        "subprocess.run(made, env=ENVIRONMENT, check=True)\n"
        "left = ['sh', '-c', 'sleep 0.2 & exit']\n"
        "subprocess.run(left, check=True)\n"
        "print(open(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read(), flush=True)\n"
        "time.sleep(1000 * (sys.argv[1] == 'killed'))"
    )
    for end in ("itself", "killed"):
        with subprocess.Popen(
            [sys.executable, "-c", code, end], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
        ) as tests:
            assert tests.stdout is not None
            made = int(tests.stdout.readline())
            [server] = tests.stdout.readline().split()
            assert made != int(server)
            if end == "killed":
                tests.kill()
        given_up_at = time.monotonic() + 60.0
        while is_running(server):
            assert time.monotonic() < given_up_at
            time.sleep(0.01)


def is_running(process: str) -> bool:
    """Not if it has ended, and only nobody has waited for it."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
    return "State:\tZ" not in status
