"""A walk through the dashboard of a daemon at work, in a real browser."""

import asyncio
import shutil
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import aiohttp
import pytest

from pollwise.errors import InputError
from pollwise.relevance.topic import topic
from pollwise.store import Store
from pollwise.store.records import Batch, Collected, Discoveries, NewPage
from pollwise.web.rendering.browser import require_browser

from .browsing import ready
from .daemons import PATIENCE, Daemon

MILLISECONDS = PATIENCE * 1000
TEXTS = {
    "https://sea.example/whales": "The blue whale is the largest animal of the sea.",
    "https://sea.example/krill": "Krill is what whales eat.",
}


@pytest.fixture(autouse=True)
def browser():
    try:
        require_browser()
    except InputError as error:
        pytest.skip(str(error))


@asynccontextmanager
async def walking(folder, *words):
    """A page of a browser, and the daemon whose pages it is to show."""
    from playwright.async_api import async_playwright

    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with aiohttp.ClientSession(timeout=timeout) as session, async_playwright() as driver:
        daemon = Daemon(folder, session)
        chromium = await driver.chromium.launch(executable_path=shutil.which("chromium"))
        try:
            await daemon.start(*words)
            view = await (await chromium.new_context(base_url=daemon.address)).new_page()
            view.set_default_timeout(MILLISECONDS)
            yield view
        finally:
            await chromium.close()
            daemon.process.kill()
            await daemon.process.communicate()


def stock(site: Any, number: int, visitors: int) -> None:
    site.says(
        "/",
        f"<title>Ships</title><h1>Ships</h1><p>Rope in stock: {number}</p>"
        f"<p>You are visitor {visitors}</p>",
        Content_Type="text/html",
    )


async def reach(view, name):
    """Go to what has this accessible name by the tab key alone."""
    for _ in range(80):
        await view.keyboard.press("Tab")
        at = await view.evaluate(
            "(document.activeElement.labels?.[0] ?? document.activeElement).innerText.trim()"
        )
        if at.startswith(name):
            return
    raise AssertionError(f"no {name} is reached by the keyboard")


async def test_a_page_from_being_added_to_being_paused_by_keys_alone(tmp_path, site):
    stock(site, 1, 100)
    async with walking(tmp_path, "--budget", "1/second") as view:
        await ready(view, "/pages")
        await reach(view, "Addresses")
        await view.keyboard.type(site.url("/"))
        await reach(view, "Add")
        await view.keyboard.press("Enter")
        await view.wait_for_selector("tbody :text('Ships')")

        # A change arrives without reloading.
        await view.goto("/changes")
        await view.evaluate("window.mine = 1")
        stock(site, 2, 101)
        await view.wait_for_selector("main :text('Rope in stock: 2')")
        assert await view.evaluate("window.mine") == 1

        # What differs is read, and what is no news left out.
        await view.goto("/pages/0")
        assert "Rope in stock:" in await view.inner_text("#difference")
        await reach(view, "Leave out")
        while "visitor" not in await view.evaluate("document.activeElement.ariaLabel ?? ''"):
            await reach(view, "Leave out")
        await view.keyboard.press("Enter")
        await view.wait_for_selector("#masks :text('You are visitor 101')")
        before = site.paths.count("/")
        stock(site, 2, 102)
        async with asyncio.timeout(PATIENCE):
            while site.paths.count("/") < before + 4:
                await asyncio.sleep(0.1)
        with Store.open_readonly(tmp_path / "pollwise.db") as store:
            assert store.latest_change() == 1
        await view.goto("/pages/0")
        await reach(view, "Pause")
        await view.keyboard.press("Enter")
        await view.wait_for_selector("button:text('Resume')")
        await asyncio.sleep(1.5)  # a poll may be under way
        before = site.paths.count("/")
        await asyncio.sleep(3)
        assert site.paths.count("/") == before


async def test_a_collection_is_searched(tmp_path):
    from axe_playwright_python.async_playwright import Axe

    with Store.open(tmp_path / "pollwise.db") as store:
        store.start_run(0.0, {"topic": asdict(topic("whales"))}, None)
        store.add_pages([NewPage(url, "sea.example") for url in TEXTS], now=0.0)
        documents = (Collected(n, 0.5, "", text) for n, text in enumerate(TEXTS.values()))
        store.commit(Batch(discovered=tuple(Discoveries(collected=each) for each in documents)))
    async with walking(tmp_path, "--no-polling") as view:
        await ready(view, "/collection")
        await reach(view, "Words to look for")
        await view.keyboard.type("krill")
        await view.keyboard.press("Enter")
        await view.wait_for_selector("mark:text('Krill')")
        assert "largest animal" not in await view.inner_text("main")
        assert (await Axe().run(view)).response["violations"] == []
