"""One timer for all that is given the same time."""

import asyncio

from pollwise.live.virtual_clock import VirtualTime
from pollwise.web.deadlines import Deadlines


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
