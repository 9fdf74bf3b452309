"""A watch of real servers in fake time."""

import asyncio
from pathlib import Path

from pollwise.live.recalling import recalling
from pollwise.live.session import Session
from pollwise.live.web_polling import web_poller
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.testing.fake_clock import FakeClock


class PatientClock(FakeClock):
    """No time passes while a poll is under way: it waits for a real server."""

    async def wait(self, tasks, until):
        if len(tasks) > 2:  # the last two wait for wishes and for the end
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        else:
            await super().wait(tasks, until)


async def watch_for(
    path: Path, settings: WatchSettings, begin: float, seconds: float, *, recalls: bool = False
) -> None:
    """Watch the pages of a database for so many seconds; `recalls`: it looks for noise, and knows
    the copies before."""
    clock, stop = PatientClock(begin), asyncio.Event()
    clock.stop_at(begin + seconds, stop)
    with Store.open(path) as store:
        session = Session(store, settings, clock=clock, say=print)
        async with (
            recalling(path) as recall,
            web_poller(
                clock, crawl_delay=0.0, allow_private=True, recall=recall if recalls else None
            ) as poller,
        ):
            await session.run(poller, stop, on_progress=lambda *_: None)
