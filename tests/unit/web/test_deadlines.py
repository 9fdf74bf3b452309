"""One timer for all that is given the same time."""

import asyncio

import pytest

from pollwise.errors import PostponedError
from pollwise.live.virtual_clock import VirtualTime
from pollwise.web import deadlines
from pollwise.web.deadlines import Deadlines, time_limit


async def waited(ends_at):
    async with time_limit(ends_at):
        await asyncio.sleep(1.0)


def run(coroutine):
    with asyncio.Runner(loop_factory=VirtualTime) as runner:
        runner.run(coroutine)


def test_each_is_called_in_its_time_unless_it_was_taken_out():
    async def look():
        loop, deadlines, called = asyncio.get_running_loop(), Deadlines(10.0), []

        def calling(name):
            return lambda: called.append((name, round(loop.time())))

        names = {name: calling(name) for name in "abcd"}
        assert deadlines.add(names["a"]) == 10.0
        deadlines.add(names["b"])
        await asyncio.sleep(4.0)
        deadlines.add(names["c"])
        deadlines.take_out(names["a"])
        await asyncio.sleep(20.0)
        assert called == [("b", 10), ("c", 14)]
        deadlines.add(names["d"])
        deadlines.take_out(names["b"])  # it was called
        await asyncio.sleep(20.0)
        assert called[2:] == [("d", 34)]

    run(look())


def test_nothing_is_called_after_the_end():
    async def look():
        deadlines, called = Deadlines(1.0), []
        deadlines.add(lambda: called.append(1))
        deadlines.close()
        await asyncio.sleep(5.0)
        assert called == []

    run(look())


def test_the_others_are_called_though_one_raises():
    async def look():
        loop, deadlines, called = asyncio.get_running_loop(), Deadlines(10.0), []
        raised = []
        loop.set_exception_handler(lambda _, context: raised.append(str(context["exception"])))

        def fail():
            deadlines.add(lambda: called.append(("again", round(loop.time()))))
            raise RuntimeError("a bug")

        deadlines.add(fail)
        deadlines.add(lambda: called.append(("together", round(loop.time()))))
        await asyncio.sleep(4.0)
        deadlines.add(lambda: called.append(("later", round(loop.time()))))
        await asyncio.sleep(30.0)
        assert called == [("together", 10), ("later", 14), ("again", 20)]
        assert raised == ["a bug"]

    run(look())


def test_what_is_taken_out_by_the_call_before_is_not_called():
    async def look():
        deadlines, called = Deadlines(10.0), []

        def other():
            called.append(2)

        deadlines.add(lambda: (called.append(1), deadlines.take_out(other)))
        deadlines.add(other)
        await asyncio.sleep(30.0)
        assert called == [1]

    run(look())


@pytest.mark.parametrize(
    ("given", "slept", "error"),
    [(30.0, 0.0, TimeoutError), (30.0, 4.0, TimeoutError), (30.0, 3600.0, PostponedError)],
)
def test_time_that_was_slept_away_is_nobodys_fault(monkeypatch, given, slept, error):
    async def look():
        loop, sleeps = asyncio.get_running_loop(), [0.0]
        monkeypatch.setattr(deadlines, "seconds_since_boot", lambda: loop.time() + sum(sleeps))

        async def wait():
            async with time_limit(loop.time() + given):
                sleeps.append(slept)
                await asyncio.sleep(2 * given)

        with pytest.raises(error):
            await wait()

    run(look())


def test_a_limit_that_had_passed_when_it_was_looked_at():
    """As that of a poll which was begun before a process was stopped."""

    async def look():
        await asyncio.sleep(100.0)
        for ends_at, error in ((99.0, TimeoutError), (50.0, PostponedError)):
            with pytest.raises(error):
                await waited(ends_at)

    run(look())


def test_a_limit_that_was_put_off():
    async def look():
        async with time_limit(10.0) as limit:
            limit.reschedule(100.0)
            await asyncio.sleep(50.0)

    run(look())
