"""Messages in batches, read ahead within bounds."""

import asyncio

import pytest

from pollwise.frontier.streams import Batches


class Message:
    def __init__(self, size=1):
        self.size = size

    def ByteSize(self):  # noqa: N802
        return self.size


async def stream(count, size=1, sent=None):
    for _ in range(count):
        if sent is not None:
            sent.append(size)
        await asyncio.sleep(0)
        yield Message(size)


async def settle():
    for _ in range(5000):
        await asyncio.sleep(0)


async def test_all_messages_come_in_their_order():
    async def numbered():
        for number in range(2000):
            yield Message(number % 7)

    sizes = [message.size async for batch in Batches(numbered()) for message in batch]
    assert sizes == [number % 7 for number in range(2000)]


async def test_an_empty_stream():
    assert [batch async for batch in Batches(stream(0))] == []


@pytest.mark.parametrize(("size", "most"), [(1, 514), (100_000, 5)])
async def test_a_stream_is_read_ahead_within_bounds(size, most):
    sent = []
    batches = Batches(stream(3000, size, sent)).__aiter__()
    await anext(batches)
    await settle()
    assert len(sent) <= 2 * most
    before = len(sent)
    await settle()
    assert len(sent) == before
    await batches.aclose()


async def test_an_error_of_the_stream_is_told_after_what_came_before():
    async def broken():
        yield Message()
        raise ConnectionError("gone")

    batches = Batches(broken()).__aiter__()
    assert len(await anext(batches)) == 1
    with pytest.raises(ConnectionError):
        await anext(batches)


async def test_nothing_is_left_running():
    batches = Batches(stream(10**9)).__aiter__()
    await anext(batches)
    await batches.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}
