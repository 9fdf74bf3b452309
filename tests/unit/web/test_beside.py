"""Another process that computes while the loop goes on."""

import asyncio
import gc
import os
import re
import signal
import subprocess
import sys
import time
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest

from pollwise.errors import PostponedError
from pollwise.web.beside import Beside


async def test_the_loop_goes_on_meanwhile():
    async with Beside() as beside:
        assert await beside.call(os.getpid) != os.getpid()
        # It holds Python's lock for a second or so.
        answer = asyncio.ensure_future(beside.call(re.findall, "(?:a?){18}b", "a" * 200))
        turns = 0
        while not answer.done():
            turns += 1
            await asyncio.sleep(0.001)
        assert await answer == []
        assert turns > 10


async def test_what_a_function_raises_is_raised():
    async with Beside() as beside:
        with pytest.raises(ValueError, match="ten"):
            await beside.call(int, "ten")
        assert await beside.call(len, b"abc") == 3


# Code, as the other process need not be able to import this module.
NOT_SENT = "raise OSError(lambda: 'unfit')"
NOT_RECEIVED = """
import builtins
def init(self, one, other): Exception.__init__(self, one + other)
parts = {"__init__": init, "__module__": "builtins"}
builtins.OfTwoError = type("OfTwoError", (Exception,), parts)
raise builtins.OfTwoError(1, 2)
"""


@pytest.mark.parametrize(
    ("code", "why"),
    [(NOT_SENT, "OSError: .*lambda"), (NOT_RECEIVED, "OfTwoError: 3")],
    ids=["not sent", "not received"],
)
async def test_errors_unfit_for_pickling_are_raised_too(code: str, why: str):
    async with Beside() as beside:
        process = await beside.call(os.getpid)
        with pytest.raises(RuntimeError, match=why):
            await beside.call(exec, code)
        assert await beside.call(os.getpid) == process


async def test_a_process_that_dies_postpones_and_the_next_call_begins_another():
    async with Beside() as beside:
        process = await beside.call(os.getpid)
        os.kill(process, signal.SIGKILL)
        with pytest.raises(PostponedError):
            await beside.call(time.sleep, 100)
        assert await beside.call(os.getpid) != process


async def test_a_process_that_cannot_be_started_leaves_nothing_open(monkeypatch):
    def refused(process: SpawnProcess) -> None:
        raise OSError("no more processes")

    def count_open() -> int:
        return len(os.listdir("/proc/self/fd"))

    gc.collect()
    async with Beside() as beside:
        with monkeypatch.context() as patched:
            patched.setattr(SpawnProcess, "start", refused)
            before, raised = 0, []
            for _ in range(3):
                with pytest.raises(PostponedError) as told:
                    await beside.call(os.getpid)
                raised.append(told)  # with what its frames hold
                before = before or count_open()
            assert count_open() <= before
        assert await beside.call(os.getpid) != os.getpid()


async def test_what_takes_too_long_is_ended_and_the_next_call_begins_another():
    async with Beside() as beside:
        process = await beside.call(os.getpid)
        with pytest.raises(TimeoutError):
            await beside.call(time.sleep, 600, within=0.1)
        assert await beside.call(os.getpid, within=60) != process


@pytest.mark.parametrize("size", [0, 50_000_000])
async def test_it_ends_with_the_context_whatever_it_is_doing(size: int):
    """It computes, or is being handed something large."""
    async with Beside() as beside:
        process = await beside.call(os.getpid)
        busy = asyncio.ensure_future(beside.call(time.sleep, 600))
        waiting = asyncio.ensure_future(beside.call(len, bytes(size)))
        await asyncio.sleep(0.05)
        if size:
            os.kill(process, signal.SIGSTOP)
    for call in (busy, waiting):
        with pytest.raises((PostponedError, asyncio.CancelledError)):
            await asyncio.wait_for(call, timeout=60.0)
    assert beside._connection is None


def test_a_process_ends_with_the_one_that_uses_it(tmp_path: Path):
    program = """
import asyncio, os, sys
from pollwise.web.beside import Beside
async def main():
    beside = Beside()
    print(await beside.call(os.getpid), flush=True)
    asyncio.ensure_future(beside.call(len, bytes(50_000_000)))
    await asyncio.sleep(600)
asyncio.run(main())
"""
    used = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert used.stdout is not None
    process = int(used.stdout.readline())
    used.kill()
    used.wait()
    for _ in range(2000):
        state = Path(f"/proc/{process}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.01)
    raise AssertionError("it is still there")
