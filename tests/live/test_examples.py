"""The examples run as they are shown, against servers of this machine."""

import asyncio
import importlib.util
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

import pollwise
from pollwise.testing.exchanges import rapid_fire
from pollwise.testing.webserver import MisbehavingServer

EXAMPLES = Path(__file__).parents[2] / "examples"
SOURCES = Path(pollwise.__file__).parents[1]
HOSTS = ("127.0.0.1", "127.0.0.2")


@asynccontextmanager
async def running(*words: str) -> AsyncIterator[Process]:
    """An example at work, which is killed if it does not end by itself."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *words),
        cwd=EXAMPLES,
        env={"PYTHONPATH": str(SOURCES), "PATH": ""},
        stdout=PIPE,
        stderr=PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def ended(process: Process, status: int = 0) -> str:
    """What an example printed to its end; its errors, if the status is not 0."""
    output, errors = await process.communicate()
    assert process.returncode == status, errors.decode()
    return (errors if status else output).decode()


async def lines_until(process: Process, *wanted: str) -> list[str]:
    """The lines printed until all that is wanted was there."""
    lines: list[str] = []
    while not all(any(words in line for line in lines) for words in wanted):
        line = (await process.stdout.readline()).decode().rstrip()
        assert line, (await process.stderr.read()).decode()
        lines.append(line)
    return lines


@pytest.mark.parametrize("name", ["asyncio_loop.py", "requests_loop.py"])
async def test_loops_poll_learn_and_stop(name, tmp_path):
    async with AsyncExitStack() as stack:
        first, second = [
            await stack.enter_async_context(MisbehavingServer(host=host)) for host in HOSTS
        ]
        first.set_page("/same", b"<p>the same each time")
        changing, same = first.url("/clock"), first.url("/same")
        refusing, gone = second.url("/status/503?retry_after=60"), second.url("/no")
        words = [str(tmp_path / "learned")] if name == "requests_loop.py" else []
        process = await stack.enter_async_context(
            running(name, *words, changing, same, gone, refusing)
        )
        await lines_until(process, f"{changing} seen", f"{changing} changed", f"{same} seen")
        process.send_signal(signal.SIGINT)
        assert (await ended(process)).splitlines()[-1] == "stopped"
        assert rapid_fire([*first.exchanges, *second.exchanges], delay=1.0) == []
        assert second.requests["/status/503?retry_after=60"] == 1


async def test_what_the_plain_loop_learned_is_taken_up(tmp_path):
    file = tmp_path / "learned"
    async with MisbehavingServer() as server:
        for words in ([server.url("/clock")], []):
            async with running("requests_loop.py", str(file), *words) as process:
                await lines_until(process, server.url("/clock"))
                process.send_signal(signal.SIGINT)
                await ended(process)
            assert len(pollwise.Schedule.load(file)) == 1


async def test_an_own_policy_finds_more_than_uniform_polling():
    async with running("own_policy.py") as process:
        shares = [float(line.split()[1]) for line in (await ended(process)).splitlines()]
    assert shares[0] > 1.5 * shares[1]


async def test_a_history_in_pandas():
    async with running("pandas_history.py") as process:
        if importlib.util.find_spec("pandas") is None:
            assert await ended(process, status=1) == (
                "this example needs pandas: pip install pandas\n"
            )
        else:
            assert "BayesianIndex: mean delay" in await ended(process)
