"""`pollwise check` and `pollwise unmask` against a real server and a real database."""

import asyncio
import json
import os
import subprocess
import time
from itertools import count
from pathlib import Path

import pytest
from aiohttp import web

from pollwise.errors import InputError, StoreError
from pollwise.events import HostBlocked, Tick
from pollwise.insight.noise import masked_parts
from pollwise.live import checking, control
from pollwise.live.checking import PageCheck, check_page
from pollwise.live.control import ask, carry_out_waiting
from pollwise.live.recalling import recalling
from pollwise.live.requests import MaskPart, UnmaskPart
from pollwise.live.web_polling import web_poller
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage
from pollwise.types import MaskState, Outcome, Page, PageMemory
from pollwise.web.noise.looks import Copy

from ..fork_server import ENVIRONMENT, FORKED, PROGRAM, SOURCE


def serve(site) -> None:
    numbers = count()

    async def answer(request: web.Request) -> web.Response:
        number = next(numbers)
        text = f"<title>t</title><p>Visitor {number}<p>News<p>It is {number}:{number} now<p>End"
        return web.Response(text=text, content_type="text/html", headers={"ETag": f'"{number}"'})

    site.answers["/"] = answer


def unmask(db: Path, url: str, number: int | None) -> tuple[str, ...]:
    return ask(db, UnmaskPart(url, number), make=False, say=print).parts


async def check(url: str, db=None) -> PageCheck:
    return await asyncio.to_thread(check_page, url, db)


async def poll(db, site, clock, times: int) -> list[Outcome]:
    """Poll the one page of a database so often, as a watch does."""
    outcomes = []
    async with recalling(db) as recall:
        with Store.open(db) as store:
            async with web_poller(
                clock, crawl_delay=0.0, allow_private=True, recall=recall
            ) as poller:
                for _ in range(times):
                    [record] = store.pages()
                    clock.now += 3600.0
                    report = await poller.poll(record.page, record.memory)
                    store.commit(Batch(polls=(report.result,)))
                    outcomes.append(report.result.observation.outcome)
    return outcomes


async def test_pages_that_are_not_in_utf8_are_shown_and_masked_by_their_letters(
    site, tmp_path, clock
):
    numbers = count()

    async def answer(request: web.Request) -> web.Response:
        text = f"<title>t</title><p>Сейчас {next(numbers)}:00<p>Новости<p>Порт<p>Киты"
        kind = "text/html; charset=windows-1251"
        return web.Response(body=text.encode("cp1251"), headers={"Content-Type": kind})

    site.answers["/"] = answer
    url, db = site.url("/"), tmp_path / "pages.db"
    page = await check(url)
    assert page.kept[1:] == ("Новости", "Порт", "Киты")
    assert [part.text.split()[0] for part in page.noise] == ["Сейчас"]
    with Store.open(db) as store:
        store.add_pages([NewPage(url)], 0.0)
    await poll(db, site, clock, 1)
    assert await asyncio.to_thread(ask, db, MaskPart(url, "Порт"), make=False, say=print)
    with Store.open_readonly(db) as store:
        [part] = masked_parts(store.pages()[0].memory.noise.masks)
    assert part.text == "Порт"


async def test_check_shows_what_counts_and_what_is_noise(site):
    serve(site)
    page = await check(site.url("/"))
    assert (page.status, page.error, page.kind, page.fetches) == (200, None, "page", 3)
    assert page.kept == ("t", "News", "End")
    assert page.masked == ()
    assert [(part.number, part.text, part.whole) for part in page.noise] == [
        (None, "Visitor 0", False),
        (None, "It is 0:0 now", False),
    ]
    assert page.restless == ()
    assert page.changed is None
    assert site.paths == ["/robots.txt", *"///"]


async def test_check_shows_parts_and_feeds(site):
    link = "<link rel=alternate type=application/atom+xml href=atom>"
    site.says("/", f"<title>T</title>{link}<main>News<i>Ad</i></main>End", Content_Type="text/html")

    async def seen(*select: str, ignore: tuple[str, ...] = ()) -> PageCheck:
        return await asyncio.to_thread(
            check_page, site.url("/"), None, select=select, ignore=ignore
        )

    page = await seen("main", ignore=("i",))
    assert (page.kind, page.title, page.feeds) == ("page", "T", (site.url("/atom"),))
    assert (page.kept, page.ignored, page.notice) == (("News",), ("Ad",), "")
    nothing = await seen("article")
    assert (nothing.error, nothing.kind) == ("select article matches nothing", None)
    assert (await seen("html")).notice == "the selectors leave nothing out"
    with pytest.raises(InputError, match=r"^--ignore: 'p\[' is no CSS selector"):
        await seen(ignore=("p[",))


async def test_check_shows_the_items_of_a_feed(site):
    items = "".join(
        f"<item><title>{n}</title><pubDate>Thu, 01 Jan 1970 00:00:{n:02} GMT</pubDate></item>"
        for n in range(12)
    )
    site.says(
        "/", f"<rss><channel><title>F</title>{items}</channel></rss>", Content_Type="text/xml"
    )
    page = await check(site.url("/"))
    assert (page.kind, page.title, page.fetches, page.items) == ("feed", "F", 1, 12)
    assert page.notice == "12 of 12 items have no id: known by address or text"
    assert [item.published_at for item in page.newest] == [float(n) for n in range(11, 1, -1)]


async def test_check_looks_with_the_parts_of_the_database(site, tmp_path, clock):
    db = tmp_path / "parts.db"
    with Store.open(db) as store:
        page = NewPage(site.url("/"), site.host, select=("main",))
        store.add_pages([page], now=0.0)
    site.says("/", "<main>News</main>End", Content_Type="text/html")
    await poll(db, site, clock, times=1)
    site.says("/", "<main>News</main>The end", Content_Type="text/html")
    found = await check(site.url("/"), db)
    assert (found.kept, found.changed) == (("News",), False)


async def test_for_how_long_a_host_wants_to_be_left_alone_is_said_of_its_robots_txt_too(site):
    for status in (429, 503):
        site.says("/robots.txt", status=status, Retry_After="7200")
        told = (await check(site.url("/"))).error
        assert f"robots.txt cannot be had: status {status}" in told
        assert told.endswith("; its host asks to be left alone for 2 hours")


async def test_check_of_pages_that_cannot_be_had(site):
    site.says("/robots.txt", "User-agent: *\nDisallow: /secret")
    site.says("/error", status=500)
    refused = await check(site.url("/secret"))
    assert refused.error == "a page refused by its robots.txt"
    assert refused.fetches == 0
    assert (await check(site.url("/error"))).error == "status 500"
    assert "/secret" not in site.paths


async def test_check_beside_a_watch_has_the_host_left_alone(site, tmp_path, clock):
    serve(site)
    db = tmp_path / "pages.db"
    with Store.open(db) as store:
        store.add_pages([NewPage(site.url("/"), site.host)], now=0.0)
    await poll(db, site, clock, times=1)
    with Store.open(db) as store:
        checked = asyncio.ensure_future(check(site.url("/"), db))
        while not (done := carry_out_waiting(store, 100.0)):
            assert not checked.done()
            assert len(site.asked) == 2, "robots.txt and the page, by the poll before"
            await asyncio.sleep(0.01)
        answer = await checked
    [carried] = done
    assert carried.events == (HostBlocked(100.0, site.host, 110.0),)
    assert (answer.error, answer.changed) == (None, True)


async def test_check_has_the_host_left_alone_for_as_long_as_it_takes(site, tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "_ASKED_EVERY", 0.05)
    db, answers = tmp_path / "pages.db", asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        await answers.wait()
        return web.Response(text="<p>News", content_type="text/html")

    site.answers["/"] = answer
    carried = []
    with Store.open(db) as store:
        store.add_pages([NewPage(site.url("/"), site.host)], now=0.0)
        checked = asyncio.ensure_future(check(site.url("/"), db))
        while not checked.done():
            carried += carry_out_waiting(store, 100.0 + len(carried))
            if len(carried) >= 3:
                answers.set()
            await asyncio.sleep(0.01)
    assert checked.result().kept == ("News",)
    for number, one in enumerate(carried):
        assert one.events == (HostBlocked(100.0 + number, site.host, 110.0 + number),)


async def test_a_check_ends_if_the_watch_answers_no_more(site, tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "_ASKED_EVERY", 0.05)
    monkeypatch.setattr(control, "_PATIENCE", 0.5)
    db, never = tmp_path / "pages.db", asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        await never.wait()
        return web.Response()

    site.answers["/"] = answer
    with Store.open(db) as store:
        store.add_pages([NewPage(site.url("/"), site.host)], now=0.0)
        checked = asyncio.ensure_future(check(site.url("/"), db))
        while not carry_out_waiting(store, 100.0):
            await asyncio.sleep(0.01)
        with pytest.raises(StoreError, match="does not answer"):
            await checked
    never.set()


async def test_check_logs_in_as_it_is_told(site, tmp_path, monkeypatch):
    """By a netrc file, headers and cookies, also of a database whose watch does not."""
    seen = []

    async def answer(request: web.Request) -> web.Response:
        names = ("Authorization", "X-Key", "Cookie")
        seen.append([request.headers.get(name) for name in names])
        return web.Response(text="News", content_type="text/plain")

    site.answers["/"] = answer
    netrc, headers, cookies = (tmp_path / name for name in ("netrc", "headers", "cookies"))
    netrc.write_text("machine 127.0.0.1 login me password geheim\n")
    monkeypatch.setenv("NETRC", str(netrc))
    headers.write_text(f"{site.host}: X-Key: k\n")
    cookies.write_text("# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tc\t1\n")
    db = tmp_path / "pollwise.db"
    with Store.open(db) as store:
        store.add_pages([NewPage(site.url("/"), site.host)], now=0.0)
    told = {"netrc": True, "header_file": str(headers), "cookie_file": str(cookies)}
    for place in (None, db):
        await asyncio.to_thread(check_page, site.url("/"), place, fetch_settings=told)
        await check(site.url("/"), place)
    with_all, without = ["Basic bWU6Z2VoZWlt", "k", "c=1"], [None, None, None]
    assert [seen[n] for n in range(0, len(seen), 2)] == [with_all, without] * 2


async def test_check_says_that_no_header_is_for_the_host_of_the_page(site, tmp_path):
    site.answers["/"] = "News"
    said, headers = [], tmp_path / "headers"
    name, port = site.host.split(":")
    headers.write_text(f"{name}: X-Key: k\n")
    told = {"header_file": str(headers)}
    await asyncio.to_thread(check_page, site.url("/"), None, fetch_settings=told, say=said.append)
    assert said == [f"{headers} has no header for {name}:{port}, but for {name}"]
    headers.write_text(f"{name}: X-Key: k\n{site.host}: X-Key: k\n")
    await asyncio.to_thread(check_page, site.url("/"), None, fetch_settings=told, say=said.append)
    assert len(said) == 1


async def test_check_takes_headers_from_a_pipe(site):
    seen = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers.get("X-Key"))
        return web.Response(text="News", content_type="text/plain")

    site.answers["/"] = answer
    receiving, sending = os.pipe()
    os.write(sending, f"{site.host}: X-Key: k\n".encode())
    os.close(sending)
    try:
        told = {"header_file": f"/dev/fd/{receiving}"}
        await asyncio.to_thread(check_page, site.url("/"), None, fetch_settings=told)
    finally:
        os.close(receiving)
    assert seen == ["k", "k"]


async def test_check_leaves_a_host_alone_as_its_watch_would(site, tmp_path, monkeypatch):
    monkeypatch.setattr(control, "_PATIENCE", 0.2)
    serve(site)
    db, now = tmp_path / "pages.db", time.time()
    with pytest.raises(InputError, match="there is no database"):
        await check(site.url("/"), db)
    with Store.open(db) as store:
        [page] = store.add_pages([NewPage(site.url("/"), site.host)], now=now)
        settings = WatchSettings(groups=(f"own={site.host}",))
        store.start_run(now, settings.recorded(), None)
        scheduler = settings.scheduler(1, AwaitedPolicy())
        scheduler.restore([page], None)
        scheduler.handle(Tick(now))
        scheduler.handle(HostBlocked(now, site.host, now + 3600.0))
        store.commit(Batch(scheduler=scheduler.state()))
        with pytest.raises(StoreError, match="stop that process"):
            await check(site.url("/"), db)
    answer = await check(site.url("/"), db)
    assert answer.error == "@own is busy: a request would wait too long for its turn"
    assert site.asked == []


@pytest.mark.parametrize(("seconds_ago", "is_asked"), [(1.0, False), (1_000.0, True)])
async def test_check_after_a_watch_was_killed_leaves_the_host_alone_for_its_delay(
    site, tmp_path, seconds_ago, is_asked
):
    serve(site)
    db, began_at = tmp_path / "pages.db", time.time() - seconds_ago
    with Store.open(db) as store:
        store.add_pages([NewPage(site.url("/"), site.host)], now=began_at)
        store.start_run(began_at, WatchSettings(crawl_delay=100.0).recorded(), None)
        store.commit(Batch(states={"run under way": b"yes"}))
    answer = await check(site.url("/"), db)
    # Its robots.txt comes first, and the page would wait for that.
    assert "would wait too long for its turn" in answer.error
    assert bool(site.asked) is is_asked


async def test_a_part_is_unmasked_for_good_and_that_is_no_change(site, clock, tmp_path):
    serve(site)
    db = tmp_path / "pages.db"
    with pytest.raises(InputError, match="there is no database"):
        unmask(db, site.url("/"), None)
    with Store.open(db) as store:
        store.add_pages([NewPage(site.url("/"), site.host)], now=0.0)
    with pytest.raises(InputError, match=r"nothing of .* is masked"):
        unmask(db, site.url("/"), None)
    first, *others = await poll(db, site, clock, 5)
    assert first is Outcome.CHANGED
    assert set(others) == {Outcome.UNCHANGED}
    page = await check(site.url("/"), db)
    assert page.changed is False
    assert [part.number for part in page.masked] == [1, 2]
    assert page.noise == ()
    with pytest.raises(InputError, match="no masked part 3: expected 1 to 2"):
        unmask(db, site.url("/"), 3)
    [text] = unmask(db, site.url("/"), 1)
    assert text.startswith("Visitor")
    with Store.open_readonly(db) as store:
        [record] = store.pages()
    assert [part.number for part in masked_parts(record.memory.noise.masks)] == [1, None]
    # The poll after it still goes by the mask; from then on the part counts, though it is noise.
    assert await poll(db, site, clock, 4) == [Outcome.UNCHANGED] + 3 * [Outcome.CHANGED]
    with Store.open_readonly(db) as store:
        [record] = store.pages()
    states = [mask.state for mask in record.memory.noise.masks]
    assert states == [MaskState.SET, MaskState.REFUSED]


async def test_the_commands_print_it(site, clock, tmp_path):
    serve(site)
    db = tmp_path / "pages.db"
    with Store.open(db) as store:
        store.add_pages([NewPage(site.url("/"), site.host)], now=0.0)
    await poll(db, site, clock, 3)

    async def run(*words: str) -> subprocess.CompletedProcess[str]:
        return await asyncio.to_thread(
            subprocess.run,
            (*PROGRAM, *words),
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": SOURCE},
        )

    told = await run("check", site.url("/"), "--db", str(db), "--json")
    assert told.returncode == 0, told.stderr
    assert [part["text"] for part in json.loads(told.stdout)["masked"]] == [
        "Visitor 1",
        "It is 1:1 now",
    ]
    done = await run("unmask", site.url("/"), "2", "--db", str(db))
    assert done.returncode == 0
    assert "counts again from the next poll on: It is 1:1 now" in done.stderr


async def test_a_large_page_is_looked_at_by_another_process(site, clock, tmp_path):
    numbers = count()

    async def answer(request: web.Request) -> web.Response:
        text = "".join(f"<p>word {n}" for n in range(15_000)) + " " * 200_000
        return web.Response(text=f"<p>Visitor {next(numbers)}{text}", content_type="text/html")

    async def recall(page_id: int) -> Copy | None:
        return None

    site.answers["/"] = answer
    page = Page(0, site.url("/"), site.host)
    async with web_poller(clock, crawl_delay=0.0, allow_private=True, recall=recall) as poller:
        first = await poller.poll(page, PageMemory())
        second = await poller.poll(page, first.result.memory)
        third = await poller.poll(page, second.result.memory)
        for report in (first, second, third):
            report.release()
    assert len(second.result.masked) == 1
    assert third.result.observation.outcome is Outcome.UNCHANGED


@pytest.mark.parametrize("format", [(), ("--json",)])
def test_that_a_page_cannot_be_had_is_its_exit_status(format):
    ended = subprocess.run(
        [*PROGRAM, "check", "http://127.0.0.1:9/", "--allow-private", *format],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "connection refused" in ended.stdout
    assert ended.returncode == 4


async def test_how_long_an_overloaded_host_asks_to_be_left_alone_is_told(site):
    async def overloaded(request: web.Request) -> web.Response:
        return web.Response(status=429, headers={"Retry-After": "7200"})

    site.answers["/"] = overloaded
    [told] = [line for line in (await printed_check(site.url("/"))) if "429" in line]
    assert "status 429; its host asks to be left alone for 2 hours" in told


async def printed_check(url: str) -> list[str]:
    command = [*FORKED, "check", url, "--allow-private"]
    ended = await asyncio.to_thread(
        subprocess.run, command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 4
    return ended.stdout.splitlines()


async def test_the_options_that_errors_name_are_those_of_the_command(site):
    site.says("/", "<p>" + 2_000 * "long ", Content_Type="text/html")

    async def check(*options: str) -> subprocess.CompletedProcess[str]:
        command = [
            *FORKED,
            "check",
            "--json",
            site.url("/"),
            "--allow-private",
            "--timeout=60",
            *options,
        ]
        return await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, timeout=60, env=ENVIRONMENT
        )

    told = await check("--max-size=0.001")
    assert (
        json.loads(told.stdout)["error"]
        == "body larger than 1049 bytes (0.001 MiB): --max-size allows more"
    )
    told = await check("--max-size=1")
    assert (told.returncode, json.loads(told.stdout)["bytes"]) == (0, 10_003)
