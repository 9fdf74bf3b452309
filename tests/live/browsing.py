"""A page of a real browser that looks at a server of a database."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

from pollwise.dashboard.server import answer
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.web.own_servers import address_of, listen_on


@asynccontextmanager
async def browsing(chromium, db, *, scheme="light", width=1280, scripts=True):
    """A page of a browser that has asked a server of this database for nothing yet.

    It shares nothing with other pages of this browser.
    """
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(listen_on("127.0.0.1", 0, "give another one"))
        serving = asyncio.create_task(answer(AnsweringTerms(db), listener, stop))
        stack.callback(stop.set)
        context = await chromium.new_context(
            base_url=address_of(listener),
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
        yield view
        stop.set()
        await context.close()
        await serving


async def ready(view, path):
    """Go to a path, once the server has read its database; the answer.

    It is asked apart until then, as the page that says so loads itself anew.
    """
    while (await view.request.get(path)).status == 503:
        await asyncio.sleep(0.5)
    return await view.goto(path)
