"""An application of a database, asked as a browser does."""

import asyncio
from contextlib import asynccontextmanager
from urllib.parse import urlencode


@asynccontextmanager
async def browsed(app, first):
    """Gives what asks the application for a target, or sends it a form, once it answers `first`."""

    async def ask(target, sent=None, **headers):
        path, _, query = target.partition("?")
        body = b"" if sent is None else urlencode(sent).encode()
        named = {"host": "localhost", "accept": "text/html", **headers}
        if sent is not None:
            named["content-type"] = "application/x-www-form-urlencoded"
        told = []

        async def receive():
            return {"type": "http.request", "body": body}

        async def send(message):
            told.append(message)

        scope = {
            "type": "http",
            "method": "GET" if sent is None else "POST",
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in named.items()],
            "client": ("127.0.0.1", 1),
        }
        await app(scope, receive, send)
        text = b"".join(message.get("body", b"") for message in told[1:]).decode()
        return told[0]["status"], dict(told[0]["headers"]), text

    while (await ask(first))[0] == 503:
        await asyncio.sleep(0.1)
    yield ask
