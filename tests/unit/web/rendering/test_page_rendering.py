"""What becomes of an answer that the browser does not take."""

import asyncio
from types import SimpleNamespace

import pytest
from playwright.async_api import Error

from pollwise.web.fetcher import Asking, FetchResult
from pollwise.web.rendering import page_rendering
from pollwise.web.rendering.page_parts import PageParts
from pollwise.web.rendering.page_rendering import PageRendering

PAGE, SCRIPT = "https://a.example/", "https://a.example/a.js"


class Asked:
    """A request for the script, whose answer `fulfill` takes; the `Route` of the browser."""

    def __init__(self, fulfill) -> None:
        self.fulfill = fulfill
        self.request = SimpleNamespace(
            url=SCRIPT,
            method="GET",
            headers={},
            resource_type="script",
            is_navigation_request=lambda: False,
        )

    async def fallback(self) -> None:
        pass


class Shown:
    """The page and its context in a browser, which makes this one request."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    async def route(self, pattern: str, handler) -> None:
        self._handler = handler

    async def new_page(self) -> "Shown":
        return self

    async def goto(self, url: str, **told: object) -> None:
        self._handler(self._asked)

    async def content(self) -> str:
        return "<p>News"


async def gone(**answer: object) -> None:
    raise Error("the page is gone")


async def hangs(**answer: object) -> None:
    await asyncio.Event().wait()


async def took(**answer: object) -> None:
    pass


@pytest.mark.parametrize("fulfill", [took, gone, hangs])
async def test_an_answer_gives_its_place_back_in_any_case(fulfill, monkeypatch):
    monkeypatch.setattr(page_rendering, "_READY_WITHIN", 0.2)
    released = []

    async def fetch_part(url: str, asking: Asking) -> FetchResult:
        return FetchResult(url, url, 200, body=b"x", release=lambda: released.append(url))

    async def refusal(url: str) -> None:
        return None

    parts = PageParts(PAGE, fetch_part, refusal)
    rendering = PageRendering(FetchResult(PAGE, PAGE, 200), parts)
    assert await rendering.content(Shown(Asked(fulfill))) == "<p>News"
    assert released == [SCRIPT]
