"""Pages that scripts fill, rendered by a real browser from a real server."""

import asyncio
import contextlib
import gc
import json
import os
import shutil
import signal
import socket
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest
from aiohttp import web

from pollwise.errors import InputError
from pollwise.live.checking import check_page
from pollwise.live.web_polling import web_poller
from pollwise.types import Outcome, Page, PageMemory
from pollwise.web import fetcher, polite_fetcher
from pollwise.web.noise.looks import Copy
from pollwise.web.rendering import browser, page_rendering, renderer
from pollwise.web.rendering.browser import require_browser

HTML = "text/html"
FILLED = (
    "<title>t</title><h1>Ships</h1><p id=news>empty</p>"
    "<script>fetch('%s').then(a => a.json()).then(d => { news.textContent = d.text })</script>"
)
FROM_DATA = FILLED % "/data.json"


@pytest.fixture(autouse=True, scope="module")
def _browser():
    try:
        require_browser()
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(browser, "_FIRST_PAUSE", 0.0)


def page_of(site, path: str = "/") -> Page:
    return Page(0, site.url(path), site.host, render=True)


def serve(site, html: str, text: str = "One") -> None:
    site.says("/", html, Content_Type=HTML)
    site.says("/data.json", json.dumps({"text": text}), Content_Type="application/json")


@asynccontextmanager
async def polling(clock, site, **told):
    """A poller that may ask the site, which has a private address."""
    told = {"given": {site.host}, **told}
    async with web_poller(clock, crawl_delay=0.0, **told) as poller:
        yield poller


async def poll(poller, site, memory=None):
    report = await poller.poll(page_of(site), memory or PageMemory())
    return report.result


def text_of(result) -> str:
    return result.version.body.decode()


async def test_what_scripts_fill_in_is_what_counts(site, clock):
    serve(site, FROM_DATA)
    async with polling(clock, site) as poller:
        first = await poll(poller, site)
        same = await poll(poller, site, first.memory)
        serve(site, FROM_DATA, "Two")
        other = await poll(poller, site, same.memory)
    assert ">One</p>" in text_of(first)
    assert (first.title, first.source) == ("t", "page")
    assert first.version.head == b"", "the server sent other bytes"
    assert same.observation.outcome is Outcome.UNCHANGED
    assert other.observation.outcome is Outcome.CHANGED
    assert ">Two</p>" in text_of(other)


async def test_a_page_costs_what_its_browser_asked_for(site, clock):
    html = (
        "<link rel=stylesheet href=/a.css><img src=/a.png><script src=/a.js></script>" + FROM_DATA
    )
    serve(site, html)
    site.says("/a.js", "fetch('/more.json')", Content_Type="text/javascript")
    async with polling(clock, site) as poller:
        result = await poll(poller, site)
    assert sorted(site.paths) == ["/", "/a.js", "/data.json", "/more.json", "/robots.txt"]
    assert result.observation.cost == 4.0


async def test_a_look_for_noise_renders_too(site, clock, monkeypatch):
    monkeypatch.setattr(polite_fetcher, "APART", 0.0)
    numbers = count()

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"text": f"Visitor {next(numbers)}"})

    serve(site, FROM_DATA)
    site.answers["/data.json"] = answer

    async def latest(page_id: int) -> Copy:
        return Copy(first.version.body, first.version.content_type)

    async with polling(clock, site, recall=latest) as poller:
        first = await poll(poller, site)
        looked = await poll(poller, site, first.memory)
    assert looked.masked == ("Visitor 1",)
    # Each fetch is the page and its data; of the first copy nothing is known of changes.
    assert (first.observation.cost, looked.observation.cost) == (2.0, 6.0)


async def test_a_failed_poll_costs_what_was_asked_for(site, clock):
    async with polling(clock, site) as poller:
        gone = await poll(poller, site)
    assert (gone.observation.outcome, gone.observation.cost) == (Outcome.GONE, 1.0)


async def test_what_is_no_page_is_not_rendered(site, clock):
    site.says("/", '{"text": 1}', Content_Type="application/json", ETag='"1"')
    async with polling(clock, site) as poller:
        result = await poll(poller, site)
    assert text_of(result) == '{"text": 1}'
    assert result.memory.etag is None


@pytest.mark.parametrize(
    ("disallowed", "outcome", "asked"),
    [("/", Outcome.FAILED, ["/robots.txt"]), ("/data", Outcome.CHANGED, ["/robots.txt", "/"])],
)
async def test_robots_txt_is_obeyed(site, clock, disallowed, outcome, asked):
    serve(site, FROM_DATA)
    site.says("/robots.txt", f"User-agent: *\nDisallow: {disallowed}")
    async with polling(clock, site) as poller:
        result = await poll(poller, site)
    assert result.observation.outcome is outcome
    assert site.paths == asked


async def test_a_page_that_loads_for_ever_is_taken_as_it_is(site, clock, monkeypatch):
    monkeypatch.setattr(page_rendering, "_READY_WITHIN", 1.0)
    never = asyncio.Event()

    async def wait(request: web.Request) -> web.Response:
        await never.wait()
        return web.Response()

    serve(site, FROM_DATA + "<script>fetch('/wait')</script>")
    site.answers["/wait"] = wait
    async with polling(clock, site) as poller:
        result = await poll(poller, site)
    never.set()
    assert ">One</p>" in text_of(result)


async def test_requests_without_end_are_bounded(site, clock, monkeypatch):
    monkeypatch.setattr(page_rendering, "_READY_WITHIN", 3.0)
    endless = "<script>async function ask() { for (;;) { try { await fetch('/data.json') }"
    endless += " catch { await new Promise(done => setTimeout(done, 10)) } } } ask()</script>"
    serve(site, FROM_DATA + endless)
    async with polling(clock, site) as poller:
        result = await poll(poller, site)
    assert result.observation.cost == len(site.paths) - 1 <= 101  # not robots.txt
    assert ">One</p>" in text_of(result)


ANNOYING = """<title>t</title><p id=news>Here</p><iframe src=/frame></iframe>
<a id=file href=/file download>file</a><meta http-equiv=refresh content="0; url=/refreshed">
<script>
alert('a'); confirm('b'); prompt('c'); print();
addEventListener('beforeunload', event => event.preventDefault());
window.open('/popup');
file.click();
navigator.sendBeacon('/beacon', 'x');
fetch('/posted', {method: 'POST', body: 'x'});
new WebSocket(`ws://${location.host}/socket`);
new EventSource('/events');
navigator.serviceWorker?.register('/service.js').catch(() => {});
try { new Worker('/worker.js') } catch {}
navigator.geolocation.getCurrentPosition(() => { news.textContent = 'where' });
new RTCPeerConnection({iceServers: [{urls: `stun:${location.host}`}]}).createDataChannel('x');
new Image().src = '/image.png';
setTimeout(() => { location.href = '/elsewhere' }, 50);
</script>"""


async def test_a_page_cannot_do_what_it_likes(site, clock):
    serve(site, ANNOYING)
    site.says("/worker.js", "fetch('/by-worker')", Content_Type="text/javascript")
    async with polling(clock, site) as poller:
        result = await poll(poller, site)
    assert ">Here</p>" in text_of(result)
    asked = {"/robots.txt", "/", "/worker.js", "/by-worker"}
    assert (set(site.paths), result.observation.cost) == (asked, 3.0)


async def test_no_packet_leaves_the_browser_past_us(site, clock):
    """Not by WebRTC either, which asks for its own address by UDP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stun:
        stun.bind(("127.0.0.1", 0))
        stun.setblocking(False)
        script = f"""
            const urls = 'stun:127.0.0.1:{stun.getsockname()[1]}'
            const peer = new RTCPeerConnection({{iceServers: [{{urls}}]}})
            peer.createDataChannel('x')
            peer.createOffer().then(offer => peer.setLocalDescription(offer))
            setTimeout(() => document.body.append('\\0later'), 700)
        """
        serve(site, f"<h1>Call</h1><script>{script}</script>")
        async with polling(clock, site) as poller:
            result = await poll(poller, site)
        with pytest.raises(BlockingIOError):
            stun.recv(1)
    assert "later" in text_of(result)
    assert "\0" not in text_of(result)  # else it would be no text


async def test_requests_that_robots_txt_refuses_count(site, clock):
    script = "for (let n = 0; n < 300; n++) fetch('/private/' + n).catch(() => 0)"
    serve(site, f"<h1>Ask</h1><script>{script}</script>")
    site.says("/robots.txt", "User-agent: *\nDisallow: /private", Content_Type="text/plain")
    async with polling(clock, site) as poller:
        result = await poll(poller, site)
    assert not any(path.startswith("/private") for path in site.paths)
    assert result.observation.cost == 101.0


@pytest.mark.parametrize("script", ["for (;;) {}", "setTimeout(() => { for (;;) {} }, 100)"])
async def test_an_endless_script_fails_the_poll_and_no_other(site, clock, monkeypatch, script):
    monkeypatch.setattr(renderer, "_WITHIN", 3.0)
    serve(site, f"<p>News<script>{script}</script>")
    async with polling(clock, site) as poller:
        failed = await poll(poller, site)
        monkeypatch.undo()
        serve(site, FROM_DATA)
        well = await poll(poller, site)
    assert (failed.observation.outcome, failed.error) == (Outcome.FAILED, "not rendered within 3 s")
    assert ">One</p>" in text_of(well)


async def test_a_downloaded_browser_that_does_not_start_is_no_hindrance(
    site, clock, monkeypatch, tmp_path
):
    (tmp_path / "chromium-1").mkdir()  # of another version of playwright
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    if shutil.which("chromium") is None:
        pytest.skip("this machine has no Chromium of its own")
    serve(site, FROM_DATA)
    async with polling(clock, site) as poller:
        result = await poll(poller, site)
    assert ">One</p>" in text_of(result)


def started_by_us(name: str) -> list[int]:
    """The processes of this name below this one."""
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            names[int(entry.name)] = stat[stat.index("(") + 1 : stat.rindex(")")]
            parents[int(entry.name)] = int(stat[stat.rindex(")") + 2 :].split()[1])

    def is_ours(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return [pid for pid, own in names.items() if own.startswith(name) and is_ours(pid)]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are not in /proc")
@pytest.mark.parametrize("name", ["chrom", "node"])
async def test_a_browser_that_dies_fails_the_poll_and_comes_back(site, clock, caplog, name):
    asked, ended = asyncio.Event(), asyncio.Event()

    async def wait(request: web.Request) -> web.Response:
        asked.set()
        await ended.wait()
        return web.Response()

    site.says("/", "<p>News<script>fetch('/wait')</script>", Content_Type=HTML)
    site.answers["/wait"] = wait
    async with polling(clock, site) as poller:
        under_way = asyncio.ensure_future(poll(poller, site))
        await asked.wait()
        for pid in started_by_us(name):
            with contextlib.suppress(ProcessLookupError):  # it ended with another one
                os.kill(pid, signal.SIGKILL)
        failed = await under_way
        ended.set()
        serve(site, FROM_DATA)
        well = await poll(poller, site)
    gc.collect()  # what nobody asked the outcome of is logged when it is gone
    await asyncio.sleep(0)
    assert caplog.messages == []
    assert failed.observation.outcome is Outcome.FAILED
    assert failed.error.startswith("the browser could not render it: ")
    assert ">One</p>" in text_of(well)


async def test_the_browser_ends_with_the_poller(site, clock):
    serve(site, FROM_DATA)
    async with polling(clock, site) as poller:
        await poll(poller, site)
    assert not started_by_us("chrom")


@pytest.mark.parametrize(
    ("told", "headers", "is_asked", "is_read"),
    [
        ({}, {"Access_Control_Allow_Origin": "*"}, False, False),
        ({"allow_private": True}, {"Access_Control_Allow_Origin": "*"}, True, True),
        ({"allow_private": True}, {}, True, False),
    ],
    ids=["private", "allowed", "not for others"],
)
async def test_scripts_reach_no_more_than_their_host(
    site, other_site, clock, told, headers, is_asked, is_read
):
    serve(site, FILLED % other_site.url("/data.json"))
    other_site.says("/data.json", '{"text": "Inside"}', Content_Type="text/json", **headers)
    # A page of the other host is watched as well: that is no licence for this one.
    given = {site.host, other_site.host}
    async with polling(clock, site, given=given, **told) as poller:
        result = await poll(poller, site)
    assert ("/data.json" in other_site.paths) == is_asked
    assert (">Inside</p>" in text_of(result)) == is_read


async def test_large_answers_that_nobody_gets_leave_room_for_others(
    site, other_site, clock, monkeypatch
):
    monkeypatch.setattr(fetcher, "_LONGEST_WAIT", 1.0)
    large = "x" * 300_000
    ask = f"fetch('{other_site.url('/data.json')}').catch(() => {{}});"
    serve(site, f"<p>News<script>{ask * 5}</script>")
    site.says("/large", large, Content_Type="text/plain")
    other_site.says("/data.json", large, Content_Type="text/json")
    async with polling(clock, site, allow_private=True) as poller:
        rendered = await poll(poller, site)
        report = await poller.poll(Page(1, site.url("/large"), site.host), PageMemory())
    assert rendered.observation.cost == 6.0
    assert text_of(report.result) == large


async def test_a_check_renders(site):
    serve(site, FROM_DATA)
    told = await asyncio.to_thread(check_page, site.url("/"), None, render=True)
    assert told.kept == ("t", "Ships", "One")
    assert told.fetches == 2
