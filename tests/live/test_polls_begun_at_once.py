"""Polls for which nothing is waited for but the answer: what comes of them is as of all others."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial

import pytest

from pollwise.errors import InputError
from pollwise.testing.webserver import MisbehavingServer
from pollwise.types import Outcome, Page, PageMemory
from pollwise.web import answers, deadlines
from pollwise.web.fetcher import HttpFetcher
from pollwise.web.polite_fetcher import PoliteFetcher
from pollwise.web.poller import WebPoller
from pollwise.web.robots_rules import Rules
from pollwise.web.robots_txt import RobotsTxt

from .test_kept_connections import KNOWN, NOTHING, WRONG, Host, serving

MOVED = """/clock /etag-new /gzip /redirect/1 /redirect-to /flapping /storm /not-utf-8 /binary
/interim/3 /modified-now-and-the-same"""


@pytest.fixture
async def server() -> AsyncIterator[MisbehavingServer]:
    async with MisbehavingServer() as server:
        server.set_page("/", "<p>hello", etag='"1"')
        yield server


class Polled:
    """A poller of a server to which a connection was kept, and whose robots.txt is known."""

    def __init__(self, server, clock, following, **told):
        self.server = server
        self.fetcher = HttpFetcher(clock=clock, allow_private=True, **told)
        self.polite = following(self.fetcher)
        self.poller = WebPoller(self.polite, RobotsTxt(self.polite, clock=clock), clock=clock)

    async def __aenter__(self):
        await self.fetcher.__aenter__()
        assert (await self.poller.poll(self.page("/"), NOTHING)).result.error is None
        return self

    async def __aexit__(self, *error):
        await self.fetcher.__aexit__(*error)

    def page(self, path):
        return Page(7, self.server.url(path), self.server.host)

    def begun(self, path, memory=KNOWN):
        """A poll, begun."""
        poll = self.poller.poll(self.page(path), memory)
        assert isinstance(poll, asyncio.Future)
        return poll


async def test_one_that_is_answered_304_needs_no_task(server, clock, following):
    async with Polled(server, clock, following) as polled:
        poll = polled.begun("/")
        report = await poll
        assert poll._task is None
        assert report.result.observation.outcome is Outcome.UNCHANGED
        assert report.result.memory == KNOWN
        assert server.requests["/"] == 2
        assert (await polled.begun("/")).result == report.result


@pytest.mark.parametrize("path", ["/", "/status/404", "/never"])
async def test_its_end_is_told_once_as_soon_as_it_is_over(server, clock, following, path):
    told = []
    async with Polled(server, clock, following) as polled:
        poll = polled.begun(path)
        poll.tell_end(lambda ended: told.append((ended, ended.done())))
        if path == "/never":
            poll.cancel()
            assert told == [(poll, True)]
        await asyncio.wait([poll])
        poll.cancel()
        assert told == [(poll, True)]


async def test_others_are_not_begun_at_once(server, clock, following):
    async with Polled(server, clock, following) as polled:
        page = polled.page("/")
        first = polled.begun("/")
        for other, memory, why in (
            (page, KNOWN, "it is not the turn of the host"),
            (page, NOTHING, "all of the page will come"),
            (replace(page, render=True), KNOWN, "a browser polls it"),
            (replace(page, url="http://127.0.0.9:9/"), KNOWN, "its robots.txt is not known"),
        ):
            poll = polled.poller.poll(other, memory)
            assert not isinstance(poll, asyncio.Future), why
            poll.close()
        await first
        waits = asyncio.ensure_future(polled.poller.poll(page, NOTHING))
        await asyncio.sleep(0)
        poll = polled.poller.poll(page, KNOWN)
        assert not isinstance(poll, asyncio.Future), "others wait for the host"
        await waits
        assert (await poll).result.error is None


@pytest.mark.parametrize("path", [*WRONG.split(), *MOVED.split()])
async def test_the_same_comes_of_all_answers(sleeping_clock, path):
    clock = sleeping_clock
    following = partial(PoliteFetcher, delay=0.0, clock=clock, sleep=clock.sleep)
    told = []
    for is_at_once in (True, False):
        async with (
            MisbehavingServer() as server,
            Polled(_with_a_page(server), clock, following, max_bytes=100_000) as polled,
        ):
            if is_at_once:
                report = await polled.begun(path)
            else:
                page = polled.page(path)
                # Nothing is known of a page that asks for something else.
                report = await polled.poller._polled(page, KNOWN)
            error = (report.result.error or "").replace(server.host, "host")
            seen = replace(report.result.observation, polled_at=0.0)
            told.append((seen, report.result.memory, len(report.notices), error))
            report.release()
            again = await polled.poller.poll(polled.page("/"), KNOWN)
            assert again.result.observation.outcome is not Outcome.POSTPONED, "the host has a turn"
    assert told[0] == told[1]


@pytest.mark.parametrize("path", ["/", "/clock", "/closed"])
async def test_nothing_is_left_for_the_search_for_garbage(server, clock, following, path):
    """What a poll brought may be large."""
    async with Polled(server, clock, following) as polled:
        gc.collect()
        gc.disable()
        try:
            poll = polled.begun(path)
            report = await poll
            report.release()
            left = weakref.ref(poll)
            del poll, report
            await asyncio.sleep(0)
            assert left() is None
        finally:
            gc.enable()


async def test_nothing_is_left_of_one_that_is_cancelled(server, clock, following):
    async with Polled(server, clock, following) as polled:
        gc.collect()
        gc.disable()
        try:
            poll = polled.begun("/slow-headers?seconds=5")
            poll.cancel()
            left = weakref.ref(poll)
            del poll
            await asyncio.sleep(0)
            assert left() is None
        finally:
            gc.enable()


def _with_a_page(server):
    server.set_page("/", "<p>hello", etag='"1"')
    return server


async def test_one_without_an_answer_ends_in_time(server, clock, following):
    async with Polled(server, clock, following, timeout=0.3) as polled:
        report = await polled.begun("/never")
        assert report.result.error == "no complete answer within 0.3 s: --timeout allows more"
        assert report.result.observation.outcome is Outcome.FAILED
        assert (await polled.poller.poll(polled.page("/"), KNOWN)).result.error is None


async def test_one_that_a_machine_slept_through_is_nobodys_fault(
    server, clock, following, monkeypatch
):
    async with Polled(server, clock, following, timeout=0.3) as polled:
        poll = polled.begun("/never")
        before = deadlines.seconds_since_boot
        monkeypatch.setattr(deadlines, "seconds_since_boot", lambda: before() + 3600.0)
        report = await poll
        assert report.result.observation.outcome is Outcome.POSTPONED
        assert report.result.error == "this machine slept while the answer was awaited"


@pytest.mark.parametrize("path", ["/never", "/slow-body"])
async def test_one_that_is_cancelled_leaves_the_host_to_others(server, clock, following, path):
    async with Polled(server, clock, following) as polled:
        poll = polled.begun(path)
        while server.requests[path] == 0:
            await asyncio.sleep(0.01)
        if path == "/slow-body":
            await asyncio.sleep(0.1)  # a task waits for the rest
        assert poll.cancel()
        with pytest.raises(asyncio.CancelledError):
            await poll
        assert poll.cancelled()
        assert not poll.cancel()
        assert (await polled.poller.poll(polled.page("/"), KNOWN)).result.error is None


async def test_one_that_is_cancelled_before_its_task_begins_does_so_too(server, clock, following):
    async with Polled(server, clock, following) as polled:
        poll = polled.begun("/closed")
        while poll._task is None:
            await asyncio.sleep(0)
        poll.cancel()
        await asyncio.gather(poll, return_exceptions=True)
        assert (await polled.poller.poll(polled.page("/"), KNOWN)).result.error is None


@pytest.mark.parametrize("path", ["/", "/status/404"])
async def test_what_goes_wrong_within_is_raised(server, clock, following, monkeypatch, path):
    def fail(*_, **__):
        raise RuntimeError("a bug")

    async with Polled(server, clock, following) as polled:
        monkeypatch.setattr(polled.poller, "answered", fail)
        with pytest.raises(RuntimeError, match="a bug"):
            await polled.begun(path)


async def test_rules_that_forbid_it_hold(server, clock, following):
    server.set_behaviour("/robots.txt", "/robots/deny")
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:
        polite = following(fetcher)
        poller = WebPoller(polite, RobotsTxt(polite, clock=clock), clock=clock)
        for _ in range(2):
            report = await poller.poll(Page(7, server.url("/"), server.host), KNOWN)
            assert report.result.error == f"disallowed by {server.url('/robots.txt')}"
    assert server.requests["/"] == 0


async def test_without_a_copy_all_is_asked_for(server, clock, following):
    async with Polled(server, clock, following) as polled:
        poll = polled.poller.poll(polled.page("/not-modified"), PageMemory())
        assert "without a condition" in (await poll).result.error


@pytest.mark.parametrize(
    "path",
    [
        *("/#top", "/?#top", "/a?b#top", "/a b", "/a?b c", "/a\tb", "/a\r\nX-A: 1", "/a\x7f"),
        *("/\xe9", "/?q=\xe9", '/a"b', "/a?<b>", ""),
    ],
)
async def test_a_path_that_is_spelled_otherwise_is_sent_as_by_all_others(clock, following, path):
    host, told = Host([b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"], closes=False), []
    for is_at_once in (True, False):
        host.heads.clear()
        async with (
            serving(host) as origin,
            HttpFetcher(clock=clock, allow_private=True) as fetcher,
        ):
            name = origin.removeprefix("http://")
            polite = following(fetcher)
            poller = WebPoller(polite, RobotsTxt(polite, clock=clock), clock=clock)
            await poller.poll(Page(7, f"{origin}/", name), NOTHING)
            page = Page(7, origin + path, name)
            try:
                report = await (poller.poll if is_at_once else poller._polled)(page, KNOWN)
                said = (report.result.error or "").replace(name, "h")
            except InputError as error:
                said = str(error).replace(name, "h")
            told.append((said, [head.replace(name.encode(), b"h") for head in host.heads[2:]]))
    assert told[0] == told[1]
    assert b"X-A" not in b"".join(told[0][1])


class _Failing:
    """What somebody gave to a fetcher, and fails."""

    def __call__(self, *_):
        raise RuntimeError("a bug")


@pytest.mark.parametrize("where", ["host_delay", "blocked_for", "allows", "own_headers", "request"])
async def test_what_goes_wrong_as_it_begins_is_raised_by_the_poll(
    server, clock, following, monkeypatch, where
):
    """And not by who begins it: he has other polls, whose reports count."""
    async with Polled(server, clock, following) as polled:
        with monkeypatch.context() as patch:
            match where:
                case "host_delay" | "blocked_for":
                    patch.setattr(polled.polite, f"_{where}", _Failing())
                case "allows":
                    patch.setattr(Rules, "allows", _Failing())
                case "own_headers":
                    patch.setattr(polled.fetcher, "_sent_along", _Failing())
                case "request":
                    patch.setattr(answers, "_request", _Failing())
            poll = asyncio.ensure_future(polled.poller.poll(polled.page("/"), KNOWN))
            with pytest.raises(RuntimeError, match="a bug"):
                await poll
        assert polled.fetcher._deadlines._ends == {}, "nothing of it is left"
        assert polled.fetcher._any.connector._acquired == set()
        assert (await polled.poller.poll(polled.page("/"), KNOWN)).result.error is None


async def test_headers_that_cannot_be_made_are_an_error_of_the_poll(
    server, clock, following, monkeypatch
):
    def refuse(*_):
        raise InputError("no such login")

    async with Polled(server, clock, following) as polled:
        monkeypatch.setattr(polled.fetcher, "_sent_along", refuse)
        report = await polled.poller.poll(polled.page("/"), KNOWN)
        assert report.result.observation.outcome is Outcome.FAILED
        assert report.result.error == "no such login"


async def test_an_answer_that_comes_as_its_time_ends_counts(server, clock, following):
    """In one turn of the loop: the time is over, and then the answer is read."""
    async with Polled(server, clock, following) as polled:
        poll = polled.begun("/")
        exchange, received = poll.fetch.exchange, asyncio.Event()
        protocol = exchange.lent._protocol
        heard = protocol.data_received

        def receive(data):
            exchange()
            heard(data)
            received.set()

        protocol.data_received = receive
        report = await poll
        assert report.result.error is None
        assert report.result.observation.outcome is Outcome.UNCHANGED
        assert received.is_set()
        assert (await polled.begun("/")).result == report.result
