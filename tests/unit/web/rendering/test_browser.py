"""The browser of this machine, and what is said where there is none."""

import pytest

from pollwise import extras
from pollwise.errors import InputError, PostponedError
from pollwise.live.control import ask
from pollwise.live.requests import AddPages, ChangePages
from pollwise.live.watching import watch_pages
from pollwise.web.rendering import browser
from pollwise.web.rendering.browser import Browser, require_browser
from pollwise.web.wishes import wished_page

PAGES = (wished_page("https://a.example/", render=True),)


@pytest.fixture(autouse=True)
def _no_browser(monkeypatch, tmp_path):
    monkeypatch.setattr(browser, "_PROGRAMS", ())
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))


def test_it_says_what_to_install():
    with pytest.raises(InputError, match="to render pages needs a browser: install Chromium"):
        require_browser()


def test_the_extra_comes_first(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(
        InputError, match=r"needs playwright: install it with .*pollwise\[browser\]"
    ):
        require_browser()


@pytest.mark.parametrize("request_", [AddPages(PAGES), ChangePages(PAGES)], ids=["add", "set"])
def test_nothing_is_written_before_it_is_said(request_, tmp_path):
    with pytest.raises(InputError, match="needs a browser"):
        ask(tmp_path / "pages.db", request_, make=True, say=print)
    assert not list(tmp_path.iterdir())


def test_a_watch_says_it_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match="needs a browser"):
        watch_pages(PAGES, (), {}, tmp_path / "pages.db", make_display=None, say=print)
    assert not list(tmp_path.iterdir())


async def test_polls_are_put_off_until_there_is_one():
    async with Browser() as none:
        for told in ("^to render pages needs a browser", "^the browser rests for . s: to render"):
            with pytest.raises(PostponedError, match=told):
                async with none.context("me"):
                    pass
