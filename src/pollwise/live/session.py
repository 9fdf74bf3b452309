"""One run over one store, put together in one place: for watch, collect and the demonstration.

A session takes the pages and what was learned of them from the store, brings the scheduler into
the state in which the last run left it, and then runs the loop with everything written down.
"""

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any, TypeVar

import uvloop

from pollwise.insight.knowledge import learned_by
from pollwise.live.journal import InitialState, Journal
from pollwise.live.loop import Clock, Progress, Watched, run
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import Settings
from pollwise.store import Store
from pollwise.store.records import PageRecord
from pollwise.types import Observation, Outcome
from pollwise.web.fetcher import USER_AGENT, HttpFetcher
from pollwise.web.poller import Poller, WebPoller
from pollwise.web.robots_txt import RobotsTxt

__all__ = ["Session", "run_until_stopped", "web_poller"]

T = TypeVar("T")


class Session:
    """A run over a store, whose pages are all there already.

    `scheduler`, with its policy, must be new; None: the one that the settings make. What the store
    holds of another kind of policy, or of an earlier version of this one, is forgotten; `say`
    is told.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        clock: Clock,
        say: Callable[[str], None],
        scheduler: Scheduler | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.clock = clock
        self.scheduler = settings.scheduler(len(self.records)) if scheduler is None else scheduler
        if learned_by(store, self.scheduler.policy) is None and store.has_learned():
            say(f"what {store.path.name} has learned is of an earlier version: learning anew")
            store.forget_learned()

    @cached_property
    def records(self) -> list[PageRecord]:
        """The pages at the begin."""
        return self.store.pages()

    async def run(
        self,
        poller: Poller,
        stop: asyncio.Event,
        *,
        on_progress: Callable[[Progress, Mapping[int, Watched]], None],
        staff: Callable[[], int] | None = None,
        states: Callable[[], Mapping[str, bytes]] = dict,
    ) -> None:
        """Poll until `stop` is set, from where the last run left off; once.

        `on_progress` is told of every turn, after it was committed, with all pages by id.
        `staff`: see `loop.run`. `states`: see `Journal`. `StoreError` ends it.
        """
        watched = {r.page.id: Watched(r.page, r.memory) for r in self.records}
        del self.records
        pages = tuple(own.page for own in watched.values())
        initial = InitialState(pages, self.store.load_learned(), self.store.scheduler_state())
        initial.begin(self.scheduler)
        collected = self._recall(watched)
        async with Journal(
            self.store,
            self.scheduler,
            # What a collection begins with is what earlier runs collected: nobody keeps it twice.
            None if collected else initial,
            settings=self.settings.recorded(),
            clock=self.clock,
            stop=stop,
            on_progress=lambda progress: on_progress(progress, watched),
            states=states,
        ) as journal:
            await run(
                self.scheduler,
                poller,
                watched=watched,
                clock=self.clock,
                record=journal.record,
                stop=stop,
                staff=staff,
            )

    def _recall(self, watched: Mapping[int, Watched]) -> bool:
        """Tell a policy that collects of what was collected; whether there was any.

        As of the latest copies: polls that failed since, or found the page gone, tell nothing.
        """
        policy = self.scheduler.policy
        if not isinstance(policy, RequestController):
            return False
        collected = False
        for fetched in self.store.history():
            page_id, relevance = fetched.page_id, fetched.relevance
            at = watched[page_id].page.seen_at
            if at is not None:
                policy.observe([Observation(page_id, at, Outcome.CHANGED, relevance=relevance)])
                policy.link(page_id, fetched.links)
                collected = True
        return collected


@asynccontextmanager
async def web_poller(
    clock: Callable[[], float],
    *,
    robots_txt_clock: Callable[[], float] | None = None,
    user_agent: str = USER_AGENT,
    not_modified_cost: float = 1.0,
) -> AsyncIterator[WebPoller]:
    """A poller of the live web for watching.

    Clocks give seconds; `robots_txt_clock` (None: `clock`) is that by which a robots.txt holds for
    a day. `not_modified_cost`: see `WebPoller`.
    """
    async with HttpFetcher(clock=clock, user_agent=user_agent) as fetcher:
        robots_txt = RobotsTxt(fetcher, clock=robots_txt_clock or clock, user_agent=user_agent)
        yield WebPoller(fetcher, robots_txt, clock=clock, not_modified_cost=not_modified_cost)


def run_until_stopped(main: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
    """Run `main` on an event loop; SIGINT and SIGTERM set the event that it is given."""

    async def started() -> T:
        # What is there at the start stays: nobody needs to look for garbage in it.
        gc.freeze()
        gc.enable()
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        return await main(stop)

    return uvloop.run(started())
