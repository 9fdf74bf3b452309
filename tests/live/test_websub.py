"""Subscriptions at a real hub on loopback: asked for, confirmed, told by, renewed, denied."""

import asyncio
import hmac
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from pollwise.events import Removed, Signalled
from pollwise.live.incoming import Incoming
from pollwise.live.listening.http_server import answering, application
from pollwise.live.listening.hub_routes import hub_routes
from pollwise.live.listening.subscriber import Subscriber
from pollwise.live.progress import Progress
from pollwise.sources.view import NO_HUB, HubLinks
from pollwise.store import Store
from pollwise.store.records import NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory
from pollwise.watched_pages import Watched
from pollwise.web.fetcher import HttpFetcher
from pollwise.web.hubs import Hubs
from pollwise.web.own_servers import listen_on
from pollwise.web.poll_reports import PollReport

PATIENCE = 60.0
"""Seconds after which what does not happen is a failure."""
DAY = 86_400.0


class Writer:
    """What a journal does for others: it writes by one thread."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_: object) -> None:
        self._thread.shutdown()  # before the store is closed

    async def write(self, call: Callable[..., Any], *arguments: object) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)


class Hub:
    """A hub that does what a test says; `asked` are the forms that it got."""

    def __init__(self, site) -> None:
        self.url = site.url("/hub")
        self.asked: list[dict[str, str]] = []
        self.status = 202
        self.answers = {"hub.mode": "subscribe", "hub.lease_seconds": str(int(10 * DAY))}
        self.verified: list[tuple[int, str]] = []
        site.answers["/hub"] = self._ask

    async def _ask(self, request: web.Request) -> web.Response:
        form = dict(await request.post())
        self.asked.append(form)
        if self.status == 202:
            told = {**self.answers, "hub.topic": form["hub.topic"], "hub.challenge": "a<b>&c"}
            # At once: a hub need not wait until its own answer has arrived.
            self.verified.append(await get(form["hub.callback"], told))
        return web.Response(status=self.status)

    def signed(self, body: bytes, method: str = "sha256") -> dict[str, str]:
        digest = hmac.new(self.asked[-1]["hub.secret"].encode(), body, method).hexdigest()
        return {"X-Hub-Signature": f"{method}={digest}"}

    async def tell(self, body: bytes, **headers: str) -> int:
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.asked[-1]["hub.callback"], data=body, headers=headers) as answer,
        ):
            return answer.status


async def get(url: str, told: dict[str, str]) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url, params=told) as answer:
        assert answer.content_type in ("text/plain", "application/json", "application/octet-stream")
        return answer.status, await answer.text()


class Running:
    """A subscriber of one feed beside a run."""

    def __init__(self, store, clock, hubs, incoming, public_url, feed) -> None:
        self.store, self.incoming, self.feed = store, incoming, feed
        self.subscriber = Subscriber(
            store, clock, hubs=hubs, public_url=public_url, incoming=incoming, look_every=0.01
        )
        self.watched = {feed.id: Watched(feed, PageMemory())}
        self.subscriber.note(Progress((), ()), self.watched)

    def polled(self, links: HubLinks | None) -> None:
        poll = PollResult(Observation(self.feed.id, 0.0, Outcome.CHANGED), PageMemory())
        report = PollReport(poll, hub_links=links)
        self.subscriber.note(Progress((), (report,)), self.watched)

    async def signals(self) -> list[Signalled]:
        """What was signalled until now."""
        await asyncio.sleep(0.1)
        return [event for event in self.incoming.take() if isinstance(event, Signalled)]


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.sleep(0.01)


@pytest.fixture
def hub(other_site) -> Hub:
    return Hub(other_site)


@pytest.fixture
def links(hub, site) -> HubLinks:
    return HubLinks(hub.url, site.url("/feed"))


@pytest.fixture
def start(tmp_path, site, clock, following) -> Callable[..., Any]:
    @asynccontextmanager
    async def started(*, allow_private: bool = True) -> AsyncIterator[Running]:
        listener = listen_on("127.0.0.1", 0, "")
        host, port = listener.getsockname()
        path = tmp_path / "pollwise.db"
        with listener, Store.open(path) as store, Store.open_readonly(path) as reader:
            [feed] = store.add_pages([NewPage(site.url("/feed"), site.host)], clock())
            async with HttpFetcher(
                clock=clock, given=(site.host,), allow_private=allow_private
            ) as exchanges:
                hubs = Hubs(exchanges, following(exchanges))
                public_url = f"http://{host}:{port}/below/"
                running = Running(store, clock, hubs, Incoming(), public_url, feed)
                running.store = reader
                app = application(hub_routes(running.subscriber), ())
                async with (
                    Writer() as writer,
                    running.subscriber.beside(writer),
                    answering(listener, app),
                ):
                    yield running

    return started


def subscribed_until(store: Store) -> list[float | None]:
    return [own.lease_until for own in store.subscriptions()]


def error_of(store: Store) -> str:
    return "".join(own.error or "" for own in store.subscriptions())


async def test_a_hub_that_is_named_is_asked_and_what_it_tells_is_a_signal(start, hub, links, clock):
    async with start() as running:
        running.polled(links)
        await until(lambda: subscribed_until(running.store) == [clock.now + 10 * DAY])
        [form] = hub.asked
        assert hub.verified == [(200, "a<b>&c")]
        assert form["hub.mode"] == "subscribe"
        assert form["hub.topic"] == links.topic
        assert "/below/hub/" in form["hub.callback"]
        for method in ("sha1", "sha256", "sha384", "sha512"):
            assert await hub.tell(b"<feed/>", **hub.signed(b"<feed/>", method)) == 204
            assert await running.signals() == [Signalled(clock.now, (running.feed.id,), clock.now)]
        running.polled(None)  # nothing was read
        running.polled(links)
        assert await running.signals() == []
        assert len(hub.asked) == 1


async def test_what_is_signed_wrongly_is_answered_and_ignored(start, hub, links):
    async with start() as running:
        running.polled(links)
        await until(lambda: subscribed_until(running.store) not in ([], [None]))
        good = hub.signed(b"one")["X-Hub-Signature"]
        for header in (good, good[:-1], "sha256=", "md5=" + "0" * 32, "sha256=\xff", good[7:], ""):
            assert await hub.tell(b"other", **{"X-Hub-Signature": header}) == 204
        assert await hub.tell(b"one") == 204
        assert await running.signals() == []
        assert await hub.tell(b"one", **hub.signed(b"one")) == 204
        assert len(await running.signals()) == 1


async def test_a_body_that_is_too_large_is_not_read_to_its_end(start, hub, links):
    async with start() as running:
        running.polled(links)
        await until(lambda: subscribed_until(running.store) not in ([], [None]))
        body = b"x" * (10 * 2**20 + 1)
        with suppress(aiohttp.ClientConnectionError):  # cut off while it writes
            assert await hub.tell(body, **hub.signed(body)) == 413
        assert await running.signals() == []


async def test_nothing_is_confirmed_that_was_not_asked_for(start, hub, links):
    async with start() as running:
        running.polled(links)
        await until(lambda: subscribed_until(running.store) not in ([], [None]))
        callback, before = hub.asked[0]["hub.callback"], running.store.subscriptions()
        told = {"hub.mode": "subscribe", "hub.topic": links.topic, "hub.challenge": "x"}
        for wrong in (
            {"hub.topic": "http://a.example/"},
            {"hub.mode": "unsubscribe"},
            {"hub.mode": "denied", "hub.topic": "http://a.example/"},
            {"hub.challenge": ""},
            {"hub.challenge": "x" * 5000},
        ):
            status, text = await get(callback, {**told, **wrong})
            assert status == 404
            assert "challenge" not in text
        other = "a" if callback.endswith("b") else "b"
        assert (await get(callback[:-1] + other, told))[0] == 404
        assert (await get(callback, {}))[0] == 404
        assert running.store.subscriptions() == before
        assert await get(callback, told) == (200, "x"), "a hub may ask again"


async def test_a_lease_is_renewed_and_outlasts_the_run(start, hub, links, clock):
    async with start() as running:
        running.polled(links)
        await until(lambda: subscribed_until(running.store) == [clock.now + 10 * DAY])
        clock.now += 7 * DAY
        assert await running.signals() == []
        assert len(hub.asked) == 1
        clock.now += 1 * DAY
        await until(lambda: subscribed_until(running.store) == [clock.now + 10 * DAY])
        first, second = hub.asked
        assert first == second
        [own] = running.store.subscriptions()
    async with start() as running:  # by another port, so another public URL
        await until(lambda: len(hub.asked) == 3)
        await until(lambda: running.store.subscriptions()[0].callback != own.callback)


async def test_a_hub_that_refuses_is_asked_again_later(start, hub, links, clock):
    hub.status = 500
    async with start() as running:
        running.polled(links)
        await until(lambda: [own.error for own in running.store.subscriptions()] == ["status 500"])
        for rest in (600.0, 1200.0):
            asked = len(hub.asked)
            clock.now += rest - 1.0
            assert await running.signals() == []
            assert len(hub.asked) == asked
            clock.now += 1.0
            await until(lambda: len(hub.asked) == asked + 1)  # noqa: B023
        hub.status = 202
        clock.now += 2400.0
        await until(lambda: subscribed_until(running.store) == [clock.now + 10 * DAY])
        assert running.store.subscriptions()[0].error is None


async def test_a_hub_that_denies_is_left_alone(start, hub, links, clock):
    hub.answers = {"hub.mode": "denied", "hub.reason": "not for you"}
    async with start() as running:
        running.polled(links)
        await until(
            lambda: [own.error for own in running.store.subscriptions()] == ["denied: not for you"]
        )
        clock.now += DAY - 1.0
        assert await running.signals() == []
        assert len(hub.asked) == 1
        clock.now += 1.0
        await until(lambda: len(hub.asked) == 2)


async def test_a_page_that_is_removed_or_names_no_hub_any_more_is_gone(start, hub, links):
    async with start() as running:
        for end in (
            lambda: running.polled(NO_HUB),
            lambda: running.subscriber.note(
                Progress((Removed(0.0, (running.feed.id,)),), ()), running.watched
            ),
        ):
            running.polled(links)
            await until(lambda: subscribed_until(running.store) not in ([], [None]))
            signed = hub.signed(b"x")
            end()
            assert await hub.tell(b"x", **signed) == 410
            await until(lambda: running.store.subscriptions() == [])
        assert await running.signals() == []


async def test_another_hub_gets_another_callback_and_secret(start, hub, links, site):
    async with start() as running:
        running.polled(links)
        await until(lambda: subscribed_until(running.store) not in ([], [None]))
        running.polled(HubLinks(hub.url, site.url("/moved")))
        await until(lambda: len(hub.asked) == 2)
        first, second = hub.asked
        assert first["hub.callback"] != second["hub.callback"]
        assert first["hub.secret"] != second["hub.secret"]
        assert (await get(first["hub.callback"], {"hub.mode": "subscribe"}))[0] == 404


async def test_a_hub_with_a_private_address_is_asked_only_beside_its_feed(start, hub, links, site):
    async with start(allow_private=False) as running:
        running.polled(links)
        await until(lambda: "no public address" in error_of(running.store))
        assert hub.asked == []
        own = Hub(site)  # on the host of the feed, which the user gave
        running.polled(HubLinks(own.url, links.topic))
        await until(lambda: len(own.asked) == 1)


async def test_a_redirect_of_a_hub_is_followed_under_the_same_guard(
    start, hub, links, site, other_site
):
    site.says("/old", status=307, Location=hub.url)
    async with start() as running:
        running.polled(HubLinks(site.url("/old"), links.topic))
        await until(lambda: subscribed_until(running.store) not in ([], [None]))
        assert len(hub.asked) == 1
    async with start(allow_private=False) as running:
        running.polled(HubLinks(site.url("/old"), site.url("/feed2")))
        await until(lambda: "no public address" in error_of(running.store))
        assert len(hub.asked) == 1


async def test_what_was_not_written_when_the_run_ends_is_written_then(start, hub, links):
    class Ended(Writer):
        """Its calls are cancelled, as those of a run that ends."""

        async def write(self, *told: object) -> None:
            raise asyncio.CancelledError

    async with start() as running:
        subscriber = running.subscriber
        running.polled(links)
        with pytest.raises(asyncio.CancelledError):
            await subscriber._save(Ended())
    assert [own.hub for own in running.subscriber._own.values()] == [links.hub]
    with Store.open_readonly(running.store.path) as store:
        assert [own.hub for own in store.subscriptions()] == [links.hub]
