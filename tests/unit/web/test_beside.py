"""Another process that computes while the loop goes on."""

import asyncio
import os
import re
import signal
import time

import pytest

from pollwise.errors import PostponedError
from pollwise.web.beside import Beside


def long_match(size: int) -> int:
    """Holds Python's lock for a second or so."""
    return len(re.findall("(?:a?){18}b", "a" * size)) + size


def fail(text: str) -> None:
    raise ValueError(text)


async def test_the_loop_goes_on_meanwhile():
    async with Beside() as beside:
        assert await beside.call(os.getpid) != os.getpid()
        answer = asyncio.ensure_future(beside.call(long_match, 200))
        turns = 0
        while not answer.done():
            turns += 1
            await asyncio.sleep(0.001)
        assert await answer == 200
        assert turns > 10


async def test_what_a_function_raises_is_raised():
    async with Beside() as beside:
        with pytest.raises(ValueError, match="too long"):
            await beside.call(fail, "too long")
        assert await beside.call(len, b"abc") == 3


async def test_a_process_that_dies_postpones_and_the_next_call_begins_another():
    async with Beside() as beside:
        process = await beside.call(os.getpid)
        os.kill(process, signal.SIGKILL)
        with pytest.raises(PostponedError):
            await beside.call(time.sleep, 100)
        assert await beside.call(os.getpid) != process


async def test_it_ends_with_the_context_whatever_it_is_doing():
    async with Beside() as beside:
        process = await beside.call(os.getpid)
        busy = asyncio.ensure_future(beside.call(time.sleep, 600))
        await asyncio.sleep(0.05)
    busy.cancel()
    for _ in range(1000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        # A process that has ended stays until somebody asks for its status.
        try:
            if os.waitpid(process, os.WNOHANG)[0]:
                return
        except ChildProcessError:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it is still there")
