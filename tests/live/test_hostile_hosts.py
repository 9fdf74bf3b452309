"""`pollwise collect` among hosts that mean ill: the crawl goes on, and in bounded memory."""

import asyncio
import resource
import signal
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

from pollwise.errors import StoreError
from pollwise.store import Store
from pollwise.testing.webserver import MisbehavingServer

from ..fork_server import ENVIRONMENT, FORKED, PROGRAM

GOOD = 16
MOST_MEMORY = 400  # MB of the fetching process; what its code and models take is more than half
EVIL = (
    "/status/429?retry_after=99999999999",
    "/status/503?retry_after=never",
    "/redirect-loop",
    "/slow-headers?seconds=60",
    "/slow-body?seconds=1",
    "/closed",
    "/cut-off",
    "/length/2147483648",
    "/huge?bytes=2147483648",
    "/gzip-bomb?bytes=67108864",
    "/gzip-broken",
    "/gzip-cut-off",
    "/encoding/br",
    "/endless-headers",
    "/not-utf-8",
    "/not-http",
)
ROBOTS = (
    "User-agent: *\nCrawl-delay: 1e308\n",
    "User-agent: *\nCrawl-delay: 86400\n",
    "Sitemap: {origin}/huge\nSitemap: {origin}/gzip-bomb\nSitemap: {origin}/closed\n",
    "User-agent: " + "x" * 400_000,
    "\0\n" * 100_000,
)


def high_water(pid):
    """MB of memory that a process has had at most."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) / 1024


def documents(folder):
    try:
        with Store.open_readonly(folder / "pollwise.db") as store:
            return [d.url for d in store.documents() if d.text is not None]
    except StoreError:
        return []


async def test_the_crawl_goes_on(tmp_path):
    async with AsyncExitStack() as stack:
        good = await stack.enter_async_context(MisbehavingServer())
        evil = []
        for path in EVIL:
            evil.append(await stack.enter_async_context(MisbehavingServer()))
            # Another one redirects its robots.txt to what it does to pages.
            evil.append(await stack.enter_async_context(MisbehavingServer()))
            evil[-1].set_page("/robots.txt", "", status=302, headers={"Location": path})
        for text in ROBOTS:
            evil.append(await stack.enter_async_context(MisbehavingServer()))
            evil[-1].set_page("/robots.txt", text.format(origin=evil[-1].origin))
        links = "".join(f"<a href='{server.origin}{p}'>whales</a>" for server in evil for p in EVIL)
        odd = "".join(f"<a href='http://{h}/'>whale</a>" for h in ("[::1]:1", "h..h", "x" * 70))
        more = "".join(f"<a href=/{n}>whale {n}</a>" for n in range(1, GOOD))
        good.set_page("/0", f"<title>Whales</title>{links}{odd}{more}")
        for n in range(1, GOOD):
            text = f"whale number {n} " + " ".join(f"w{n}x{k}" for k in range(30))
            good.set_page(f"/{n}", f"<title>{n}</title><p>{text}")
        words = ["--topic", "whales", "--seed", f"{good.origin}/0", "--allow-private"]
        # What a first run compiles takes memory that no host has a part in.
        once = [*FORKED, "collect", *words, "--requests", "1", "--db", "once.db"]
        await asyncio.to_thread(
            subprocess.run, once, cwd=tmp_path, env=ENVIRONMENT, check=True, capture_output=True
        )
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        process = subprocess.Popen(
            [
                "sh",
                "-c",
                'ulimit -Sn 256; exec "$0" "$@"',
                *PROGRAM,
                "collect",
                *words,
                "--budget",
                "500/second",
                "--crawl-delay",
                "0.05",
            ],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            wanted = {f"{good.origin}/{n}" for n in range(GOOD)}
            async with asyncio.timeout(120):
                while not wanted <= set(documents(tmp_path)) or sum(
                    sum(server.requests.values()) > 0 for server in evil
                ) < len(evil):
                    assert process.poll() is None, process.communicate()
                    await asyncio.sleep(0.2)
            memory = high_water(process.pid)
            files = Path(f"/proc/{process.pid}/limits").read_text()
        finally:
            process.send_signal(signal.SIGINT)
            _, err = await asyncio.to_thread(process.communicate, timeout=60)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert int(files.partition("Max open files")[2].split()[0]) == min(hard, 8192)
    assert memory < MOST_MEMORY, f"{memory:.0f} MB"
    # Every copy of a page that cannot be read is left out, whoever serves it.
    assert not [url for url in documents(tmp_path) if "gzip-" in url or "huge" in url]
