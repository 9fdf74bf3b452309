"""Pages, hosts, changes and settings in a real browser: by everybody, by keys, without scripts."""

import time
from dataclasses import replace

import pytest

from pollwise.dashboard.pages import login_page
from pollwise.errors import InputError
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version
from pollwise.web.rendering.browser import require_browser

from .browsing import browsing, ready

HOUR = 3600.0
HOSTILE = "</script><img src=x onerror='window.hacked = 1'>"
POLLS = 6
PATHS = ["/pages", "/pages?sort=index&q=a", "/changes", "/hosts", "/settings"]
LOOKS = [("light", 1280), ("dark", 1280), ("light", 390)]


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(autouse=True, scope="module")
def _browser():
    pytest.importorskip("axe_playwright_python")
    try:
        require_browser()
    except InputError as error:
        pytest.skip(str(error))


def poll(page_id: int, at: float, number: int) -> PollResult:
    """A poll that found a new version."""
    text = HOSTILE.replace("<", "&lt;")
    body = f"<title>{text}</title><p>In stock: {number}<p>{text}".encode()
    version = Version(page_id, at, "text/html", body, f"{page_id:016x}{number:016x}")
    seen = Observation(page_id, at, Outcome.CHANGED)
    return PollResult(seen, PageMemory(text_hash=version.body_hash), version, title=HOSTILE)


@pytest.fixture
def watch(tmp_path):
    begin = time.time() - (POLLS + 1) * HOUR
    pages = [
        NewPage(f"http://{name}.example/", f"{name}.example", tags=("news",)) for name in "abc"
    ]
    with Store.open(tmp_path / "x.db") as store:
        store.add_pages(pages, now=begin)
        store.start_run(begin, {"budget": "60/hour"}, None)
        for turn in range(POLLS):
            for page_id in range(2):
                at = begin + turn * HOUR + page_id
                store.commit(Batch(polls=(poll(page_id, at, turn),)))
    return tmp_path / "x.db"


def kept(db):
    with Store.open_readonly(db) as store:
        return {record.page.url: record.page for record in store.pages()}


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
async def test_the_views_can_be_read_by_everybody(chromium, watch, scheme, width):
    from axe_playwright_python.async_playwright import Axe

    async with browsing(chromium, watch, scheme=scheme, width=width) as view:
        for path in PATHS:
            await ready(view, path)
            found = (await Axe().run(view)).response["violations"]
            assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], path
            wide = "document.documentElement.scrollWidth <= window.innerWidth"
            assert await view.evaluate(wide), path
        assert await view.evaluate("window.hacked") is None
        assert view.complaints == []


async def test_an_endless_url_and_an_endless_tag_leave_room_for_all_else(chromium, tmp_path):
    url = "http://a.example/?" + "x" * 120_000
    with Store.open(tmp_path / "x.db") as store:
        store.add_pages([NewPage(url, "a.example", tags=("y" * 200,))], now=time.time())
        store.start_run(time.time(), {"budget": "60/hour"}, None)
        failed = Observation(0, time.time(), Outcome.FAILED)
        store.commit(Batch(polls=(PollResult(failed, PageMemory(), error="status 500"),)))
    size = """[document.documentElement.scrollWidth <= window.innerWidth,
        document.documentElement.scrollHeight]"""
    async with browsing(chromium, tmp_path / "x.db", width=390) as view:
        for path in ("/", "/pages", "/pages/0", "/pages/0/remove", "/hosts"):
            await ready(view, path)
            for closed in await view.locator("details:not([open])").all():
                await closed.evaluate("one => one.open = true")
            fits, height = await view.evaluate(size)
            assert fits, path
            assert height < 4000, path
        await ready(view, "/pages/0")
        assert await view.locator(f"a[href='{url}']").count() == 1


async def test_accents_of_strangers_are_not_drawn_across_the_rest(chromium, tmp_path):
    towers = {"plain": "Zo", "tower": "Zo" + "\u0300" * 500}
    drawn = {}
    for name, title in towers.items():
        db = tmp_path / name / "x.db"
        db.parent.mkdir()
        begin = time.time() - 2 * HOUR
        with Store.open(db) as store:
            store.add_pages([NewPage("http://a.example/", "a.example")], now=begin)
            store.start_run(begin, {"budget": "60/hour"}, None)
            for turn in range(2):
                found = replace(poll(0, begin + turn * HOUR, turn), title=title)
                store.commit(Batch(polls=(found,)))
        async with browsing(chromium, db, width=390) as view:
            for path in ("/", "/pages", "/pages/0", "/changes"):
                await ready(view, path)
                assert "Z" in await view.inner_text("main"), path
                drawn[name, path] = await view.get_by_role("navigation", name="Views").screenshot()
    for path in ("/", "/pages", "/pages/0", "/changes"):
        assert drawn["plain", path] == drawn["tower", path], path


async def test_on_a_phone_the_rows_of_lists_are_short_cards(chromium, watch):
    measure = """rows => rows.map(row => [row.offsetHeight,
        [...row.querySelectorAll("td, th")].every(cell => cell.scrollWidth <= cell.clientWidth)])"""
    async with browsing(chromium, watch, width=390) as view:
        for path in ("/pages", "/hosts", "/settings"):
            await ready(view, path)
            cards = await view.eval_on_selector_all(".cards tbody tr", measure)
            assert cards, path
            for height, fits in cards:
                assert fits, path
                assert height < 250, path
        await ready(view, "/pages")
        assert not await view.locator("[data-label='Host']").first.is_visible()


async def test_on_a_phone_a_chart_over_time_shows_the_latest(chromium, watch):
    measure = """box => [box.scrollWidth > box.clientWidth,
        box.firstElementChild.getBoundingClientRect().right - box.getBoundingClientRect().right]"""
    async with browsing(chromium, watch, width=390) as view:
        await ready(view, "/pages/0")
        is_cut, beyond = await view.eval_on_selector(".wide .scroll", measure)
        assert is_cut
        assert beyond < 1


async def test_pages_are_added_paused_and_removed_without_scripts(chromium, watch):
    async with browsing(chromium, watch, scripts=False) as view:
        await ready(view, "/pages")
        await view.click("#adding summary")
        await view.fill("#add-urls", "http://d.example/\nnothing")
        await view.click("#adding button")
        assert "line 2" in await view.inner_text("#add-urls-error")
        assert await view.input_value("#add-urls") == "http://d.example/\nnothing"
        assert len(kept(watch)) == 3
        await view.fill("#add-urls", "http://d.example/")
        await view.fill("#add-tags", "daily")
        await view.click("#adding button")
        assert "1 page added." in await view.inner_text(".flash")
        assert kept(watch)["http://d.example/"].tags == ("daily",)
        await ready(view, "/pages")
        await view.check("#page-3")
        await view.click("button[value=pause]")
        assert "1 page paused." in await view.inner_text(".flash")
        assert kept(watch)["http://d.example/"].paused
        await view.check("#page-3")
        await view.click("button[value=remove]")
        assert len(kept(watch)) == 4
        await view.click("button[value=remove-now]")
        assert "1 page removed." in await view.inner_text(".flash")
        assert len(kept(watch)) == 3


async def test_changes_are_read_by_keys_alone(chromium, watch):
    async with browsing(chromium, watch, scripts=False) as view:
        await ready(view, "/changes")
        assert await view.locator(".unread").count() == 2 * (POLLS - 1)
        button = view.locator(".unread button[name=read]").first
        await button.focus()
        await view.keyboard.press("Enter")
        await view.wait_for_selector(".flash")
        assert await view.locator(".unread").count() == 2 * (POLLS - 1) - 1
        await view.locator("summary").first.focus()
        await view.keyboard.press("Enter")
        assert "In stock:" in await view.locator("details[open]").first.inner_text()
        await view.click(".reading > .actions button")
        assert await view.locator(".unread").count() == 0


async def test_settings_that_somebody_else_changed_are_shown(chromium, watch):
    async with browsing(chromium, watch, scripts=False) as view:
        await ready(view, "/settings")
        await view.fill("#settings-budget", "9/hour")
        with Store.open(watch) as store:
            store.change_settings({"budget": "7/hour"})
        await view.click("button.main")
        assert "7/hour" in await view.inner_text("#settings-budget-error")
        await view.click("button.main")
        assert "1 setting is set" in await view.inner_text(".flash")
        await view.fill("#settings-quiet", "25:00")
        await view.click("button.main")
        assert "expected times of the day" in await view.inner_text("#settings-quiet-error")
        assert await view.input_value("#settings-budget") == "9/hour"


async def test_the_button_below_the_token_does_not_touch_it(chromium, watch):
    async with browsing(chromium, watch, width=390) as view:
        await ready(view, "/pages")
        for complaint in ("", "That is not the token."):
            await view.set_content(bytes(login_page("/", complaint).body).decode())
            field = await view.get_by_label("Token").bounding_box()
            button = await view.get_by_role("button", name="Go on").bounding_box()
            assert button["y"] >= field["y"] + field["height"] + 8
