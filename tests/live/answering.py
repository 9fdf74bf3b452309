"""What answers for a database, on a real port, in a thread of its own."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
import schemathesis

from pollwise.dashboard.server import address_of, answer
from pollwise.dashboard.terms import AnsweringTerms

PATIENCE = 100.0
# What is told must fit more than a schema says: URLs, budgets, selectors.
NOT_CHECKED = [schemathesis.checks.positive_data_acceptance]


@contextmanager
def answering_for(db: Path) -> Iterator[str]:
    """The address of a server that answers for this database; nothing polls."""
    listener = socket.create_server(("127.0.0.1", 0))
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(
        target=lambda: loop.run_until_complete(answer(AnsweringTerms(db), listener, stop))
    )
    thread.start()
    address = address_of(listener)
    try:
        give_up_at = time.monotonic() + PATIENCE
        while requests.get(f"{address}/api/pages", timeout=30).status_code == 503:
            assert time.monotonic() < give_up_at
        yield address
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
        listener.close()
