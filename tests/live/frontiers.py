"""A frontier as a process, for tests: started, killed, ended."""

import os
import re
import signal
import subprocess
import threading
from pathlib import Path

import grpc

from pollwise.frontier import Client

from ..fork_server import FORKED, PROGRAM, SOURCE
from .daemons import PATIENCE
from .preparing import HANGUPS_HEEDED, prepared, small_files

WAIT = 60.0


class FrontierProcess:
    """`pollwise frontier` with its file in a folder; `said` are its lines so far.

    `hung_up`: it heeds SIGHUP, and has no terminal, or else this one, which may be hung up.
    """

    def __init__(
        self,
        folder: Path,
        *words: str,
        largest_file: int | None = None,
        hung_up: bool = False,
        terminal: str | None = None,
    ) -> None:
        self.folder = folder
        self.words = words
        self.largest_file = largest_file
        self.hung_up = hung_up
        self.terminal = terminal
        self.said: list[str] = []
        self.port = 0
        self.start()

    def start(self) -> None:
        program = FORKED
        if self.largest_file is not None:
            program = (*prepared(small_files(self.largest_file)), *PROGRAM)
        if self.hung_up:
            # What leads a session has the first terminal that it opens as its own.
            taking = () if self.terminal is None else (f"os.open({self.terminal!r}, os.O_RDWR)",)
            program = (*prepared(HANGUPS_HEEDED, *taking), *PROGRAM)
        self.process = subprocess.Popen(
            [*program, "frontier", "--port", str(self.port), *self.words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": SOURCE},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=self.hung_up,
        )
        started = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(started,), daemon=True)
        self._reader.start()
        assert started.wait(PATIENCE), self.said
        assert self.port, self.said

    def _read(self, started: threading.Event) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"served at [^ ]*:(\d+)$", line):
                self.port = int(found[1])
                started.set()
        started.set()

    def client(self, timeout: float = WAIT) -> Client:
        return Client(f"127.0.0.1:{self.port}", timeout=timeout)

    def channel(self) -> grpc.Channel:
        return grpc.insecure_channel(f"127.0.0.1:{self.port}")

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        status = self.process.wait(WAIT)
        self._reader.join(WAIT)
        return status

    def kill(self) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGKILL)

    @property
    def resident(self) -> int:
        """Bytes of memory that it has now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024
