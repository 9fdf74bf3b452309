"""Requests to the process that polls: rows that others put into its database, and its answers."""

import math
from contextlib import AbstractContextManager

from pollwise.store.records import WaitingRequest
from pollwise.store.tables.connection import Connection
from pollwise.units import DAY

__all__ = ["TableRequests"]

_KEPT = DAY
"""Seconds for which an answered request stays, for who still waits for the answer."""
_WITHDRAWN = "withdrawn"
_ROWS_AT_ONCE = 16
"""Few, as a request may have a thousand pages."""


class TableRequests:
    """A `StoreRequests` by a connection to a database."""

    _connection: Connection

    def together(self) -> AbstractContextManager[object]:
        return self._connection.transaction()

    def put_request(self, text: str, now: float) -> int:
        with self._connection.transaction() as writer:
            writer.execute("drop_answered_requests", {"before": now - _KEPT})
            values = {"made_at": now, "request": text}
            [(request_id,)] = writer.execute("put_request", values).fetchall()
        number: int = request_id
        return number

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
        with self._connection.transaction() as writer:
            return writer.execute("answer_request", values).rowcount > 0

    def answer(self, request_id: int) -> str | None:
        rows = self._connection.rows("answer", id=request_id)
        return rows[0][0] if rows else None

    def withdraw_request(self, request_id: int, now: float) -> bool:
        return self.answer_request(request_id, now, _WITHDRAWN)
