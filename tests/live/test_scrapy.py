"""Incremental crawls by Scrapy, each a process of its own, of real servers."""

import asyncio
import json
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from pollwise.testing.webserver import MisbehavingServer

from ..fork_server import PROGRAM
from .preparing import prepared, small_files
from .scrapy_crawls import SPIDER, Crawls, ended

SLOW = (
    "    async def parse(self, response):\n"
    "        import asyncio, pathlib\n"
    "        pathlib.Path('begun').touch()\n"
    "        while not pathlib.Path('go-on').exists():\n"
    "            await asyncio.sleep(0.05)\n"
    "        for one in self.found(response):\n"
    "            yield one\n"
    "    def found(self, response):\n"
)
"""The begin of a callback that waits until it may go on."""
ALONE = {
    "ADDONS": "{}",
    "DOWNLOADER_MIDDLEWARES": json.dumps({"pollwise.scrapy.Middleware": 75}),
    "POLLWISE_BUDGET": "",
}


@pytest.fixture
async def server():
    async with MisbehavingServer() as server:
        server.set_page("/", '<p>start</p><a href="/a">a</a><a href="/b">b</a>')
        server.set_page("/a", '<p>a</p><a href="/">start</a><a href="/b">b</a>', etag='"a1"')
        server.set_page("/b", "<p>b</p>", last_modified="Sun, 01 Nov 2026 08:00:00 GMT")
        yield server


@pytest.fixture
def crawls(tmp_path):
    return Crawls(tmp_path)


async def test_pages_are_given_once_and_polled_again_and_again(server, crawls):
    log = await crawls.run(server.url("/"), polls=30)
    assert crawls.texts == {"start": 1, "a": 1, "b": 1}
    assert {page for page, _ in crawls.polls} == {server.url(path) for path in ("/", "/a", "/b")}
    assert Counter(outcome for _, outcome in crawls.polls)["CHANGED"] == 3
    assert server.last_headers["/a"]["If-None-Match"] == '"a1"'
    assert "pollwise/skipped" in log
    assert "ERROR" not in log


async def test_the_next_crawl_goes_on(server, crawls):
    await crawls.run(server.url("/"), polls=10)
    server.set_page("/a", '<p>news</p><a href="/new">new</a>', etag='"a2"')
    server.set_page("/new", "<p>new</p>")
    await crawls.run(server.url("/"), polls=20)
    assert crawls.texts == {"start": 1, "a": 1, "b": 1, "news": 1, "new": 1}
    assert crawls.outcomes(server.url("/a")).count("CHANGED") == 2


async def test_after_ctrl_c_all_is_kept(server, crawls):
    process = await crawls.start(server.url("/"))
    while len(crawls.polls) < 12:
        assert process.returncode is None, await ended(process)
        await asyncio.sleep(0.05)
    process.send_signal(signal.SIGINT)
    await ended(process)
    await crawls.run(server.url("/"), polls=10)
    assert crawls.texts == {"start": 1, "a": 1, "b": 1}


async def test_after_kill_copies_and_pages_are_kept(server, crawls):
    process = await crawls.start(server.url("/"))
    while len(crawls.polls) < 12:
        assert process.returncode is None, await ended(process)
        await asyncio.sleep(0.05)
    process.kill()
    await ended(process, status=-signal.SIGKILL)
    await crawls.run(server.url("/"), polls=12)
    assert len(crawls.polls) >= 24
    assert [outcome for _, outcome in crawls.polls].count("CHANGED") == 3


async def test_a_page_that_vanishes_and_is_back_is_given_again(server, crawls):
    await crawls.run(server.url("/"), polls=6)
    server.remove_page("/b")
    learned = crawls.folder / "crawl.db.schedule"
    learned.unlink()  # so that all pages are polled first
    await crawls.run(server.url("/"), polls=6)
    assert crawls.outcomes(server.url("/b"))[-1] == "GONE"
    assert crawls.texts["b"] == 1
    with sqlite3.connect(crawls.folder / "crawl.db") as db:
        assert db.execute("SELECT taken FROM copy WHERE page LIKE '%/b'").fetchall() == [(0,)]
    db.close()
    server.set_page("/b", "<p>b</p>")
    learned.unlink()
    await crawls.run(server.url("/"), polls=6)
    assert crawls.texts["b"] == 2


async def test_what_fails_rests_and_keeps_nobody_waiting(server, crawls):
    failing = ("/status/500", "/closed", "/redirect-loop")
    links = "".join(f'<a href="{path}">x</a>' for path in failing)
    server.set_page("/", f'<p>start</p><a href="/a">a</a>{links}')
    await crawls.run(server.url("/"), polls=40)
    for path in failing:
        assert set(crawls.outcomes(server.url(path))) == {"FAILED"}, path
    tried = len(crawls.outcomes(server.url("/status/500")))
    assert server.requests["/status/500"] == tried  # Scrapy does not try again
    assert crawls.texts == {"start": 1, "a": 1, "b": 1}


async def test_redirects(server, crawls):
    server.set_page(
        "/",
        '<p>start</p><a href="/a">a</a><a href="/to-a">known</a><a href="/to-c">c</a>'
        '<a href="/away">elsewhere</a>',
    )
    for path, target in (("/to-a", "/a"), ("/to-c", "/c"), ("/away", "http://127.0.0.2:1/")):
        server.set_page(path, "", status=302, headers={"Location": target})
    server.set_page("/c", "<p>c</p>", etag='"c1"')
    (crawls.folder / "spider.py").write_text(
        SPIDER.replace('name = "links"', 'name = "links"; allowed_domains = ["127.0.0.1"]')
    )
    await crawls.run(server.url("/"), polls=60)
    assert crawls.texts == {"start": 1, "a": 1, "b": 1, "c": 1}
    assert set(crawls.outcomes(server.url("/to-a"))) == {"GONE"}
    assert set(crawls.outcomes(server.url("/away"))) == {"GONE"}
    assert set(crawls.outcomes(server.url("/to-c"))[1:]) == {"UNCHANGED"}
    assert server.last_headers["/c"]["If-None-Match"] == '"c1"'
    assert "If-None-Match" not in server.last_headers["/to-c"]


async def test_what_the_spider_fails_on_it_gets_again(server, tmp_path):
    spider = SPIDER.replace(
        "    def parse(self, response):\n",
        "    def parse(self, response):\n"
        "        if self.left > 4:\n"
        "            raise ValueError('not yet')\n",
    )
    crawls = Crawls(tmp_path, spider)
    await crawls.run(server.url("/b"), polls=6)
    assert crawls.texts == {"b": 1}
    assert crawls.outcomes(server.url("/b")) == ["CHANGED"] + 5 * ["UNCHANGED"]


async def test_what_a_killed_spider_was_at_work_on_it_gets_again(server, tmp_path):
    slow = SPIDER.replace("    def parse(self, response):\n", SLOW)
    crawls = Crawls(tmp_path, slow)
    process = await crawls.start(server.url("/"))
    while not (tmp_path / "begun").exists():
        assert process.returncode is None, await ended(process)
        await asyncio.sleep(0.05)
    process.kill()
    await ended(process, status=-signal.SIGKILL)
    assert crawls.texts == {}
    (tmp_path / "go-on").touch()
    await crawls.run(server.url("/"), polls=12)
    assert crawls.texts == {"start": 1, "a": 1, "b": 1}


async def test_what_a_spider_is_long_at_work_on_it_gets_once(server, tmp_path):
    crawls = Crawls(tmp_path, SPIDER.replace("    def parse(self, response):\n", SLOW))
    process = await crawls.start(server.url("/"))
    while len(crawls.polls) < 4:  # of the start page, which alone is known
        assert process.returncode is None, await ended(process)
        await asyncio.sleep(0.05)
    (tmp_path / "go-on").touch()
    while any(len(crawls.outcomes(server.url(path))) < 3 for path in ("/a", "/b")):
        assert process.returncode is None, await ended(process)
        await asyncio.sleep(0.05)
    process.send_signal(signal.SIGINT)
    await ended(process)
    assert crawls.texts == {"start": 1, "a": 1, "b": 1}


async def test_what_is_made_of_the_request_of_a_page_is_made_too(server, tmp_path):
    """Of a start page as of one that a link led to, by hand and as Scrapy tries again."""
    spider = SPIDER + (
        "        if response.url.endswith('/b'):\n"
        "            return\n"
        "        again = get_retry_request(response.request, spider=self, max_retry_times=2)\n"
        "        yield {'text': f'try {response.meta.get(\"retry_times\")}'}\n"
        "        if again:\n"
        "            yield again\n"
        "        else:\n"
        "            yield response.request.replace(callback=self.other, dont_filter=True)\n"
        "            yield scrapy.Request(response.url, self.other, meta=response.meta,\n"
        "                                 dont_filter=True)\n"
        "    def other(self, response):\n"
        "        yield {'text': 'other'}\n"
    )
    spider = "from scrapy.downloadermiddlewares.retry import get_retry_request\n" + spider
    crawls = Crawls(tmp_path, spider)
    await crawls.run(server.url("/"), polls=40)
    tries = {"try None": 2, "try 1": 2, "try 2": 2}
    assert crawls.texts == {"start": 3, "a": 3, "b": 1, **tries, "other": 4}


async def test_a_page_that_a_callback_fetches_itself_is_whole(server, tmp_path):
    spider = SPIDER.replace(
        '        yield {"url"',
        "        own = scrapy.Request(response.urljoin('/b'))\n"
        "        told = await self.crawler.engine.download_async(own)\n"
        "        yield {'text': 'own ' + told.css('p::text').get()}\n"
        '        yield {"url"',
    )
    spider = spider.replace("    def parse(", "    async def parse(").replace(
        '        yield from response.follow_all(css="a")\n',
        "        if self.left > 10:\n            raise ValueError('again')\n",
    )
    crawls = Crawls(tmp_path, spider)
    log = await crawls.run(server.url("/"), polls=60)
    assert crawls.texts["own b"] > 3
    assert "IgnoreRequest" not in log


async def test_requests_that_are_lost_at_the_end_are_told(server, tmp_path):
    spider = SPIDER + (
        "        for number in range(40):\n"
        "            yield scrapy.Request(f'{response.url}?{number}', method='POST')\n"
        "        deferred_from_coro(self.crawler.engine.close_spider_async(reason='enough'))\n"
    )
    crawls = Crawls(tmp_path, spider)
    log = await crawls.run(server.url("/"), DOWNLOAD_DELAY="0.2")
    assert "requests that were to be made once, such as POST, are lost: with JOBDIR set" in log
    kept = await Crawls(tmp_path, spider, PROGRAM[:2]).run(
        server.url("/b"), JOBDIR="job", DOWNLOAD_DELAY="0.2"
    )
    assert "are lost" not in kept


async def test_validators_that_a_server_refuses_are_not_sent_again(server, tmp_path):
    """As those that are too long for it."""
    app = web.Application()
    asked = []

    async def answer(request):
        asked.append("If-None-Match" in request.headers)
        if asked[-1]:
            raise web.HTTPBadRequest
        return web.Response(text="<p>x</p>", content_type="text/html", headers={"ETag": '"long"'})

    app.router.add_get("/", answer)
    async with TestServer(app) as refusing:
        crawls = Crawls(tmp_path)
        url = str(refusing.make_url("/"))
        await crawls.run(url, polls=2)
        assert crawls.outcomes(url) == ["CHANGED", "FAILED"]
        (tmp_path / "crawl.db.schedule").unlink()  # else the page rests for a minute
        await crawls.run(url, polls=1)
    assert asked == [False, True, False]
    assert crawls.outcomes(url)[-1] == "UNCHANGED"


async def test_a_file_that_is_deleted_meanwhile_ends_the_crawl(server, crawls):
    process = await crawls.start(server.url("/"))
    while len(crawls.polls) < 6:
        assert process.returncode is None, await ended(process)
        await asyncio.sleep(0.05)
    (crawls.folder / "crawl.db").unlink()
    process.send_signal(signal.SIGINT)
    assert "crawl.db is no more: it was deleted or moved" in await ended(process)


async def test_other_requests_are_made_once_and_whole(server, tmp_path):
    spider = SPIDER + (
        "        if response.url.endswith('/a'):\n"
        "            yield scrapy.Request(response.url, method='POST', callback=self.other)\n"
        "            yield response.follow('/b?local', callback=lambda r: [{'text': 'local'}])\n"
        "            yield response.follow('/b', callback=self.other, dont_filter=True)\n"
        "    def other(self, response):\n"
        "        yield {'text': response.request.method}\n"
    )
    server.set_page("/b?local", "")
    crawls = Crawls(tmp_path, spider)
    log = await crawls.run(server.url("/"), polls=20)
    assert crawls.texts == {"start": 1, "a": 1, "b": 1, "local": 1, "POST": 1, "GET": 1}
    assert server.requests["/b?local"] == 1
    assert "is fetched once and not polled again" in log


async def test_pages_whose_callback_is_no_more_are_forgotten(server, crawls):
    named = SPIDER.replace('css="a")', "css='a', callback=self.old)") + (
        "    def old(self, response):\n        yield from self.parse(response)\n"
    )
    (crawls.folder / "spider.py").write_text(named)
    await crawls.run(server.url("/"), polls=6)
    (crawls.folder / "spider.py").write_text(SPIDER)
    server.set_page("/", '<p>start again</p><a href="/a">a</a>')
    log = await crawls.run(server.url("/"), polls=8)
    assert "2 pages are forgotten until they are found again" in log
    assert crawls.texts == {"start": 1, "start again": 1, "a": 2, "b": 2}


async def test_a_spider_may_say_what_counts_and_want_all(server, tmp_path):
    spider = SPIDER + (
        "    def pollwise_content(self, response):\n"
        "        return response.css('p::text').get() or ''\n"
    )
    crawls = Crawls(tmp_path, spider)
    server.set_behaviour("/a", "/clock")
    server.set_page("/", '<p>start</p><a href="/a">a</a>')
    await crawls.run(server.url("/"), polls=8)
    changed = [o for page, o in crawls.polls if o == "CHANGED" and page == server.url("/")]
    assert len(changed) == 1
    server.set_page("/", '<p>start</p><a href="/a">a</a><b>what does not count</b>')
    await crawls.run(server.url("/"), polls=8, POLLWISE_SKIP_UNCHANGED="False")
    assert crawls.outcomes(server.url("/")).count("CHANGED") == 1
    assert crawls.texts["start"] > 1
    assert "If-None-Match" not in server.last_headers["/"]


async def test_the_delay_of_robots_txt_is_kept(server, crawls):
    server.set_page("/robots.txt", "User-agent: *\nCrawl-delay: 0.5", content_type="text/plain")
    await crawls.run(server.url("/"), polls=4, ROBOTSTXT_OBEY="True")
    polls = [each for each in server.exchanges if each.path != "/robots.txt"]
    waits = [b.begun_at - a.ended_at for a, b in pairwise(polls)]
    assert len(waits) == 3
    assert min(waits) > 0.45


async def test_many_pages_and_polls_hold_few_requests(server, tmp_path):
    links = "".join(f'<a href="/p{number}">x</a>' for number in range(1500))
    server.set_page("/", f"<p>start</p>{links}")
    for number in range(1500):
        server.set_page(f"/p{number}", "<p>page</p>")
    spider = SPIDER + (
        "    def closed(self, reason):\n"
        "        import gc\n"
        "        from scrapy.utils.trackref import live_refs\n"
        "        gc.collect()\n"
        "        with open('live', 'w') as file:\n"
        "            print(sum(map(len, live_refs.values())), file=file)\n"
    )
    crawls = Crawls(tmp_path, spider)
    await crawls.run(server.url("/"), polls=2500, POLLWISE_BUDGET="2000/second")
    assert len({page for page, _ in crawls.polls}) > 1400
    assert int((tmp_path / "live").read_text()) < 100


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"POLLWISE_BUDGET": "often"}, "InputError: POLLWISE_BUDGET: budget 'often': expected"),
        ({"POLLWISE_BUDGET": ""}, "InputError: POLLWISE_BUDGET: budget '': expected"),
        ({"POLLWISE_DB": ""}, "InputError: POLLWISE_DB is '': name the file of the crawl, such as"),
        ({"POLLWISE_DB": "spider.py"}, "is not a database: choose another file"),
        ({"POLLWISE_DB": "no/crawl.db"}, "No such file or directory; choose another file"),
        (
            {"POLLWISE_SKIP_UNCHANGED": "perhaps"},
            "InputError: POLLWISE_SKIP_UNCHANGED is 'perhaps': give True or False",
        ),
        (
            {"ADDONS": "{}", "SCHEDULER": "pollwise.scrapy.Scheduler"},
            "pollwise.scrapy.Scheduler works with pollwise.scrapy.Middleware only: put it into",
        ),
        (
            {**ALONE, "SCHEDULER": "pollwise.scrapy.Scheduler", "POLLWISE_BUDGET": "1"},
            "InputError: POLLWISE_BUDGET: budget '1': expected",
        ),
    ],
)
async def test_wrong_settings_end_in_one_line(server, crawls, settings, line):
    log = await ended(await crawls.start(server.url("/"), polls=1, **settings), status=1)
    assert line in log.splitlines()[-1]
    assert server.requests.total() == 0


async def test_a_damaged_schedule_is_told_and_left(server, crawls):
    await crawls.run(server.url("/"), polls=3)
    learned = crawls.folder / "crawl.db.schedule"
    learned.write_bytes(learned.read_bytes()[:-1])
    log = await ended(await crawls.start(server.url("/"), polls=1), status=1)
    assert f"{learned} is damaged: delete it, or put a copy of it back" in log.splitlines()[-1]
    learned.unlink()
    await crawls.run(server.url("/"), polls=3)


async def test_one_crawl_at_a_time_has_the_file(server, crawls):
    process = await crawls.start(server.url("/"))
    while not crawls.polls:
        assert process.returncode is None, await ended(process)
        await asyncio.sleep(0.05)
    log = await ended(await crawls.start(server.url("/"), polls=1), status=1)
    assert f"in use by process {process.pid}" in log.splitlines()[-1]
    process.send_signal(signal.SIGINT)
    await ended(process)


async def test_a_full_disk_ends_the_crawl_and_says_so(server, tmp_path):
    links = "".join(f'<a href="/p{number}-{"x" * 400}">x</a>' for number in range(300))
    server.set_page("/", f"<p>start</p>{links}")
    crawls = Crawls(tmp_path, python=(*prepared(small_files(60_000)), sys.executable, "-c"))
    log = await crawls.run(server.url("/"), polls=1000)
    assert "cannot grow, the disk is full: free some space" in log or "cannot be read" in log
    assert "Spider closed (pollwise_failed)" in log
    assert log.count(" CRITICAL: ") == 1


async def test_the_middleware_alone(server, crawls):
    for _ in range(2):
        log = await crawls.run(server.url("/"), **ALONE)
        assert "Spider closed (finished)" in log
    assert crawls.texts == {"start": 1, "a": 1, "b": 1}
    # The start page is unchanged in the second crawl, so that its links are not followed.
    # In the first it was fetched twice: Scrapy does not know that a link leads to a start page.
    assert crawls.outcomes(server.url("/")) == ["CHANGED", "UNCHANGED", "UNCHANGED"]
    await crawls.run(server.url("/b"), **ALONE)
    assert server.last_headers["/b"]["If-Modified-Since"] == "Sun, 01 Nov 2026 08:00:00 GMT"
    assert not (crawls.folder / "crawl.db.schedule").exists()


async def test_304_reaches_those_who_ask_for_it(server, tmp_path):
    crawls = Crawls(
        tmp_path,
        SPIDER.replace(
            "    def parse(self, response):\n",
            "    handle_httpstatus_list = [304]\n"
            "    def parse(self, response):\n"
            "        if response.status == 304:\n"
            "            yield {'text': 'unchanged'}\n"
            "            return\n",
        ),
    )
    server.set_page("/", "<p>start</p>", etag='"1"')
    await crawls.run(server.url("/"), polls=3)
    assert crawls.texts == {"start": 1, "unchanged": 2}


async def test_validators_of_the_spider_are_its_own(server, tmp_path):
    spider = SPIDER + (
        "    async def start(self):\n"
        "        headers = {'If-None-Match': '\"a1\"'}\n"
        "        yield scrapy.Request(self.start_urls[0], headers=headers, errback=self.told)\n"
        "    def told(self, failure):\n"
        "        yield {'text': str(failure.value.response.status)}\n"
    )
    crawls = Crawls(tmp_path, spider)
    await crawls.run(server.url("/a"), polls=3)
    assert crawls.texts == {"304": 3}
    assert crawls.outcomes(server.url("/a")) == 3 * ["UNCHANGED"]


async def test_a_304_that_nobody_asked_for_is_a_failure(server, crawls):
    server.set_page("/", '<p>start</p><a href="/not-modified">a</a>')
    await crawls.run(server.url("/"), polls=10)
    assert set(crawls.outcomes(server.url("/not-modified"))) == {"FAILED"}


async def test_the_example(server, tmp_path):
    example = Path(__file__).parents[2] / "examples" / "scrapy_news.py"
    process = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-m",
            "scrapy",
            "runspider",
            str(example),
            "-a",
            f"url={server.url('/')}",
        ),
        *("-s", "CLOSESPIDER_ITEMCOUNT=3", "-s", "POLLWISE_BUDGET=50/second"),
        cwd=tmp_path,
        stdout=PIPE,
        stderr=STDOUT,
    )
    assert "'item_scraped_count': 3" in await ended(process)
    assert (tmp_path / "news.db.schedule").exists()
