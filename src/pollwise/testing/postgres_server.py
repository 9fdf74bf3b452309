"""A private PostgreSQL server: real, in a temporary folder, over a socket of its own.

Its programs must be installed, as by Debian's package postgresql.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pollwise.errors import InputError

__all__ = ["PostgresServer", "postgres_server", "server_programs"]

USER = "pollwise"
_DEBIAN = Path("/usr/lib/postgresql")


def server_programs() -> Path | None:
    """The folder with those of the newest server that is installed; None: there is none."""
    found = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    named = shutil.which("initdb")
    return Path(named).resolve().parent if named else None


class PostgresServer:
    """A server that can be stopped and started; `database` makes an empty one."""

    def __init__(self, folder: Path, programs: Path, user: str | None) -> None:
        self._folder = folder
        self._programs = programs
        self._user = user
        self._databases = 0
        self.is_running = False
        self._run("initdb", "-A", "trust", "-U", USER, "--no-sync", "-E", "UTF8", "--locale=C")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / program, "-D", self._folder / "data", *arguments],
            user=self._user,
            cwd=self._folder,
            # What tells of another server is not for this one.
            env={k: v for k, v in os.environ.items() if not k.startswith("PG")} | {"LC_ALL": "C"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout

    def start(self, *settings: str) -> None:
        """Start it, with settings such as `fsync=on`, else off; returns when it answers."""
        told = " ".join(
            f"-c {setting}" for setting in ("listen_addresses=", "fsync=off", *settings)
        )
        options = f"{told} -k {self._folder}"
        log = str(self._folder / "log")
        self._run("pg_ctl", "start", "-w", "-t", "120", "-l", log, "-o", options)
        self.is_running = True

    def stop(self, how: str = "fast") -> None:
        """`how`: fast (sessions are ended) or immediate (as if it had been killed)."""
        self.is_running = False
        self._run("pg_ctl", "stop", "-w", "-t", "120", "-m", how)

    @property
    def process_id(self) -> int:
        """That of the server, whose sessions are its children."""
        return int((self._folder / "data" / "postmaster.pid").read_text().split()[0])

    def url(self, database: str, more: str = "") -> str:
        """The address of a database by its name."""
        return f"postgresql://{USER}@/{database}?host={self._folder}{more}"

    def database(self) -> str:
        """The address of an empty one: a schema, as that takes a hundredth of the time."""
        import psycopg

        self._databases += 1
        name = f"schema_{self._databases}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return self.url("postgres", f"&options=-csearch_path%3D{name}")


@contextmanager
def postgres_server(*settings: str) -> Iterator[PostgresServer]:
    """A server that has started with these settings; `InputError` where none is installed."""
    found = server_programs()
    if found is None:
        raise InputError("there is no PostgreSQL server: install Debian's package postgresql")
    user = None
    if os.geteuid() == 0:  # which the server refuses to run as
        user = next((one.pw_name for one in pwd.getpwall() if one.pw_name == "postgres"), "nobody")
    # The path of a socket may have a hundred characters.
    with tempfile.TemporaryDirectory(prefix="pg-") as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        server = PostgresServer(folder, found, user)
        server.start(*settings)
        try:
            yield server
        finally:
            if server.is_running:
                server.stop("immediate")
