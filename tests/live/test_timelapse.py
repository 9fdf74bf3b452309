"""The server of a time-lapse: pages over HTTP as they were at the moment of a given clock."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
import pytest
import pytest_asyncio
from multidict import CIMultiDictProxy

from pollwise.errors import InputError
from pollwise.testing.hosts import HOSTS, HostBehaviour
from pollwise.testing.timelapse import Revision, TimeLapse, TimeLapseServer

START = 1_700_000_000.0
BOTH = (False, True)
ONE, TWO = "Title: A <b> & c\n\nfirst text", "Title: A <b> & c\n\nsecond text"


class Moment:
    """A clock that is set by hand."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass
class Answer:
    status: int
    headers: CIMultiDictProxy[str]
    text: str


@pytest_asyncio.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers={"User-Agent": "one"}) as client:
        yield client


async def get(client: aiohttp.ClientSession, url: str, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with client.get(url, headers=named) as answer:
        return Answer(answer.status, answer.headers, await answer.text())


def one_page() -> TimeLapse:
    history = [Revision(START - 50, ONE), Revision(START + 100, TWO)]
    return TimeLapse({"page": history}, start=START, end=START + 1000)


def serving(
    clock: Moment, behaviour: HostBehaviour, *, real_clock: Moment | None = None
) -> TimeLapseServer:
    return TimeLapseServer(
        one_page(), clock, hosts=[behaviour], seed=3, real_clock=real_clock or Moment()
    )


async def test_a_page_is_served_as_it_was(client: aiohttp.ClientSession) -> None:
    clock = Moment()
    async with serving(clock, HostBehaviour("plain")) as server:
        url = server.url_of("page")
        before = await get(client, url)
        clock.now += 100
        after = await get(client, url)
    assert before.status == after.status == 200
    assert "<title>page: A &lt;b&gt; &amp; c</title>" in before.text
    assert "first text</pre>" in before.text
    assert "second text</pre>" in after.text
    assert before.headers["ETag"] != after.headers["ETag"]
    assert before.headers["Date"] == "Tue, 14 Nov 2023 22:13:20 GMT"
    assert after.headers["Date"] == "Tue, 14 Nov 2023 22:15:00 GMT"


async def test_a_page_is_not_found_before_it_appears(client: aiohttp.ClientSession) -> None:
    clock = Moment(START - 51)
    async with serving(clock, HostBehaviour("plain")) as server:
        assert (await get(client, server.url_of("page"))).status == 404
        clock.now = START
        assert (await get(client, server.url_of("page"))).status == 200
        assert (await get(client, server.url_of("page") + "-not")).status == 404


@pytest.mark.parametrize(
    ("behaviour", "etag", "last_modified"),
    [(HostBehaviour("", etag=e, last_modified=m), e, m) for e in BOTH for m in BOTH],
)
async def test_validators(
    client: aiohttp.ClientSession, behaviour: HostBehaviour, etag: bool, last_modified: bool
) -> None:
    clock = Moment()
    async with serving(clock, behaviour) as server:
        url = server.url_of("page")
        answer = await get(client, url)
        assert ("ETag" in answer.headers) == etag
        assert ("Last-Modified" in answer.headers) == last_modified
        # A host without validators is to ignore those that it is asked with.
        asked = {}
        if etag or not last_modified:
            asked["If_None_Match"] = answer.headers.get("ETag", '"x"')
        if last_modified or not etag:
            asked["If_Modified_Since"] = answer.headers.get("Last-Modified", answer.headers["Date"])
        again = await get(client, url, **asked)
        assert again.status == (304 if etag or last_modified else 200)
        clock.now += 100
        assert (await get(client, url, **asked)).status == 200


async def test_last_modified_is_the_time_of_the_text(client: aiohttp.ClientSession) -> None:
    async with serving(Moment(), HostBehaviour("", last_modified=True)) as server:
        answer = await get(client, server.url_of("page"))
    assert answer.headers["Last-Modified"] == "Tue, 14 Nov 2023 22:12:30 GMT"


async def test_robots_txt(client: aiohttp.ClientSession) -> None:
    for delay, text in ((None, ""), (0.2, "Crawl-delay: 0.2\n")):
        async with serving(Moment(), HostBehaviour("", crawl_delay=delay)) as server:
            answer = await get(client, f"http://{server.host_of('page')}/robots.txt")
        assert answer.text == "User-agent: *\nDisallow:\n" + text
        assert answer.headers["Content-Type"].startswith("text/plain")


async def test_a_slow_host_takes_its_time(client: aiohttp.ClientSession) -> None:
    slept = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    slow = [HostBehaviour("slow", delay=0.3)]
    async with TimeLapseServer(one_page(), Moment(), hosts=slow, sleep=sleep) as server:
        assert (await get(client, server.url_of("page"))).status == 200
    assert slept == [0.3]


async def test_a_limit_holds_for_each_user_agent(client: aiohttp.ClientSession) -> None:
    real = Moment(0.0)
    limited = HostBehaviour("limited", limit=2)
    async with serving(Moment(), limited, real_clock=real) as server:
        url = server.url_of("page")
        assert [(await get(client, url)).status for _ in range(3)] == [200, 200, 429]
        assert (await get(client, url)).headers["Retry-After"] == "1"
        assert (await get(client, url, User_Agent="two")).status == 200
        real.now = 1.0
        assert (await get(client, url)).status == 200


async def outcome(client: aiohttp.ClientSession, url: str, user_agent: str) -> str:
    try:
        return str((await get(client, url, User_Agent=user_agent)).status)
    except aiohttp.ClientPayloadError:
        return "cut off"


async def test_failures_are_the_same_for_each_user_agent(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(Moment(), HostBehaviour("failing", failing=0.3)) as server:
        url = server.url_of("page")
        first = [await outcome(client, url, "one") for _ in range(40)]
        second = [await outcome(client, url, "two") for _ in range(40)]
        robots = f"http://{server.host_of('page')}/robots.txt"
        assert {await outcome(client, robots, "one") for _ in range(20)} == {"200"}
    assert first == second
    assert set(first) == {"200", "503", "cut off"}
    assert first.count("200") > 20
    assert not caplog.records


async def test_what_varies_is_not_seen(client: aiohttp.ClientSession) -> None:
    async with serving(Moment(), HostBehaviour("varying", varying=True)) as server:
        url = server.url_of("page")
        one, two = [await get(client, url) for _ in range(2)]
        again = await get(client, url, If_None_Match=two.headers["ETag"])
    assert one.text != two.text
    assert again.status == 200

    def visible(text: str) -> str:
        return re.sub(r"<script>.*</script>\n<!--.*-->", "", text)

    assert visible(one.text) == visible(two.text)


async def test_only_reading_is_allowed(client: aiohttp.ClientSession) -> None:
    async with serving(Moment(), HostBehaviour("plain")) as server:
        async with client.post(server.url_of("page")) as answer:
            assert answer.status == 405
        async with client.head(server.url_of("page")) as answer:
            assert answer.status == 200
            assert await answer.read() == b""


async def test_the_pages_are_spread_over_the_hosts(client: aiohttp.ClientSession) -> None:
    names = [f"p{i:02}" for i in range(25)]
    timelapse = TimeLapse(
        {name: [Revision(START, name)] for name in names}, start=START, end=START + 1
    )
    async with TimeLapseServer(timelapse, Moment()) as server:
        assert list(server.hosts.values()) == list(HOSTS)
        assert list(server.urls) == names
        for name, url in server.urls.items():
            assert url == f"http://{server.host_of(name)}/{name}"
        sizes = {h: sum(server.host_of(n) == h for n in names) for h in server.hosts}
        assert set(sizes.values()) == {2, 3}
        elsewhere = f"http://{server.host_of('p01')}/p00"
        assert (await get(client, elsewhere)).status == 404


async def test_the_pages_of_a_site_share_a_host() -> None:
    names = [f"site{n % 3}.example/{n}" for n in range(9)]
    timelapse = TimeLapse(
        {name: [Revision(START, name)] for name in names}, start=START, end=START + 1
    )
    async with TimeLapseServer(timelapse, Moment()) as server:
        for name in names:
            assert server.host_of(name) == server.host_of(name.partition("/")[0] + f"/{name[4]}")
        assert len({server.host_of(name) for name in names}) == 3


async def test_hosts_of_one_address_are_different_scopes(
    client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pollwise.testing.timelapse._loopback", lambda number: "127.0.0.1")
    async with TimeLapseServer(one_page(), Moment()) as server:
        assert len(server.hosts) == len(HOSTS)
        assert {scope.split(":")[0] for scope in server.hosts} == {"127.0.0.1"}
        assert (await get(client, server.url_of("page"))).status == 200


async def test_requests_are_counted(client: aiohttp.ClientSession) -> None:
    async with serving(Moment(), HostBehaviour("plain")) as server:
        scope = server.host_of("page")
        await get(client, server.url_of("page"))
        await get(client, f"http://{scope}/robots.txt")
        await get(client, server.url_of("page"), User_Agent="two")
        assert server.requests == {("one", scope): 2, ("two", scope): 1}


async def test_an_unknown_page_has_no_url() -> None:
    server = serving(Moment(), HostBehaviour("plain"))
    with pytest.raises(InputError, match="no page 'page'"):
        server.url_of("page")
    async with server:
        with pytest.raises(InputError, match="no page 'pge'"):
            server.host_of("pge")


async def test_the_bundled_pages_are_served(client: aiohttp.ClientSession) -> None:
    timelapse = TimeLapse.bundled()
    plain = [HostBehaviour("plain")]
    async with TimeLapseServer(timelapse, Moment(timelapse.start), hosts=plain) as server:
        answers = {name: await get(client, url) for name, url in server.urls.items()}
    for name, answer in answers.items():
        there = timelapse.body_at(name, timelapse.start) is not None
        assert answer.status == (200 if there else 404)
