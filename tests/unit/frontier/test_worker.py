"""The thread that works for the event loop."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from pollwise.errors import StoreDiskError
from pollwise.frontier.worker import Worker


class Transactions:
    """Counts those that were begun and those that went well."""

    def __init__(self):
        self.begun = self.done = 0

    @contextmanager
    def __call__(self):
        self.begun += 1
        yield
        self.done += 1


@pytest.fixture
def transactions():
    return Transactions()


@pytest.fixture
def worker(transactions):
    one = Worker("test", transactions)
    yield one
    one.close()


async def held(worker):
    """Work that keeps the worker busy, until the event is set."""
    event = threading.Event()
    first = asyncio.ensure_future(worker.do(event.wait))
    await asyncio.sleep(0)
    return event, first


async def test_work_is_done_in_its_order(worker):
    done = []
    await asyncio.gather(*(worker.do(lambda n=n: done.append(n)) for n in range(10)))
    assert done == list(range(10))
    assert await worker.do(lambda: 5) == 5


async def test_what_waits_is_done_in_one_transaction(worker, transactions):
    await worker.do(int)
    event, first = await held(worker)
    rest = [asyncio.ensure_future(worker.do(lambda n=n: n)) for n in range(20)]
    await asyncio.sleep(0)
    event.set()
    assert await asyncio.gather(*rest) == list(range(20))
    await first
    assert transactions.done <= 3


async def test_who_fails_fails_alone(worker):
    def fail():
        raise StoreDiskError("full")

    event, first = await held(worker)
    pieces = [worker.do(int), worker.do(fail), worker.do(lambda: 3)]
    rest = [asyncio.ensure_future(piece) for piece in pieces]
    await asyncio.sleep(0)
    event.set()
    results = await asyncio.gather(*rest, return_exceptions=True)
    assert results[0] == 0
    assert isinstance(results[1], StoreDiskError)
    assert results[2] == 3
    await first


async def test_who_no_longer_waits_is_left_alone(worker):
    event, first = await held(worker)
    waiting = asyncio.ensure_future(worker.do(int))
    await asyncio.sleep(0)
    waiting.cancel()
    event.set()
    await first
    assert await worker.do(lambda: 1) == 1


async def test_closing_finishes_what_waits(transactions):
    worker = Worker("test", transactions)
    waiting = [asyncio.ensure_future(worker.do(lambda n=n: n)) for n in range(100)]
    await asyncio.sleep(0)
    await asyncio.to_thread(worker.close)
    assert await asyncio.gather(*waiting) == list(range(100))


async def test_without_transactions_nothing_is_done_twice():
    """What goes on where it was, such as a long list, would leave out a part, or hide an error."""

    def broken():
        yield from range(3)
        raise StoreDiskError("cannot be read")

    numbers, worker = broken(), Worker("test")
    event, first = await held(worker)
    steps = [asyncio.ensure_future(worker.do(lambda: next(numbers, None))) for _ in range(4)]
    await asyncio.sleep(0)
    event.set()
    *read, error = await asyncio.gather(*steps, return_exceptions=True)
    assert read == [0, 1, 2]
    assert isinstance(error, StoreDiskError)
    await first
    worker.close()
