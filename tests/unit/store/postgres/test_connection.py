"""What is written into PostgreSQL goes there in parts."""

import contextlib
from collections.abc import Iterator
from unittest import mock

from pollwise.store.postgres.connection import _ROWS_AT_ONCE, PostgresWriter


def test_very_many_rows_are_not_held_at_once() -> None:
    made: list[int] = []
    told: list[int] = []

    def rows() -> Iterator[dict[str, int]]:
        for number in range(2 * _ROWS_AT_ONCE + 1):
            made.append(number)
            yield {"id": number}

    def take(query: bytes, some: list[dict[str, int]]) -> None:
        told.extend(row["id"] for row in some)
        assert len(some) <= _ROWS_AT_ONCE
        assert told == made

    cursor = mock.Mock(executemany=take)
    session = mock.Mock(cursor=lambda: contextlib.nullcontext(cursor))
    PostgresWriter(session).execute_all("insert_page", rows())
    assert len(told) == 2 * _ROWS_AT_ONCE + 1
