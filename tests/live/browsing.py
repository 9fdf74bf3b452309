"""A page of a real browser that looks at a server of a database."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

from pollwise.dashboard.server import answer
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.web.own_servers import address_of, listen_on


class Serving:
    """A server of a database, which can be stopped and begun again at the same address."""

    def __init__(self, db):
        self._db = db
        self._port = 0

    async def begin(self):
        """Answer from now on; the address."""
        self._listener = listen_on("127.0.0.1", self._port, "give another one")
        self._port = self._listener.getsockname()[1]
        self._stop = asyncio.Event()
        terms = AnsweringTerms(self._db)
        self._answering = asyncio.create_task(answer(terms, self._listener, self._stop))
        return address_of(self._listener)

    async def end(self):
        """Answer nothing any more."""
        self._stop.set()
        await self._answering
        self._listener.close()


@asynccontextmanager
async def browsing(chromium, db, *, scheme="light", width=1280, scripts=True):
    """A page of a browser that has asked a server of this database for nothing yet.

    It shares nothing with other pages of this browser.
    """
    serving = Serving(db)
    async with AsyncExitStack() as stack:
        address = await serving.begin()
        stack.push_async_callback(serving.end)
        context = await chromium.new_context(
            base_url=address,
            color_scheme=scheme,
            viewport={"width": width, "height": 900},
            java_script_enabled=scripts,
        )
        stack.push_async_callback(context.close)
        view = await context.new_page()
        view.set_default_timeout(30_000)
        view.complaints = []
        view.on("console", lambda said: view.complaints.append(said.text))
        view.on("pageerror", lambda error: view.complaints.append(str(error)))
        view.serving = serving
        yield view


async def ready(view, path):
    """Go to a path, once the server has read its database; the answer.

    It is asked apart until then, as the page that says so loads itself anew.
    """
    while (await view.request.get(path)).status == 503:
        await asyncio.sleep(0.5)
    return await view.goto(path)
