"""The overview and the view of a page in a real browser: read, steered by keys, and kept fresh."""

import time

import pytest

from pollwise.errors import InputError
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version
from pollwise.web.rendering.browser import require_browser

from .browsing import browsing, ready

HOUR = 3600.0
HOSTILE = "</script><img src=x onerror='window.hacked = 1'>"
ESCAPED = HOSTILE.replace("<", "&lt;")
POLLS = 20
LOOKS = [("light", 1200), ("dark", 1280), ("light", 390)]


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(autouse=True, scope="module")
def _browser():
    pytest.importorskip("axe_playwright_python")
    try:
        require_browser()
    except InputError as error:
        pytest.skip(str(error))


def poll(page_id: int, at: float, number: int | None) -> PollResult:
    """A poll that found so many pieces in stock; None: the same as before."""
    if number is None:
        return PollResult(Observation(page_id, at, Outcome.UNCHANGED), PageMemory(f"{page_id}"))
    body = f"<title>Shop {ESCAPED}</title><h1>Ships</h1><p>In stock: {number}<p>{ESCAPED} {number}"
    version = Version(page_id, at, "text/html", body.encode(), f"{page_id:016x}{int(at):016x}")
    seen = Observation(page_id, at, Outcome.CHANGED)
    memory = PageMemory(text_hash=version.body_hash)
    return PollResult(seen, memory, version, title=f"Shop {HOSTILE}")


def make_watch(path):
    """Three pages, of which two change at every third poll."""
    begin = time.time() - (POLLS + 1) * HOUR
    settings = WatchSettings(budget="60/hour")
    with Store.open(path) as store:
        new = [NewPage(f"http://{name}.example/", f"{name}.example") for name in "abc"]
        pages = store.add_pages(new, now=begin)
        scheduler = settings.scheduler_without_first_copies(len(pages))
        scheduler.restore(pages, None)
        store.start_run(begin, settings.recorded(), None)
        polls = []
        for turn in range(POLLS):
            number = turn if turn % 3 == 0 else None
            for page_id, told in enumerate((number, number, None)):
                at = begin + turn * HOUR + page_id
                polls.append(poll(page_id, at, 0 if turn == 0 else told))
        scheduler.policy.observe([one.observation for one in polls])
        store.commit(Batch(polls=tuple(polls), learned=scheduler.policy.state_dict()))
    return path


@pytest.fixture
def watch(tmp_path):
    return make_watch(tmp_path / "x.db")


async def opened(view, path, selector):
    """Go to a path and wait until the server is ready and what is looked for is there."""
    got = await ready(view, path)
    await view.wait_for_selector(selector, state="attached")
    return got


async def violations(view):
    from axe_playwright_python.async_playwright import Axe

    found = (await Axe().run(view)).response["violations"]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]


async def no_wider_than_the_window(view):
    return await view.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


async def cut_labels(view):
    """The labels of charts that reach beyond their chart."""
    return await view.evaluate("""[...document.querySelectorAll("main svg text")].filter(text => {
        const own = text.getBoundingClientRect(), all = text.closest("svg").getBoundingClientRect();
        return own.left < all.left - 1 || own.right > all.right + 1;
    }).map(text => text.textContent)""")


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
async def test_the_views_can_be_read_by_everybody(chromium, watch, scheme, width):
    async with browsing(chromium, watch, scheme=scheme, width=width) as view:
        for path, selector in (
            ("/", "#forecast svg"),
            ("/?step=36", "#forecast button"),
            ("/pages/0", "#time svg"),
            ("/pages/0/remove", "form"),
        ):
            await opened(view, path, selector)
            assert await violations(view) == [], path
            assert await no_wider_than_the_window(view), path
            assert await cut_labels(view) == [], path
        assert await view.evaluate("window.hacked") is None
        assert view.complaints == []


async def test_a_new_database_says_what_to_do(chromium, tmp_path):
    with Store.open(tmp_path / "new.db"):
        pass
    async with browsing(chromium, tmp_path / "new.db") as view:
        await opened(view, "/", "textarea[name=urls]")
        assert await violations(view) == []


async def test_texts_of_strangers_are_texts(chromium, watch):
    async with browsing(chromium, watch) as view:
        await opened(view, "/pages/0", "#difference .hunk")
        assert HOSTILE in await view.inner_text("h1")
        assert HOSTILE in await view.inner_text("#difference .hunk")
        assert await view.evaluate("window.hacked") is None


async def test_the_slider_tells_another_budget_and_a_button_makes_it_the_budget(chromium, watch):
    async with browsing(chromium, watch) as view:
        await opened(view, "/", "#forecast svg")
        before = await view.get_attribute("#forecast", "data-value")
        await view.focus("#step")
        for _ in range(12):
            await view.keyboard.press("ArrowRight")
        await view.wait_for_selector("#forecast button.main")
        assert before == "60/hour"
        await view.wait_for_function("step.getAttribute('aria-valuetext') === '120/hour'")
        assert await view.evaluate("document.activeElement.id") == "step"
        await view.keyboard.press("Tab")
        await view.focus("#forecast button.main")
        await view.keyboard.press("Enter")
        await view.wait_for_url("**/?done=*")
        assert "120/hour" in await view.inner_text("#well")


async def test_a_change_arrives_without_reloading_and_disturbs_nobody(chromium, watch):
    async with browsing(chromium, watch) as view:
        await opened(view, "/pages/0", "#difference .hunk")
        await view.evaluate("window.mine = 1")
        await view.click("#history summary")
        await view.fill("#settings-name", "half typed")
        with Store.open(watch) as store:
            store.commit(Batch(polls=(poll(0, time.time(), 4711),)))
        await view.wait_for_selector("#difference .hunk:has-text('4711')")
        assert await view.inner_text("#news") == "1 new change"
        assert await view.input_value("#settings-name") == "half typed"
        assert await view.evaluate("document.activeElement.id") == "settings-name"
        assert await view.evaluate("document.getElementById('history').open")
        assert await view.evaluate("window.mine") == 1
        assert view.complaints == []


async def test_a_page_tells_that_its_server_is_away_and_when_it_is_back(chromium, watch):
    async with browsing(chromium, watch) as view:
        await opened(view, "/pages/0", "#difference .hunk")
        await view.fill("#settings-name", "half typed")
        before = await view.inner_text("#state")
        await view.serving.end()
        await view.wait_for_selector("#state.silent:has-text('Out of touch with the server since')")
        await view.serving.begin()
        await view.wait_for_selector("#state:not(.silent)")
        assert await view.inner_text("#state") == before
        assert await view.input_value("#settings-name") == "half typed"
        async with view.expect_response(lambda got: got.status == 404) as gone:
            assert (await view.request.delete("/api/pages/0")).ok
        await gone.value
        assert await view.inner_text("#state") == before


@pytest.mark.parametrize("scripts", [True, False])
async def test_what_is_wanted_is_set_with_and_without_scripts(chromium, watch, scripts):
    async with browsing(chromium, watch, scripts=scripts) as view:
        await opened(view, "/pages/1", "#settings-weight")
        await view.fill("#settings-weight", "-3")
        await view.fill("#settings-name", "Ships & boats")
        await view.click("form[action*=settings] button")
        assert "above 0" in await view.inner_text("#settings-weight-error")
        assert await view.input_value("#settings-name") == "Ships & boats"
        with Store.open_readonly(watch) as store:
            assert store.find_page("http://b.example/").page.name == ""
        await view.fill("#settings-weight", "3")
        await view.click("form[action*=settings] button")
        await view.wait_for_selector(".flash")
        with Store.open_readonly(watch) as store:
            page = store.find_page("http://b.example/").page
        assert (page.weight, page.name) == (3.0, "Ships & boats")


async def test_without_scripts_a_page_is_paused_resumed_and_removed(chromium, watch):
    async with browsing(chromium, watch, scripts=False) as view:
        await opened(view, "/pages/2", "text=Pause")
        await view.click("text=Pause")
        await view.wait_for_selector("text=Resume")
        await view.click("text=Resume")
        await view.wait_for_selector("text=Pause")
        await view.click("text=Remove this page")
        await view.click("text=Remove it")
        await view.wait_for_selector(".flash")
        got = await opened(view, "/pages/2", "h1")
        assert got.status == 404
        with Store.open_readonly(watch) as store:
            assert store.find_page("http://c.example/") is None


async def test_without_scripts_another_budget_is_looked_at_by_its_address(chromium, watch):
    async with browsing(chromium, watch, scripts=False) as view:
        await opened(view, "/?budget=90/hour", "body")
        while not await view.query_selector("#forecast svg"):
            await opened(view, "/?budget=90/hour", "body")
        assert "90/hour then" in await view.inner_text("#forecast")
        got = await opened(view, "/?budget=900/hour", "body")
        assert got.status == 400
