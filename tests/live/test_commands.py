"""Commands as processes: where their output goes, and how they end when it goes nowhere."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version

from ..fork_server import ENVIRONMENT, FORKED, PROGRAM
from .telling import but_for_slowness

URL = "http://a.example/"


@pytest.fixture
def folder(tmp_path) -> Path:
    """With a database of one page, which was watched."""
    with Store.open(tmp_path / "pollwise.db") as store:
        store.add_pages([NewPage(URL, "a.example")], now=0.0)
        store.start_run(0.0, {"budget": "1/hour"}, b"")
    return tmp_path


@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize("words", [("status",), ("explain", URL)])
def test_a_reader_that_has_gone(folder, words, more):
    reading, writing = os.pipe()
    os.close(reading)
    command = [*FORKED, *words, *more]
    with open(writing, "wb") as out:
        end = subprocess.run(
            command, cwd=folder, env=ENVIRONMENT, stdout=out, stderr=subprocess.PIPE, check=False
        )
    assert (end.returncode, but_for_slowness(end.stderr.decode())) == (128 + signal.SIGPIPE, "")


def test_nobody_reads_what_is_wrong(folder):
    out, into = os.pipe()
    os.close(out)
    with open(into, "wb") as closed:
        command = [*FORKED, "status", "--db", "none.db"]
        end = subprocess.run(command, cwd=folder, env=ENVIRONMENT, stderr=closed, check=False)
    assert end.returncode == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "--file", "-"), b"# two pages\nhttp://b.example/\n"),
        (("import", "-"), b"<urlset><url><loc>http://b.example/</loc></url></urlset>"),
        (("import", "-"), b"name: b\nurl: http://b.example/\n"),
    ],
)
def test_pages_may_come_by_the_standard_input(folder, words, told):
    command = [*PROGRAM, *words]
    subprocess.run(command, cwd=folder, env=ENVIRONMENT, input=told, check=True)
    with Store.open_readonly(folder / "pollwise.db") as store:
        assert [record.page.url for record in store.pages()] == [URL, "http://b.example/"]
    empty = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, input=b"", capture_output=True, check=False
    )
    assert empty.returncode == 2
    assert empty.stderr.startswith(b"pollwise: the standard input")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "--file", "-"), b"http://b.example/\n"),
        (("import", "-"), b"<urlset><url><loc>http://b.example/</loc></url></urlset>"),
    ],
)
def test_the_standard_input_need_not_be_opened_by_its_name(folder, words, told):
    """Which the system refuses for a socket, and for the pipe of another user."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(told)
        ours.shutdown(socket.SHUT_WR)
        command = [*PROGRAM, *words]
        subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdin=theirs, check=True)
    with Store.open_readonly(folder / "pollwise.db") as store:
        assert [record.page.url for record in store.pages()] == [URL, "http://b.example/"]


def test_a_list_may_be_typed(folder):
    ours, theirs = os.openpty()
    with open(ours, "wb", buffering=0) as keys, open(theirs, "rb", buffering=0) as terminal:
        keys.write(b"http://b.example/\n\x04")
        command = [*PROGRAM, "add", "--file", "-"]
        subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdin=terminal, check=True, timeout=60)
    with Store.open_readonly(folder / "pollwise.db") as store:
        assert [record.page.url for record in store.pages()] == [URL, "http://b.example/"]


def export_of_a_page(folder: Path) -> list[str]:
    """An export to standard output, longer than what is held back before it is written."""
    url = f"http://a.example/{'a' * 100_000}"
    version = Version(0, 1.0, "text/plain", b"whale", "hash")
    first = Observation(0, 1.0, Outcome.CHANGED)
    seen = PollResult(first, PageMemory(body_hash="hash"), version)
    with Store.open(folder / "export.db") as store:
        store.add_pages([NewPage(url)], now=0.0)
        store.commit(Batch(polls=(seen,)))
    return ["export", "-", "--format", "jsonl", "--db", "export.db"]


def test_the_reader_of_an_export_that_has_gone(folder):
    reading, writing = os.pipe()
    os.close(reading)
    command = [*PROGRAM, *export_of_a_page(folder)]
    with open(writing, "wb") as out:
        end = subprocess.run(
            command, cwd=folder, env=ENVIRONMENT, stdout=out, stderr=subprocess.PIPE, check=False
        )
    assert (end.returncode, but_for_slowness(end.stderr.decode())) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("export",)])
def test_an_output_that_is_full(folder, words):
    if words == ("export",):
        words = export_of_a_page(folder)
    with open("/dev/full", "wb") as out:
        end = subprocess.run(
            [*FORKED, *words],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert end.returncode == 2
    why = "standard output cannot be written: No space left on device; free some space"
    assert but_for_slowness(end.stderr.decode()) == f"pollwise: {why}\n"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("add http://127.0.0.1/ --db added.db", 0),
        ("status --db none.db", 2),
        ("watch --once --db none.db", 2),
        ("--nonsense", 2),
    ],
)
def test_notices_for_which_a_disk_has_no_room_change_no_exit_status(folder, words, status):
    with open("/dev/full", "wb") as log:
        end = subprocess.run(
            [*FORKED, *words.split()], cwd=folder, env=ENVIRONMENT, stderr=log, check=False
        )
    assert end.returncode == status


TO_A_SLOW_READER = """
import signal, sys
from pollwise.cli import program

def app(**_):
    signal.signal(signal.SIGALRM, lambda *_: print("now", flush=True))
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    print("x" * 300_000, file=sys.stderr)

program.app = app
program.run()
"""


def test_a_signal_while_the_reader_is_slow_loses_nothing():
    """It ends a write early, of which the rest is still to be written."""
    command = [sys.executable, "-c", TO_A_SLOW_READER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=pipe, stderr=pipe) as process:
        assert process.stdout.readline() == b"now\n"
        assert len(process.stderr.read()) == 300_001
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("words", "closed", "status"),
    [
        ("status", ">&-", 0),
        ("status --json", ">&-", 0),
        ("status", "2>&-", 0),
        ("status --db none.db", "2>&-", 2),
        ("status --db none.db", ">&- 2>&-", 2),
    ],
)
def test_streams_that_were_closed_before_it_began(folder, words, closed, status):
    command = f'exec "$0" "$@" {words} {closed}'
    end = subprocess.run(
        ["sh", "-c", command, *PROGRAM],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
    )
    assert end.returncode == status, end
    assert but_for_slowness(end.stderr.decode()) == ""


@pytest.mark.parametrize("words", ["list", "watch http://127.0.0.1:9/ --once", "add http://h/"])
def test_a_folder_that_was_removed(tmp_path, words):
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@"'
    python, *rest = PROGRAM  # -P: as the script does, it looks for no modules in the folder
    end = subprocess.run(
        ["sh", "-c", script, python, "-P", *rest, *words.split()],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
    )
    assert end.returncode == 2
    assert end.stderr.endswith(b"is gone: change into another one\n")
    assert len(end.stderr.splitlines()) == 1


IN_A_CLASS = """
from pollwise.cli import program

class Interrupted:
    def __set_name__(self, *_):
        raise KeyboardInterrupt

def app(**_):
    class Unfinished:
        part = Interrupted()

program.app = app
program.run()
"""


def test_an_interrupt_while_a_class_is_made():
    """Up to Python 3.11 that is a `RuntimeError`."""
    end = subprocess.run(
        [sys.executable, "-c", IN_A_CLASS], env=ENVIRONMENT, capture_output=True, check=False
    )
    assert (end.returncode, end.stderr) == (130, b"")


def test_a_long_simulation_that_is_interrupted():
    words = ("simulate", "--polls", "100000", "--policy", "uniform", "--seeds", "100000")
    process = subprocess.Popen([*PROGRAM, *words], env=ENVIRONMENT, stderr=subprocess.PIPE)
    with process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"uniform, seed 1 of 100000\n"
        process.send_signal(signal.SIGINT)
        lines = process.stderr.read().splitlines()
    assert process.returncode == 130
    assert all(line.startswith(b"uniform, seed ") for line in lines)


def ended_reproduction(folder: Path, end: Callable[[int], None]) -> tuple[int, bytes, bytes]:
    """End a reproduction in its midst: its status and output, once no process of it is left."""
    words = ("reproduce", "gpoks-table-8.2", "--trials", "20000", "--no-figure")
    process = subprocess.Popen(
        [*PROGRAM, *words],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline().endswith(b" trials\n")
        end(process.pid)
        # Ends with the last process that holds the other end of the pipes.
        out, err = process.communicate(timeout=30)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, out, err


def test_a_reproduction_that_is_interrupted(tmp_path):
    """As at a terminal: all processes of the group get the signal, and none is left."""
    status, out, err = ended_reproduction(tmp_path, lambda group: os.killpg(group, signal.SIGINT))
    assert (status, out) == (130, b"")
    assert b"Traceback" not in err


def test_a_reproduction_that_is_killed_leaves_no_process(tmp_path):
    status, out, _ = ended_reproduction(tmp_path, lambda process: os.kill(process, signal.SIGKILL))
    assert (status, out) == (-signal.SIGKILL, b"")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it counts threads")
@pytest.mark.parametrize("told", [None, "2"])
def test_linear_algebra_has_one_thread_unless_somebody_wants_more(told):
    environment = {n: value for n, value in ENVIRONMENT.items() if n != "OPENBLAS_NUM_THREADS"}
    if told is not None:
        environment["OPENBLAS_NUM_THREADS"] = told
    code = (
        "import os, sys\n"
        "from pollwise.cli import main\n"
        "sys.argv = ['pollwise', '--version']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "import numpy\n"
        "print(os.environ['OPENBLAS_NUM_THREADS'], len(os.listdir('/proc/self/task')))"
    )
    command = [sys.executable, "-c", code]
    out = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    number, threads = out.split()[-2:]
    assert number == (b"1" if told is None else b"2")
    assert threads == b"1" or told is not None


def test_it_ends_without_a_search_for_garbage_in_all_that_was_loaded():
    code = (
        "import atexit, gc\n"
        "from pollwise.cli import main\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 10_000))\n"
        "main()"
    )
    command = [sys.executable, "-c", code, "--version"]
    out = subprocess.run(
        command, env=ENVIRONMENT, capture_output=True, text=True, check=True
    ).stdout
    assert out.splitlines()[-1] == "True"


@pytest.mark.parametrize("files", [10, 20, 40])
@pytest.mark.parametrize("command", ["watch", "serve", "collect"])
def test_too_few_open_files_are_one_line(tmp_path, command, files):
    words = {
        "watch": ["http://127.0.0.1:9/"],
        "serve": ["--port", "0"],
        "collect": ["--topic", "a b", "--seed", "http://127.0.0.1:9/"],
    }[command]
    limited = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]
    end = subprocess.run(
        [*limited, *PROGRAM, command, *words, "--db", "a.db"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert end.returncode == 2, end.stderr
    assert re.fullmatch(
        "pollwise: the limit on open files is .*raise it [(]see `ulimit -n`[)]\n", end.stderr
    )
    assert not [*tmp_path.glob("a.db*")]


def test_too_little_memory_for_the_library_that_compiles_is_one_line(tmp_path):
    # Address space for Python and its other libraries, but not for that of LLVM.
    limited = ["sh", "-c", 'ulimit -v 250000; exec "$@"', "sh"]
    command = [*limited, *PROGRAM, "watch", "http://127.0.0.1:9/", "--once", "--db", "a.db"]
    one_thread = {**ENVIRONMENT, "OPENBLAS_NUM_THREADS": "1"}
    end = subprocess.run(
        command, cwd=tmp_path, env=one_thread, capture_output=True, text=True, check=False
    )
    assert end.returncode == 2
    assert "Traceback" not in end.stderr
    assert end.stderr.endswith("pollwise: this machine has too little free memory for that\n")
