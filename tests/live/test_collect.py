"""`pollwise collect` as it is run: a small web of two hosts, stops and kills."""

import asyncio
import json
import re
import signal
import subprocess
import time
from urllib.parse import urlsplit

import numpy as np
import pytest

from pollwise.errors import StoreError
from pollwise.live.collecting import _text_of
from pollwise.settings import CollectSettings, latest_settings
from pollwise.store import Store
from pollwise.testing.document_hosts import DocumentHosts, rapid_fire
from pollwise.testing.webserver import MisbehavingServer

from ..fork_server import ENVIRONMENT, FORKED, PROGRAM

DELAY = 0.02
QUICK = ["--budget", "1000/second", "--crawl-delay", str(DELAY)]
PAGES = 30


def page(number: int, host: str) -> str:
    subject = "whale" if number % 5 == 0 else "ship"
    rng = np.random.default_rng([number, len(host)])
    words = " ".join(f"{subject} w{rng.integers(400)} {host}{number}" for _ in range(40))
    below = [n for n in (2 * number, 2 * number + 1) if n < PAGES]
    links = "".join(f'<li><a href="{n}.html">{host} {n}</a>' for n in below)
    return f"<title>{host} {number} on {subject}s</title><p>{words}<ul>{links}</ul>"


@pytest.fixture
def folders(tmp_path):
    for host in ("north", "south"):
        folder = tmp_path / "web" / host
        folder.mkdir(parents=True)
        (folder / "index.html").write_text('<a href="1.html">begin</a>')
        for number in range(1, PAGES):
            (folder / f"{number}.html").write_text(page(number, host))
    return [tmp_path / "web" / host for host in ("north", "south")]


@pytest.fixture
async def web(folders):
    async with DocumentHosts(folders, generator=np.random.default_rng(1), latency=0.005) as hosts:
        yield hosts


def started(folder, *words):
    return subprocess.Popen(
        [*FORKED, "collect", *words],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def finished(process):
    """Exit status, answer and messages of a process; the hosts go on serving meanwhile."""
    out, err = await asyncio.to_thread(process.communicate, timeout=120)
    return process.returncode, out, err


def number_of(url):
    return int(url.rsplit("/", 1)[1].split(".")[0])


def seeds(web):
    return [word for url in web.urls for word in ("--seed", url)]


def documents(folder):
    with Store.open_readonly(folder / "pollwise.db") as store:
        return [document for document in store.documents() if document.text is not None]


async def test_a_whole_web_is_collected_politely_and_can_be_searched(web, tmp_path):
    running = started(tmp_path, "--topic", "whales", *seeds(web), *QUICK, "--json")
    await at_least(tmp_path, 2 * PAGES)
    running.send_signal(signal.SIGINT)
    status, out, err = await finished(running)
    assert status == 0, err
    assert rapid_fire(web.exchanges, DELAY) == []
    assert len({(each.host, each.path) for each in web.exchanges}) > 50
    load = json.loads(out)["results"][0]
    assert load["processed"] == len(documents(tmp_path)) == 2 * PAGES
    assert len(web.exchanges) < 4 * PAGES
    relevant = [d.url for d in documents(tmp_path) if d.relevance]
    on_topic = [url for url in relevant if number_of(url) % 5 == 0]
    assert len(on_topic) > 0.9 * len(relevant) > 5
    found = subprocess.run(
        [*PROGRAM, "search", "whale", "--json"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True
    )
    hits = [hit["url"] for hit in json.loads(found.stdout)["results"]]
    assert hits
    assert all(number_of(url) % 5 == 0 for url in hits)
    assert "collecting pages about whales" in err
    assert "60 documents" in err
    told = "2 hosts take 100 requests a second of the 1,000"
    assert err.splitlines().count(f"pollwise: so far {told}") == 1
    status = subprocess.run(
        [*FORKED, "status"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert told in status.stdout


async def test_a_killed_run_goes_on_where_it_was(web, tmp_path):
    words = ["--topic", "whales", *seeds(web), *QUICK]
    running = started(tmp_path, *words)
    await at_least(tmp_path, 10)
    running.send_signal(signal.SIGKILL)
    await finished(running)
    before = {document.url for document in documents(tmp_path)}
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        known = {record.page.url for record in store.pages()}
    assert len(before) < len(known)
    running = started(tmp_path, *QUICK)
    await at_least(tmp_path, 2 * PAGES)
    running.send_signal(signal.SIGINT)
    status, _, err = await finished(running)
    assert status == 0, err
    assert "60 documents" in err.splitlines()[-1]  # of both runs
    after = {document.url for document in documents(tmp_path)}
    assert before | known <= after
    first_fetches = [each.path for each in web.exchanges if each.path != "/robots.txt"]
    assert len(first_fetches) < 3 * len(after)


async def test_what_was_set_stays_until_it_is_set_anew(web, tmp_path):
    words = ["--topic", "whales", *seeds(web), *QUICK, "--deny", "zzz", "--max-depth", "3"]
    status, _, err = await finished(started(tmp_path, *words, "--requests", "2"))
    assert status == 0, err
    status, _, err = await finished(started(tmp_path, "--deny", "", "--requests", "1"))
    assert status == 0, err
    assert "pollwise: deny none, before zzz\n" in err
    assert "at 1000/second" in err
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        settings = latest_settings(store)
    kept = (settings.crawl_delay, settings.deny, settings.max_depth, settings.requests)
    assert kept == (DELAY, (), 3, None)


async def test_rules_of_a_later_run_bind_the_pages_that_are_known(web, tmp_path):
    """They are not polled, documents stay, and without the rules they are polled again."""
    words = ["--topic", "whales", *seeds(web), *QUICK, "--requests", "20"]
    status, _, err = await finished(started(tmp_path, *words))
    assert status == 0, err
    north, south = (url.removesuffix("/index.html") for url in web.urls)
    before = {document.url for document in documents(tmp_path)}
    held = {url for url in before if url.startswith(south)}
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        known = {record.page.url for record in store.pages()}
    unread = {url for url in known - before if url.startswith(south)}
    assert held
    assert unread

    web.exchanges.clear()
    running = started(tmp_path, "--deny", re.escape(south), *QUICK)
    await at_least(tmp_path, PAGES + len(held))
    running.send_signal(signal.SIGINT)
    status, _, err = await finished(running)
    assert status == 0, err
    assert f"pollwise: --allow and --deny leave out {len(held | unread)} known pages" in err
    assert {each.host for each in web.exchanges} == {urlsplit(north).hostname}
    after = {document.url for document in documents(tmp_path)}
    assert {url for url in after if url.startswith(south)} == held
    assert "0 in the fringe" in err.splitlines()[-1]
    assert fringe(tmp_path) == 0

    running = started(tmp_path, "--deny", "", *QUICK)
    await at_least(tmp_path, 2 * PAGES)
    running.send_signal(signal.SIGINT)
    status, _, err = await finished(running)
    assert status == 0, err
    assert "leave out" not in err


async def test_seeds_that_were_never_fetched_come_before_the_fringe(web, tmp_path):
    """Whether they are known by links, or not at all; in a first run, all of them."""
    north, south = (url.removesuffix("/index.html").rstrip("/") for url in web.urls)
    quick = ["--budget", "1000/second", "--crawl-delay", "0.1"]
    words = ["--topic", "whales", "--seed", f"{north}/", "--requests", "8"]
    status, _, err = await finished(started(tmp_path, *words, *quick))
    assert status == 0, err
    read = {document.url for document in documents(tmp_path)}
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        known = [record.page.url for record in store.pages()]
    unread = [url for url in known if url not in read]
    named = [unread[-1], f"{south}/17.html", f"{north}/29.html"]
    assert len(unread) > len(named)

    web.exchanges.clear()
    words = [word for url in (*named, known[0]) for word in ("--seed", url)]
    status, _, err = await finished(started(tmp_path, *words, *quick, "--requests", "3"))
    assert status == 0, err
    asked = [f"http://{each.host}" + each.path for each in web.exchanges]
    pages = [path for path in asked if path.endswith(".html")]
    assert {re.sub(r":\d+", "", url) for url in named} == set(pages[:3])


async def test_seeds_may_be_listed_in_a_file(web, tmp_path):
    listed = [f"{url}{number}.html" for url in web.urls for number in (7, 8)]
    lines = [*listed, f"{web.urls[0]}7.png", f"{web.urls[0]}7.pdf"]
    (tmp_path / "seeds.txt").write_text("\n".join(lines))
    words = ("--topic", "whales", "--seed-file", "seeds.txt", "--requests", "5", *QUICK)
    status, _, err = await finished(started(tmp_path, *words))
    assert status == 0, err
    assert f"1 page of the 6 listed left out, such as {lines[4]}: file type without text" in err
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        seeded = {record.page.url for record in store.pages() if record.depth == 0}
    assert seeded == {*listed, lines[5]}


async def test_the_last_polls_of_a_run_are_answered_though_others_fail_at_once(site, tmp_path):
    """A seed was cut short by pages of the fringe that cost no request."""
    links = "".join(f'<li><a href="http://127.0.9.{n}/">whales</a>' for n in range(10))
    site.says("/", f"<p>Whales<ul>{links}</ul>", Content_Type="text/html")
    site.says("/named", "<p>Whales, too", Content_Type="text/html")
    site.says("/robots.txt", "")
    words = ["--topic", "whales", "--seed", site.url("/"), *QUICK, "--requests", "1"]
    status, _, err = await finished(started(tmp_path, *words))
    assert status == 0, err
    words = ["--seed", site.url("/named"), "--requests", "1"]
    status, _, err = await finished(started(tmp_path, *words))
    assert status == 0, err
    assert [document.url for document in documents(tmp_path)] == [site.url("/"), site.url("/named")]


async def test_a_run_makes_exactly_as_many_polls_as_it_is_told(site, tmp_path):
    """Several of them end in one turn, and before the turn is written down others could begin."""
    links = "".join(f'<li><a href="http://127.0.9.{n}/">whales</a>' for n in range(100))
    site.says("/", f"<p>Whales<ul>{links}</ul>", Content_Type="text/html")
    site.says("/robots.txt", "")
    words = ["--topic", "whales", "--seed", site.url("/"), *QUICK, "--requests", "20", "--json"]
    status, out, err = await finished(started(tmp_path, *words))
    assert status == 0, err
    assert json.loads(out)["collection"]["polls"] == 20


async def at_least(folder, count):
    end = time.monotonic() + 240
    while time.monotonic() < end:
        if (folder / "pollwise.db").exists():
            try:
                if len(documents(folder)) >= count:
                    return
            except StoreError:
                pass
        await asyncio.sleep(0.1)
    raise AssertionError(f"no {count} documents within four minutes")


async def test_an_example_without_text_is_named(site, tmp_path):
    site.says("/a", "%PDF-1.4", Content_Type="application/pdf")
    (tmp_path / "empty.html").write_text("<title></title>")
    for example, why in (
        (site.url("/a"), "application/pdf is neither HTML nor plain text"),
        ("empty.html", "it has no text"),
    ):
        words = ["--seed", "http://h/", "--example", example]
        status, _, err = await finished(started(tmp_path, *words))
        assert status == 2
        assert f"the example {example} cannot be used ({why}); name a page with text" in err


async def test_an_example_page_is_asked_for_as_any_other(site, tmp_path):
    """Once, its robots.txt was not asked."""
    words = ["--seed", "http://h/", "--example", site.url("/a")]
    site.says("/a", "<p>Whales sing to whales", Content_Type="text/html")
    site.says("/robots.txt", "User-agent: *\nDisallow: /a")
    status, _, err = await finished(started(tmp_path, *words))
    assert (status, site.paths) == (2, ["/robots.txt"])
    assert f"the example {site.url('/a')} cannot be fetched (disallowed by" in err
    site.says("/robots.txt", "")
    assert "sing" in await asyncio.to_thread(_text_of, site.url("/a"))


async def test_all_who_tell_the_fringe_tell_the_same(site, tmp_path):
    """Pages that are gone or fail were polled: they are no longer known by links only."""
    names = ("gone", "off", "a", "b")
    links = "".join(f'<li><a href="/{name}">{name}</a>' for name in names)
    site.says("/", f"<p>Whales<ul>{links}</ul>", Content_Type="text/html")
    site.says("/robots.txt", "User-agent: *\nDisallow: /off")
    for name in ("a", "b"):
        site.says(f"/{name}", f"<p>Whales {name}", Content_Type="text/html")
    words = ["--topic", "whales", "--seed", site.url("/"), *QUICK]
    status, _, err = await finished(started(tmp_path, *words, "--requests", "2"))
    assert status == 0, err
    assert "3 in the fringe" in err.splitlines()[-1]
    assert fringe(tmp_path) == 3
    status, out, err = await finished(started(tmp_path, "--requests", "3", "--json"))
    assert status == 0, err
    assert "0 in the fringe" in err.splitlines()[-1]
    assert fringe(tmp_path) == 0
    assert json.loads(out)["collection"] == {
        "polls": 5,
        "documents": 3,
        "relevant": 3,
        "fringe": 0,
        "hosts": 1,
    }


def fringe(folder):
    """As `status` has it."""
    told = subprocess.run(
        [*FORKED, "status", "--json"], cwd=folder, env=ENVIRONMENT, capture_output=True, check=True
    )
    return json.loads(told.stdout)["collection"]["fringe"]


async def test_a_collection_keeps_its_topic_and_is_no_watch_list(web, tmp_path):
    words = ["--topic", "whales", *seeds(web), *QUICK, "--requests", "3"]
    assert (await finished(started(tmp_path, *words)))[0] == 0
    status, _, err = await finished(started(tmp_path, "--topic", "ships", *QUICK))
    assert status == 2
    assert "is about another topic (whales)" in err
    (tmp_path / "page.txt").write_text("Ships and their sails")
    status, _, err = await finished(started(tmp_path, "--example", "page.txt", *QUICK))
    assert status == 2
    assert "leave --topic, --example and --judge out" in err
    again = ["--topic", "whales", *QUICK, "--requests", "2"]
    assert (await finished(started(tmp_path, *again)))[0] == 0
    watch = [*FORKED, "watch", web.urls[0]]
    done = subprocess.run(watch, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "holds a collection" in done.stderr


async def test_a_first_run_that_is_interrupted_while_it_compiles_leaves_a_collection(tmp_path):
    (tmp_path / "cache").mkdir()
    words = ["--topic", "whales", "--seed", "http://127.0.0.1:9/", "--max-depth", "3"]
    running = subprocess.Popen(
        [*PROGRAM, "collect", *words],
        cwd=tmp_path,
        env={**ENVIRONMENT, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    lines: list[str] = []
    while "getting ready" not in "".join(lines[-1:]):
        lines.append(await asyncio.to_thread(running.stderr.readline))
    running.kill()
    await finished(running)
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        settings, [seed] = latest_settings(store), store.pages()
    assert seed.page.url == "http://127.0.0.1:9/"
    assert isinstance(settings, CollectSettings)
    assert (settings.subject, settings.max_depth) == ("whales", 3)


async def test_ctrl_c_while_it_compiles_ends_with_a_line(tmp_path):
    (tmp_path / "cache").mkdir()
    running = subprocess.Popen(
        [*PROGRAM, "collect", "--topic", "whales", "--seed", "http://127.0.0.1:9/"],
        cwd=tmp_path,
        env={**ENVIRONMENT, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    while "getting ready" not in await asyncio.to_thread(running.stderr.readline):
        pass
    running.send_signal(signal.SIGINT)
    status, _, err = await finished(running)
    assert status == -signal.SIGINT
    assert "stopped before its run began" in err.splitlines()[-1]


async def test_a_limit_may_be_for_a_group_of_the_run_before(web, tmp_path):
    words = ["--topic", "whales", *seeds(web), *QUICK, "--requests", "1"]
    status, _, err = await finished(started(tmp_path, *words, "--group", "own=a.example"))
    assert status == 0, err
    words = ["--host-limit", "@own=2/day", "--requests", "1"]
    status, _, err = await finished(started(tmp_path, *words))
    assert status == 0, err
    assert "host-limit @own=2/day, before" in err
    status, _, err = await finished(started(tmp_path, "--host-limit", "@none=2/day"))
    assert (status, len(err.splitlines())) == (2, 1)
    assert "there is no group none" in err


async def test_seeds_that_cannot_be_reached_are_told(tmp_path):
    words = ["--topic", "whales", "--seed", "http://127.0.0.1:9/", *QUICK, "--requests", "1"]
    status, _, err = await finished(started(tmp_path, *words))
    assert status == 0
    assert "http://127.0.0.1:9/" in err
    assert "cannot be had" in err


async def test_a_host_of_copies_is_told_while_it_is_polled(site, tmp_path):
    """A calendar without end, of which each day says the same, and no wiki that has a few."""
    for day in range(120):
        links = f'<a href="/day/{day + 1}">next day</a><a href="/word/{day}">a word</a>'
        site.says(
            f"/day/{day}", f"<p>No whale is expected on this day{links}", Content_Type="text/html"
        )
        words = " ".join(f"w{day}x{n}" for n in range(40))
        site.says(f"/word/{day}", f"<title>{day}</title><p>{words}", Content_Type="text/html")
    begun = ["--topic", "whales", "--seed", site.url("/day/0"), "--budget", "1000/second"]
    quick = [*begun, "--crawl-delay", "0.001"]
    run = started(tmp_path, *quick, "--deny", "/word/", "--requests", "110")
    status, _, err = await finished(run)
    assert status == 0, err
    [told] = [line for line in err.splitlines() if "are copies of others" in line]
    host = site.url("/").split("/")[2]
    assert told.startswith(f"pollwise: {host}: 99 of the latest 100 new pages are copies of others")
    assert err.splitlines().index(told) < len(err.splitlines()) - 1
    status, _, err = await finished(started(tmp_path, *quick, "--db", "b.db", "--requests", "110"))
    assert status == 0, err
    assert "are copies of others" not in err


async def test_a_redirect_of_a_seed_opens_no_private_address_ever(tmp_path):
    """What a page redirects to is no seed, also after a restart."""
    async with MisbehavingServer() as named, MisbehavingServer() as inside:
        inside.set_page("/secret", "<title>secret whales</title>")
        named.set_page("/", "", status=302, headers={"Location": inside.url("/secret")})
        named.set_page("/more", "<p>whales")
        words = ["--topic", "whales", "--seed", named.url("/"), *QUICK, "--requests", "1"]
        status, _, err = await finished(started(tmp_path, *words))
        assert status == 0, err
        words = ["--seed", named.url("/more"), *QUICK, "--requests", "2"]
        status, _, err = await finished(started(tmp_path, *words))
        assert status == 0, err
        assert named.requests["/more"] > 0  # on a slow machine, both
        assert not inside.requests
