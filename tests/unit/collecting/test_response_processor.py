import asyncio
import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import uvloop

from pollwise.collecting import response_processor
from pollwise.collecting.response_processor import (
    ProcessingFailed,
    ProcessorLoad,
    Response,
    ResponseProcessor,
)
from pollwise.errors import InputError

WORKS = '''
import os, sys, time
from pathlib import Path

class Ring:
    """Garbage that must be searched for."""
    def __init__(self, size): self.held, self.itself = bytearray(size), self

def obey(response):
    """What to do stands in the body."""
    order, _, rest = response.body.decode().partition(" ")
    match order:
        case "say": return rest
        case "pid": return os.getpid()
        case "sleep": time.sleep(float(rest))
        case "spin":
            while True: pass
        case "hog": return len(b"x" * int(rest))
        case "litter": Ring(int(rest))
        case "raise": raise ValueError(rest)
        case "lambda": return lambda: rest
        case "unreadable": return Unreadable()
        case "exit": os._exit(int(rest))
        case "signal": os.kill(os.getpid(), int(rest))
        case "print": print(rest, flush=True); sys.stdin.read(); return rest
        case "touch": Path(rest).touch()
        case "repeat": return rest * 2_000_000
        case "wait":
            while not Path(rest).exists(): time.sleep(0.001)

def gone(response): pass

def unread():
    raise ValueError("what is read is no result")

class Unreadable:
    def __reduce__(self): return unread, ()
'''


@pytest.fixture
def works(tmp_path, monkeypatch):
    """A module that workers can import too."""
    (tmp_path / "works.py").write_text(WORKS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "works", raising=False)
    return importlib.import_module("works")


def order(text):
    return Response(text.encode(), None, "http://x.org/")


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # before it is opened, or read
        return False


def ends(pid):
    for _ in range(1000):
        if not is_running(pid):
            return True
        time.sleep(0.01)
    return False


async def test_results_are_those_of_the_work_and_first_come_is_first_served(works):
    async with ResponseProcessor(works.obey) as processor:
        results = await asyncio.gather(*(processor.process(order(f"say {n}")) for n in range(50)))
        assert results == [str(n) for n in range(50)]
        assert await processor.process(order("repeat ä")) == "ä" * 2_000_000
        assert await processor.process(order("say " + "é" * 2_000_000)) == "é" * 2_000_000
        assert await processor.process(order("pid")) != os.getpid()


async def test_failing_work_is_a_result_and_the_next_is_worked_on(works):
    async with ResponseProcessor(works.obey, time_limit=0.3, memory_limit=2**28) as processor:
        first = await processor.process(order("pid"))
        for given, reason in [
            ("raise no\n use", "ValueError: no use"),
            ("lambda", "<lambda>"),
            ("hog 400000000", "MemoryError"),
        ]:
            result = await processor.process(order(given))
            assert isinstance(result, ProcessingFailed)
            assert reason in str(result)
        assert await processor.process(order("pid")) == first

        for given, reason in [
            ("sleep 60", "took longer than 0.3 s"),
            ("spin", "took longer than 0.3 s"),
            ("exit 3", "its worker process ended (exit code 3)"),
            ("signal 11", "its worker process ended (SIGSEGV)"),
        ]:
            results = await asyncio.gather(
                processor.process(order(given)), processor.process(order("pid"))
            )
            assert results[0] == ProcessingFailed(reason)
            assert isinstance(results[1], int)
            assert results[1] != first
        assert not is_running(first)
        load = processor.load
    assert (load.processed, load.failed) == (13, 7)


async def test_a_result_that_cannot_be_read_is_raised_and_the_next_is_worked_on(works):
    async with ResponseProcessor(works.obey) as processor, asyncio.timeout(60.0):
        with pytest.raises(ValueError, match="no result"):
            await processor.process(order("unreadable"))
        assert await processor.process(order("say more")) == "more"


async def test_a_start_that_fails_as_none_should_is_raised_where_a_result_is_awaited(
    works, monkeypatch
):
    async def fail_once():
        monkeypatch.setattr(response_processor, "_started", started)
        raise ValueError("no start")

    started = response_processor._started
    async with ResponseProcessor(works.obey) as processor, asyncio.timeout(60.0):
        monkeypatch.setattr(response_processor, "_started", fail_once)
        first = await processor.process(order("exit 3"))
        assert isinstance(first, ProcessingFailed)
        with pytest.raises(ValueError, match="no start"):
            await processor.process(order("say a"))
        assert await processor.process(order("say b")) == "b"


async def test_a_worker_that_died_while_it_was_idle_costs_no_response(works):
    async with ResponseProcessor(works.obey) as processor:
        first = await processor.process(order("pid"))
        os.kill(first, signal.SIGKILL)
        assert ends(first)  # whether the loop has noticed that or not
        second = await processor.process(order("pid"))
        assert isinstance(second, int)
        assert second != first
        os.kill(second, signal.SIGKILL)
        assert ends(second)
        # More than the pipe takes at once.
        text = "é" * 2_000_000
        assert await processor.process(order("say " + text)) == text
        load = processor.load
    assert (load.processed, load.failed) == (3, 0)


def test_on_uvloop_too_a_worker_that_died_while_it_was_idle_costs_no_response(works):
    async def run(seconds: float) -> object:
        async with ResponseProcessor(works.obey) as processor:
            os.kill(await processor.process(order("pid")), signal.SIGKILL)
            await asyncio.sleep(seconds)  # in which the loop sees its pipes closed, or not
            return await asyncio.wait_for(processor.process(order("say a")), 30.0)

    assert [uvloop.run(run(seconds)) for seconds in (0.0, 0.2)] == ["a", "a"]


async def test_a_start_that_failed_before_a_response_came_costs_none(works, monkeypatch):
    started = response_processor._started
    tried = asyncio.Event()

    async def failing() -> object:
        monkeypatch.setattr(response_processor, "_started", started)
        tried.set()
        raise OSError("no memory")

    async with ResponseProcessor(works.obey) as processor:
        monkeypatch.setattr(response_processor, "_started", failing)
        assert "SIGKILL" in str(await processor.process(order("signal 9")))
        await tried.wait()
        assert await processor.process(order("say a")) == "a"


async def test_what_the_next_worker_does_not_take_either_has_failed(works, monkeypatch):
    started = response_processor._started

    async def dead() -> object:
        worker = await started()
        load = worker.load

        async def loaded(setup: object) -> None:
            await load(setup)
            os.kill(worker._process.pid, signal.SIGKILL)
            assert ends(worker._process.pid)

        worker.load = loaded
        return worker

    monkeypatch.setattr(response_processor, "_started", dead)
    async with ResponseProcessor(works.obey) as processor:
        failed = await processor.process(order("say a"))
        monkeypatch.undo()
        assert failed == ProcessingFailed("its worker process ended (SIGKILL)")


async def test_what_waits_for_another_worker_is_told_of_the_end(works, monkeypatch):
    async with ResponseProcessor(works.obey) as processor:
        first = await processor.process(order("pid"))

        async def never() -> object:
            return await asyncio.get_running_loop().create_future()

        monkeypatch.setattr(response_processor, "_started", never)
        os.kill(first, signal.SIGKILL)
        assert ends(first)
        waiting = asyncio.create_task(processor.process(order("say a")))
        while is_running(first) or processor.queued or waiting.done():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
    assert await waiting == ProcessingFailed("the response processor was stopped")


async def test_what_work_prints_and_reads_is_not_what_it_is_told(works):
    async with ResponseProcessor(works.obey) as processor:
        assert await processor.process(order("say a")) == "a"
        assert await processor.process(order("print b")) == "b"
        assert await processor.process(order("say c")) == "c"


async def test_garbage_of_work_is_freed_in_time(works):
    async with ResponseProcessor(works.obey, memory_limit=2**30) as processor:
        for _ in range(300):  # 1.2 GB
            assert await processor.process(order(f"litter {2**22}")) is None


async def test_several_workers_share_one_queue(works, tmp_path):
    async with ResponseProcessor(works.obey, workers=2) as processor:
        waiting = asyncio.create_task(processor.process(order(f"wait {tmp_path}/go")))
        assert await processor.process(order("say a")) == "a"
        assert await processor.process(order(f"touch {tmp_path}/go")) is None
        assert await waiting is None


async def test_load_is_measured_by_the_clock_given(works, tmp_path):
    now = 100.0
    async with ResponseProcessor(works.obey, clock=lambda: now) as processor:
        assert processor.load == ProcessorLoad(0, 0, 0, None, 0, 0, 0, 0)
        now += 3
        tasks = [
            asyncio.create_task(processor.process(order(text)))
            for text in (f"wait {tmp_path}/go", "say a")
        ]
        while processor.queued != 1:
            await asyncio.sleep(0)
        now += 5
        assert processor.load == ProcessorLoad(8, 5, 3, None, 1, 5 / 8, 0, 0)
        (tmp_path / "go").touch()
        await asyncio.gather(*tasks)
        now += 2
        load = processor.load
    assert load == ProcessorLoad(10, 5, 5, pytest.approx(5 * 0.95), 0, 0.5, 2, 0)


async def test_nobody_works_for_a_caller_who_left(works, tmp_path):
    async with ResponseProcessor(works.obey) as processor:
        first = asyncio.create_task(processor.process(order(f"wait {tmp_path}/go")))
        second = asyncio.create_task(processor.process(order(f"touch {tmp_path}/left")))
        while processor.queued != 1:
            await asyncio.sleep(0)
        first.cancel()
        second.cancel()
        (tmp_path / "go").touch()
        assert await processor.process(order("say a")) == "a"
        assert processor.queued == 0
    assert not (tmp_path / "left").exists()


async def test_the_end_of_the_processor_ends_waiting_and_workers(works):
    async with ResponseProcessor(works.obey, time_limit=60) as processor:
        pid = await processor.process(order("pid"))
        tasks = [asyncio.create_task(processor.process(order("spin"))) for _ in range(3)]
        tasks[2].cancel()
        while processor.queued != 2:
            await asyncio.sleep(0)
    stopped = ProcessingFailed("the response processor was stopped")
    assert await asyncio.gather(*tasks[:2]) == [stopped] * 2
    assert not is_running(pid)
    assert processor.queued == 0
    with pytest.raises(RuntimeError, match="not open"):
        await processor.process(order("pid"))


async def test_work_must_be_loadable_in_another_process(works, monkeypatch):
    with pytest.raises(InputError, match="cannot be sent to a worker process"):
        ResponseProcessor(lambda response: None)
    Path(works.__file__).write_text(WORKS.replace("def gone", "def gone_since"))
    for workers in (1, 2):
        with pytest.raises(InputError, match=r"cannot load its work \(AttributeError"):
            async with ResponseProcessor(works.gone, workers=workers):
                pass


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"workers": 0}, "workers=0"),
        ({"time_limit": 0}, "time_limit=0"),
        ({"memory_limit": 1}, "=1 "),
    ],
)
def test_options_must_be_usable(options, named):
    with pytest.raises(InputError, match=named):
        ResponseProcessor(str, **options)


async def test_a_worker_that_cannot_be_replaced_is_the_failure_of_a_response(works):
    async with ResponseProcessor(works.obey) as processor:
        Path(works.__file__).write_text("")
        assert "SIGKILL" in str(await processor.process(order("signal 9")))
        result = await processor.process(order("say a"))
        assert str(result).startswith("no worker could be started: response processor: a worker")
        Path(works.__file__).write_text(WORKS)
        # The start that failed next was under way already, or succeeds.
        results = [await processor.process(order("say a")) for _ in range(2)]
        assert results[-1] == "a"


def test_it_runs_on_uvloop(works):
    async def run():
        async with ResponseProcessor(works.obey, time_limit=0.3) as processor:
            return [await processor.process(order(text)) for text in ("say a", "spin", "say b")]

    assert uvloop.run(run()) == ["a", ProcessingFailed("took longer than 0.3 s"), "b"]


PROGRAM = """
import asyncio, sys
from pollwise.collecting.response_processor import Response, ResponseProcessor
import works

def order(text):
    return Response(text.encode(), None, "http://x.org/")

async def main():
    async with ResponseProcessor(works.obey, time_limit=0.2) as processor:
        print(await processor.process(order("pid")), flush=True)
        work = asyncio.create_task(processor.process(order(sys.argv[1])))
        await asyncio.sleep(0.05)
        print("under way", flush=True)
        await asyncio.sleep(60)
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    ("given", "by"), [("say a", signal.SIGKILL), ("spin", signal.SIGKILL), ("say a", signal.SIGINT)]
)
def test_workers_do_not_outlive_their_parent_and_ctrl_c_leaves_no_traces(works, given, by):
    parent = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, given],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    worker = int(parent.stdout.readline())
    assert parent.stdout.readline() == "under way\n"
    os.killpg(parent.pid, by)
    printed, errors = parent.communicate()
    assert printed == ("interrupted\n" if by == signal.SIGINT else "")
    assert errors == ""
    assert ends(worker)
