"""Requests to an ASGI application, without a network."""

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message


@dataclass(frozen=True)
class Told:
    """An answer; of headers of the same name all are kept, in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    app: ASGIApp,
    method: str,
    target: str,
    *,
    body: bytes | None = None,
    told: object = None,
    host: str | None = "127.0.0.1:8900",
    client: str = "127.0.0.1",
    parts: int = 1,
    **headers: str,
) -> Told:
    """Ask for a target (a path with a query); `told` is sent as JSON, a body in so many parts."""
    path, _, query = target.partition("?")
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if host is not None:
        sent["host"] = host
    if told is not None:
        body = json.dumps(told).encode()
        sent.setdefault("content-type", "application/json")
    body = body or b""
    size = -(-len(body) // parts) or 1
    pieces = [body[begin : begin + size] for begin in range(0, len(body), size)] or [b""]
    if parts == 1:
        sent.setdefault("content-length", str(len(body)))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "scheme": "http",
        "headers": [(name.encode("latin-1"), v.encode("latin-1")) for name, v in sent.items()],
        "client": (client, 4711),
        "server": ("127.0.0.1", 8900),
    }
    answered: list[Message] = []

    async def receive() -> Message:
        if not pieces:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        answered.append(message)

    await app(scope, receive, send)
    begin = answered[0]
    return Told(
        begin["status"],
        {name.decode(): value.decode() for name, value in begin["headers"]},
        b"".join(message.get("body", b"") for message in answered[1:]),
    )


Ask = Callable[..., Awaitable[Told]]


def patient(app: ASGIApp) -> Ask:
    """Asks, and again as long as the database is being read for the first time."""

    async def patiently(method: str, target: str, **more: Any) -> Told:
        give_up_at = time.monotonic() + 60.0
        while True:
            answer = await ask(app, method, target, **more)
            if answer.status != 503 or time.monotonic() > give_up_at:
                return answer

    return patiently
