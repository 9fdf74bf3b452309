"""A private PostgreSQL server for tests, or a reason why they are skipped."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pollwise.testing import postgres_server as shipped
from pollwise.testing.postgres_server import PostgresServer as Server

__all__ = ["Server", "postgres_server"]


@contextmanager
def postgres_server() -> Iterator[Server]:
    """A server that has started; the test is skipped where there can be none."""
    if shipped.server_programs() is None:
        pytest.skip("there is no PostgreSQL server: install Debian's package postgresql")
    with shipped.postgres_server() as server:
        yield server
