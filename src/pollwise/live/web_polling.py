"""What polls the live web in a run: all parts of `pollwise.web`, put together."""

import asyncio
from collections.abc import AsyncIterator, Callable, Container, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from types import MappingProxyType

from pollwise.boot_clock import seconds_since_boot
from pollwise.events import HostFreed
from pollwise.fetch_settings import FetchSettings
from pollwise.units import HOUR
from pollwise.web.addresses import Addresses
from pollwise.web.beside import Beside
from pollwise.web.descriptors import most_polls
from pollwise.web.fetcher import MAX_BYTES, USER_AGENT, Exchanges, HttpFetcher
from pollwise.web.hubs import Hubs
from pollwise.web.own_headers import OwnHeaders
from pollwise.web.polite_fetcher import PoliteFetcher
from pollwise.web.poller import Recall, WebPoller
from pollwise.web.rendering.browser import Browser
from pollwise.web.rendering.renderer import Renderer
from pollwise.web.robots_txt import RobotsTxt
from pollwise.web.traffic import Traffic

__all__ = ["MakePoller", "fetching", "web_poller"]

MakePoller = Callable[..., AbstractAsyncContextManager[WebPoller]]
"""Makes a poller of the live web, from the other arguments of `web_poller`."""


@asynccontextmanager
async def web_poller(
    clock: Callable[[], float],
    *,
    crawl_delay: float = 1.0,
    longest_pace: float = HOUR,
    seconds: Callable[[], float] | None = None,
    exchanging: Callable[[Exchanges], Exchanges] = lambda exchanges: exchanges,
    user_agent: str = USER_AGENT,
    not_modified_cost: float = 1.0,
    follow_redirects: bool = True,
    timeout: float = 30.0,
    max_bytes: int = MAX_BYTES,
    own_headers: OwnHeaders | None = None,
    proxy: str | None = None,
    given: Container[str] = (),
    given_plain: Container[str] = (),
    allow_private: bool = False,
    several_origins: Container[str] = (),
    groups: Mapping[str, str] = MappingProxyType({}),
    by_address: bool = False,
    blocked_until: Callable[[str], float] = lambda scope: 0.0,
    recall: Recall | None = None,
    freed: Callable[[HostFreed], None] = lambda event: None,
    traffic: Traffic | None = None,
) -> AsyncIterator[WebPoller]:
    """A poller of the live web, for watches and collections: all its exchanges wait for their turn.

    `clock` gives UTC seconds, `seconds` counts those between exchanges (None: as this machine
    does); `exchanging` gives what carries out the exchanges, and may look at each. `crawl_delay`
    and `longest_pace` are those of the scheduler, in seconds. `given` are the
    politeness scopes that the user named: see `HttpFetcher`, also for `given_plain`, `timeout`,
    `max_bytes`, `own_headers`, `proxy` and `allow_private`. `groups`: see `PoliteFetcher`.
    `by_address`: hosts at one address wait for each other. `blocked_until` is what the scheduler
    knows of a scope, which outlives a run: the time of `clock` until which it wants to be left
    alone. `traffic`: see `PoliteFetcher`. The others: see `WebPoller`.
    """

    def blocked_for(scope: str) -> float:
        until = blocked_until(scope)
        return until - clock() if until > 0 else 0.0  # mostly no look at the clock is needed

    async with (
        # Two, as large pages are common and large files of rules mean ill.
        Beside() as pages_beside,
        Beside() as rules_beside,
        Browser() as browser,
        HttpFetcher(
            clock=clock,
            user_agent=user_agent,
            timeout=timeout,
            max_bytes=max_bytes,
            own_headers=own_headers,
            proxy=proxy,
            given=given,
            given_plain=given_plain,
            allow_private=allow_private,
            most_kept=most_polls(),
        ) as exchanges,
    ):
        counting = seconds_since_boot if seconds is None else seconds
        fetcher = PoliteFetcher(
            exchanging(exchanges),
            delay=crawl_delay,
            clock=counting,
            sleep=asyncio.sleep,
            host_delay=lambda scope: min(robots_txt.crawl_delay(scope), longest_pace),
            blocked_for=blocked_for,
            groups=groups,
            addresses=Addresses(counting) if by_address else None,
            traffic=traffic,
        )
        robots_txt = RobotsTxt(
            fetcher,
            clock=clock,
            user_agent=user_agent,
            beside=rules_beside,
            groups=groups,
        )
        yield WebPoller(
            fetcher,
            robots_txt,
            clock=clock,
            beside=pages_beside,
            not_modified_cost=not_modified_cost,
            follow_redirects=follow_redirects,
            several_origins=several_origins,
            recall=recall,
            freed=freed,
            groups=groups,
            hubs=Hubs(exchanges, fetcher),
            network=exchanges.network,
            rendering=Renderer(
                browser, fetcher, robots_txt, user_agent=user_agent, max_bytes=max_bytes
            ),
        )


def fetching(
    settings: FetchSettings, own_headers: OwnHeaders, *, max_bytes: int = MAX_BYTES
) -> MakePoller:
    """`web_poller` as the settings have it; `max_bytes` holds if they say nothing of it."""
    return partial(
        web_poller,
        crawl_delay=settings.crawl_delay,
        user_agent=settings.user_agent or USER_AGENT,
        timeout=settings.timeout,
        max_bytes=settings.max_bytes(max_bytes),
        own_headers=own_headers,
        proxy=settings.proxy or None,
        groups=settings.shared_scopes(),
        by_address=settings.politeness == "address",
    )
