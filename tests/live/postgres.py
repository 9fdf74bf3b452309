"""A private PostgreSQL server for tests, or a reason why they are skipped."""

import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from pollwise.testing import postgres_server as shipped
from pollwise.testing.postgres_server import PostgresServer as Server

__all__ = ["Server", "postgres_server", "small_disk"]


@contextmanager
def postgres_server() -> Iterator[Server]:
    """A server that has started; the test is skipped where there can be none."""
    if shipped.server_programs() is None:
        pytest.skip("there is no PostgreSQL server: install Debian's package postgresql")
    with shipped.postgres_server() as server:
        yield server


@contextmanager
def small_disk(server: Server) -> Iterator[tuple[str, Path]]:
    """The address of an empty database whose tables are on a disk of 8 MB, and that disk.

    The server is of no use afterwards. The test is skipped where no disk can be mounted.
    """
    with tempfile.TemporaryDirectory(prefix="disk-") as name:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", name], capture_output=True
        )
        if mounted.returncode:
            pytest.skip(f"no disk can be mounted: {mounted.stderr.decode().strip()}")
        try:
            shutil.chown(name, next(o.pw_name for o in pwd.getpwall() if o.pw_name == "postgres"))
            with psycopg.connect(server.url("postgres"), autocommit=True) as session:
                session.execute(f"CREATE TABLESPACE small LOCATION '{name}'".encode())
            yield f"{server.database()}%20-cdefault_tablespace%3Dsmall", Path(name)
        finally:
            subprocess.run(["umount", "-l", name], check=True)
