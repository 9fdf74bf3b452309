"""Requests to the process that polls: rows that others put into its database, and its answers."""

import math
import os
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Self

from pollwise.store.records import WaitingRequest
from pollwise.store.sqlite.connection import Connection
from pollwise.store.sqlite.database import check_readable, open_for_requests
from pollwise.store.sqlite.failures import undamaged_database
from pollwise.store.sqlite.lock import FileUse
from pollwise.store.sqlite.queries import SQL

__all__ = ["Requester", "SqliteRequests"]

_KEPT = 86_400.0
"""Seconds for which an answered request stays, for who still waits for the answer."""
_WITHDRAWN = "withdrawn"
_ROWS_AT_ONCE = 16
"""Few, as a request may have a thousand pages."""


class SqliteRequests:
    """A `StoreRequests` by a connection to a database."""

    _connection: Connection

    def together(self) -> AbstractContextManager[object]:
        return self._connection.transaction()

    def put_request(self, text: str, now: float) -> int:
        with self._connection.transaction() as connection:
            connection.execute(SQL["drop_answered_requests"], {"before": now - _KEPT})
            values = {"made_at": now, "request": text}
            request_id = connection.execute(SQL["put_request"], values).lastrowid
        assert request_id is not None  # it was an INSERT
        return request_id

    def waiting_requests(self, most: float = math.inf) -> list[WaitingRequest]:
        waiting: list[WaitingRequest] = []
        left = most
        for row in self._connection.rows_by_key("waiting_requests", _ROWS_AT_ONCE):
            waiting.append(WaitingRequest(*row))
            left -= len(waiting[-1].text)
            if left <= 0:
                break
        return waiting

    def answer_request(self, request_id: int, now: float, answer: str) -> bool:
        values = {"id": request_id, "answered_at": now, "answer": answer}
        with self._connection.transaction() as connection:
            return connection.execute(SQL["answer_request"], values).rowcount > 0

    def answer(self, request_id: int) -> str | None:
        rows = self._connection.rows("answer", id=request_id)
        return rows[0][0] if rows else None

    def withdraw_request(self, request_id: int, now: float) -> bool:
        return self.answer_request(request_id, now, _WITHDRAWN)


class Requester(SqliteRequests):
    """Asks the process that has a database open for writing; writes nothing but requests."""

    def __init__(self, path: Path, connection: Connection, use: FileUse) -> None:
        self.path = path
        self._connection = connection
        self._use = use

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """`StoreError` if there is no such database, `StoreVersionError` if another version of
        pollwise wrote it in another format.
        """
        place = Path(os.path.realpath(path))
        with undamaged_database(place), ExitStack() as undo:
            check_readable(place)
            use = FileUse.reading(place)
            undo.callback(use.release)
            connection = open_for_requests(place)
            undo.pop_all()
            return cls(place, Connection(place, connection), use)

    def close(self) -> None:
        """End the use of the file."""
        try:
            self._connection.close()
        finally:
            self._use.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
