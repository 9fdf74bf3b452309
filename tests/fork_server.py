"""The command `pollwise` as a process that tests start, but that loads its modules only once.

Most of the time that such a process takes is that of loading numba, numpy, aiohttp and the rest. A
fork server has loaded them and forks a child for each start. `FORKED` stands for the program
among the words of a command: whatever starts processes by `subprocess`, as asyncio does, too, then
has the server of this process do it, which begins with the first one::

    subprocess.run([*FORKED, "status", "--json"], cwd=folder, env=ENVIRONMENT)

The child is one of the tests' process, as any that it starts: it is waited for, signalled and
killed by its number. It has the folder, environment, standard streams, session and words that it
was given, no other open file, and random numbers of its own, and it ends as
`python -c "from pollwise.cli import main; main()"` does, since that is what runs. If the folder is
not there, this child ends with status 1, and nothing is raised.

What is settled before modules are loaded, or by loading them, it has from the server: Python's
flags and encodings, the system's limits, the seed of hashes (one of each server, not of each
child), what was read from the environment. A start whose environment differs in what was read is
refused. So tests of what is loaded, when, and with which settings start `PROGRAM`, a process that
loads all by itself; so does at least one test of every command that is started at all.
"""

import atexit
import ctypes
import gc
import importlib
import io
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import pollwise

__all__ = ["ENVIRONMENT", "FORK", "FORKED", "PROGRAM", "SOURCE", "serve"]

_RUN = "from pollwise.cli import main; main()"
PROGRAM = (sys.executable, "-c", _RUN)
"""The words of the command in a process that loads its modules itself."""
FORK = ("a fork of python", "-c")
"""The words before a program, as code, that is run in a process which the fork server makes."""
FORKED = (*FORK, _RUN)
"""The words of the command in such a process."""
SOURCE = str(Path(pollwise.__file__).parents[1])
ENVIRONMENT = {**os.environ, "PYTHONPATH": SOURCE}
"""With it, both find the modules that are tested."""

_MODULES = (
    "pollwise.cli.program",
    "pollwise.console.collecting",
    "pollwise.console.status",
    "pollwise.console.watching",
    "pollwise.dashboard.answering",
    "pollwise.insight.learned",
    "pollwise.live.collecting",
    "pollwise.live.control",
    "pollwise.live.shards",
    "pollwise.live.watching",
    "pollwise.scrapy",
    "pollwise.store.sqlite.store",
    "scrapy.cmdline",
    "scrapy.core.downloader.handlers.http11",
    "scrapy.downloadermiddlewares.cookies",
    "uvloop",
)
"""They load nearly all that tested commands and crawls do, and begin no thread: no fork would have
it."""
_READ_BEFORE = (
    *("LANG", "LC_", "LD_", "MALLOC_", "NUMBA_", "OMP_"),
    *("OPENBLAS_", "OPENSSL_", "PYTHON", "SSL_"),
)
"""How variables begin that Python, libraries in C or, among all others, numba read."""
_WIDTHS = {"COLUMNS", "LINES"}
"""While modules are loaded, they are only read for how wide numba's errors are."""
_LARGEST_MESSAGE = 200_000
_SET_CHILD_SUBREAPER = 36
_fork_exec: Any = vars(subprocess)["_fork_exec"]


class _Start(NamedTuple):
    """What a child is told; its standard streams go with it."""

    words: list[str]
    folder: str
    environment: dict[str, str]
    new_session: bool
    process_group: int
    umask: int


class _Link:
    """The end of the tests: the server begins with the first start, and ends with this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel: socket.socket | None = None
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl

    def start(self, start: _Start, streams: list[int]) -> int:
        """Give the number of the new process; raises ValueError if it must not be a fork."""
        with self._lock:
            channel = self._channel = self._channel or self._begin()
            # A child whose parent has ended becomes one of ours, while we take such in.
            self._take_orphans(True)
            try:
                socket.send_fds(channel, [pickle.dumps(tuple(start))], streams)
                answer = channel.recv(_LARGEST_MESSAGE)
            finally:
                self._take_orphans(False)
        child, differing = pickle.loads(answer)
        if differing:
            raise ValueError(f"{differing} are not as in the fork server: start PROGRAM instead")
        assert isinstance(child, int)
        return child

    def _take_orphans(self, do: bool) -> None:
        if self._prctl(_SET_CHILD_SUBREAPER, int(do), 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")

    @staticmethod
    def _begin() -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            program = _SERVE.format(str(Path(__file__).parent), theirs.fileno())
            server = subprocess.Popen(
                [sys.executable, "-c", program],
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

        def end() -> None:
            ours.close()
            server.wait()

        atexit.register(end)
        return ours


_LINK = _Link()
_SERVE = """\
import sys
sys.path[0] = {0!r}
import fork_server
exec(fork_server.serve({1}))
"""
"""Its children go on to run what `serve` gives, so that they end as any process does."""


def _start_process(words: Any, *told: Any) -> int:
    """Start what `subprocess` has to: in the place of `_posixsubprocess.fork_exec`."""
    if words[0] != FORK[0]:
        number: int = _fork_exec(words, *told)
        return number
    _, alone, kept, folder, environment, stdin, _, _, stdout, _, stderr, _, errors = told[:13]
    restored, new_session, process_group, gid, gids, uid, umask, prepare = told[13:21]
    if (alone, kept, restored, gid, gids, uid, prepare) != (True, (errors,), True, *4 * (None,)):
        raise ValueError("the fork server makes no such process: start PROGRAM instead")
    if environment is None:
        environment = [name + b"=" + value for name, value in os.environb.items()]
    start = _Start(
        [os.fsdecode(word) for word in words[1:]],
        os.fsdecode(folder or os.getcwd()),
        dict(os.fsdecode(pair).split("=", 1) for pair in environment),
        new_session,
        process_group,
        umask,
    )
    streams = enumerate((stdin, stdout, stderr))
    return _LINK.start(start, [own if given == -1 else given for own, given in streams])


vars(subprocess)["_fork_exec"] = _start_process


def serve(number: int) -> str:
    """Fork for each start that comes over the socket of this number.

    Returns in the children only: the code that they are to run.
    """
    ours = dict(os.environ)
    read = _load_modules()
    channel = socket.socket(fileno=number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which end us
    # Children need not look through what is there, of which each would then need a copy.
    gc.collect()
    gc.freeze()
    while True:
        message, streams, _, _ = socket.recv_fds(channel, _LARGEST_MESSAGE, 3)
        if not message:  # the tests have ended
            os._exit(0)
        start = _Start(*pickle.loads(message))
        other = {name for name, _ in start.environment.items() ^ ours.items()}
        differing = sorted(n for n in other if n in read or n.startswith(_READ_BEFORE))
        child = 0 if differing else _fork()
        if child is None:
            channel.close()
            return _become(start, streams)
        channel.send(pickle.dumps((child, differing)))
        for stream in streams:
            os.close(stream)


def _load_modules() -> set[str]:
    """Load them; gives the variables of the environment that they read by name."""
    read: set[str] = set()
    variables: Any = type(os.environ)
    get = variables.__getitem__

    def noted(environment: object, name: str) -> str:
        if sys._getframe(1).f_code.co_name != "__iter__":  # that of all of them
            read.add(name)
        value: str = get(environment, name)
        return value

    variables.__getitem__ = noted
    try:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does
        for name in _MODULES:
            importlib.import_module(name)
        pollwise.BayesianIndex()  # the first kernel has numba load the rest of it
    finally:
        variables.__getitem__ = get
    if len(os.listdir("/proc/self/task")) != 1:
        raise RuntimeError("to load the modules has begun threads, which no fork would have")
    return read - _WIDTHS


def _fork() -> int | None:
    """Fork a process whose parent is ours; gives its number, or None in the process itself."""
    reading, writing = os.pipe()
    between = os.fork()
    if between == 0:
        between = os.getpid()
        child = os.fork()
        if child != 0:
            os.write(writing, child.to_bytes(8, "big"))
            os._exit(0)
        os.close(reading)
        os.close(writing)
        while os.getppid() == between:
            time.sleep(0.0005)
        return None
    os.waitpid(between, 0)
    child = int.from_bytes(os.read(reading, 8), "big")
    os.close(reading)
    os.close(writing)
    return child


def _become(start: _Start, streams: list[int]) -> str:
    """Make this process what it would be, had it begun by itself; gives the code to run."""
    import numpy  # whose threads the environment has limited by now

    vars(subprocess)["_fork_exec"] = _fork_exec
    if start.new_session:
        os.setsid()
    if start.process_group >= 0:
        os.setpgid(0, start.process_group)
    if start.umask >= 0:
        os.umask(start.umask)
    os.chdir(start.folder)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = sys.__stdin__ = _opened(sys.stdin)
    sys.stdout = sys.__stdout__ = _opened(sys.stdout)
    sys.stderr = sys.__stderr__ = _opened(sys.stderr)
    os.environ.clear()
    os.environ.update(start.environment)
    time.tzset()
    sys.path[0] = ""
    option, code, *more = start.words
    sys.argv[:] = [option, *more]
    sys.orig_argv[1:] = start.words
    numpy.random.seed()
    threading.current_thread()._set_native_id()  # type: ignore[attr-defined]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    del sys.modules["fork_server"], vars(sys.modules["__main__"])["fork_server"]
    del vars(sys.modules["__main__"])["sys"]
    return code


def _opened(like: Any) -> io.TextIOWrapper:
    """Open a standard stream, as Python does when it begins, for what its number now stands for."""
    number, writes, holds_back = like.fileno(), like.mode == "w", not like.write_through
    held_back = 0 if writes and not holds_back else -1
    buffer: Any = open(number, like.mode + "b", held_back, closefd=False)  # noqa: SIM115
    getattr(buffer, "raw", buffer).name = like.name
    stream = io.TextIOWrapper(
        buffer,
        like.encoding,
        like.errors,
        newline="\n" if writes else None,
        line_buffering=holds_back and (number == 2 or buffer.isatty()),
        write_through=not holds_back,
    )
    vars(stream)["mode"] = like.mode
    return stream
