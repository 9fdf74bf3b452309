"""Programs signal changes to a server on loopback, and strangers try what they can."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError, StoreError
from pollwise.live.listening import http_server
from pollwise.live.listening.http_server import answering, application
from pollwise.live.listening.listener import open_listener
from pollwise.live.listening.signal_routes import signal_routes
from pollwise.settings import WatchSettings
from pollwise.web.own_servers import listen_on

TOKEN = "0123456789abcdefXYZ"
PAGE = "http://a.example/"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


class Server:
    """`signalled` are the calls; `error` is raised by the next ones."""

    def __init__(self) -> None:
        self.signalled: list[list[str]] = []
        self.error: Exception | None = None
        self.listener = listen_on("127.0.0.1", 0, "")
        self.port = self.listener.getsockname()[1]

    @property
    def application(self):
        return application(signal_routes(TOKEN, self._signal), {"me.example"})

    async def _signal(self, urls):
        if self.error is not None:
            raise self.error
        self.signalled.append(list(urls))
        return [url for url in urls if not url.startswith(PAGE)]

    async def post(
        self, path: str = "/signals", headers: dict[str, str] = BEARER, **told: Any
    ) -> tuple[int, dict[str, Any]]:
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"http://127.0.0.1:{self.port}{path}", headers=headers, **told) as answer,
        ):
            assert answer.headers["Cache-Control"] == "no-store"
            text = await answer.text()
            assert TOKEN not in text
            assert "\n" not in text
            return answer.status, json.loads(text)

    async def raw(self, sent: bytes) -> bytes:
        """What comes back until the server closes the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(sent)
            async with asyncio.timeout(60):
                return await reader.read()
        finally:
            writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    with server.listener:
        async with answering(server.listener, server.application):
            yield server


async def test_pages_are_signalled_by_a_form_or_by_json(server):
    fields = [("url", "HTTP://A.example"), ("url", PAGE), ("url", "http://b.example/x"), ("x", "1")]
    told = {"signalled": 1, "unknown": ["http://b.example/x"]}
    assert await server.post(data=fields) == (202, told)
    assert await server.post(json={"urls": [PAGE, "http://b.example/x"]}) == (202, told)
    assert server.signalled == [[PAGE, "http://b.example/x"]] * 2
    status, told = await server.post(data={"url": "http://b.example/"})
    assert (status, told["error"]) == (404, "no such page is watched")
    assert told["unknown"] == ["http://b.example/"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN}X"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer \xff"},
    ],
)
async def test_who_has_no_token_signals_nothing(server, headers):
    status, told = await server.post(f"/signals?token={TOKEN}", headers, data={"url": PAGE})
    assert status == 401
    assert "Authorization: Bearer TOKEN" in told["error"]
    assert server.signalled == []


@pytest.mark.parametrize(
    ("told", "status", "message"),
    [
        ({"data": {"url": "nowhere"}}, 400, "nowhere"),
        ({"data": {"url": "ftp://a.example/"}}, 400, "ftp://a.example/"),
        ({"data": {"x": PAGE}}, 400, "no URL: send url=URL"),
        ({"data": b"\xff", "type": "application/json"}, 400, "cannot be read"),
        ({"data": b"[" * 100_000, "type": "application/json"}, 400, "cannot be read"),
        ({"json": [PAGE]}, 400, "no URL"),
        ({"json": {"urls": PAGE}}, 400, "no URL"),
        ({"json": {"urls": [PAGE, 1]}}, 400, "no URL"),
        ({"json": {"urls": []}}, 400, "no URL"),
        ({"json": {"urls": [f"{PAGE}{n}" for n in range(1001)]}}, 400, "at most 1000"),
        ({"data": [("url", PAGE)] * 1001}, 400, "cannot be read"),
        ({"data": PAGE, "type": "text/plain"}, 415, "send url=URL"),
        ({"data": b"url=" + b"x" * (2**20)}, 413, "Maximum request body size"),
    ],
    ids=range(13),
)
async def test_what_cannot_be_read_is_said_in_a_line(server, told, status, message):
    kind = told.pop("type", None)
    headers = BEARER | ({"Content-Type": kind} if kind else {})
    if isinstance(told.get("data"), bytes) and kind is None:
        headers = headers | {"Content-Type": "application/x-www-form-urlencoded"}
    answered, said = await server.post(headers=headers, **told)
    assert (answered, server.signalled) == (status, [])
    assert message in said["error"]


async def test_other_paths_methods_and_names(server):
    assert (await server.post("/"))[0] == 404
    assert (await server.post("/hub/x"))[0] == 404
    for method in ("GET", "PUT"):
        answer = await server.raw(
            f"{method} /signals HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        assert answer.startswith(b"HTTP/1.1 405 ")
    for host in ("Host: evil.example", "X: y", "Host: localhost\r\nHost: evil.example"):
        head = f"POST /signals HTTP/1.1\r\n{host}\r\nConnection: close\r\n"
        answer = await server.raw(
            f"{head}Authorization: Bearer {TOKEN}\r\nContent-Length: 0\r\n\r\n".encode()
        )
        assert answer.split(b" ")[1] in (b"400", b"421")
    assert (await server.post(headers=BEARER | {"Host": "Me.example:443"}, json={}))[0] == 400


async def test_a_database_that_is_gone_and_a_mistake_of_ours(server, capsys):
    server.error = StoreError("the disk is full")
    assert await server.post(data={"url": PAGE}) == (503, {"error": "the disk is full"})
    server.error = ZeroDivisionError("x")
    assert await server.post(data={"url": PAGE}) == (500, {"error": "the server failed"})
    server.error = None
    assert (await server.post(data={"url": PAGE}))[0] == 202


async def test_what_is_no_http_harms_nobody_and_is_not_told(server, capfd, caplog):
    for sent in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /signals HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 10_000 + b"\r\n",
        b"POST /signals HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        + TOKEN.encode()
        + b"\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n",
    ):
        answer = await server.raw(sent)
        assert answer == b"" or answer.split(b" ")[1].startswith(b"4"), answer[:200]
    assert capfd.readouterr().err == ""
    assert caplog.records == []
    assert (await server.post(data={"url": PAGE}))[0] == 202


async def test_a_slow_client_is_cut_off_and_too_many_are_refused(monkeypatch):
    monkeypatch.setattr(http_server, "_LONGEST_CONNECTION", 0.5)
    monkeypatch.setattr(http_server, "_MOST_CONNECTIONS", 3)
    server = Server()
    with server.listener:
        async with answering(server.listener, server.application):
            ends = await asyncio.gather(
                *(server.raw(b"POST /signals HTTP/1.1\r\nHost: localho") for _ in range(10)),
                return_exceptions=True,
            )
            assert all(end == b"" or isinstance(end, ConnectionError) for end in ends)
            assert (await server.post(data={"url": PAGE}))[0] == 202


@given(body=st.binary(max_size=200), is_json=st.booleans())
@settings(max_examples=60)
def test_no_body_makes_the_server_fail(body, is_json):
    from aiohttp import web

    from pollwise.live.listening.signal_routes import _urls

    kind = "application/json" if is_json else "application/x-www-form-urlencoded"
    try:
        urls = _urls(kind, body)
    except (InputError, web.HTTPException):
        return
    assert urls
    assert all(url.startswith("http") for url in urls)


def test_a_token_is_read_from_its_place_and_shown_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("SIGNALS", TOKEN)
    settings = WatchSettings(
        listen="127.0.0.1:0", listen_token="env:SIGNALS", public_url="https://Me.example/".lower()
    )
    listener = open_listener(settings)
    with listener.socket:
        assert listener.token == TOKEN
        assert listener.names == {"127.0.0.1", "me.example"}
        assert TOKEN not in repr(listener) + json.dumps(settings.recorded())
    file = tmp_path / "token"
    for text, message in (("short", "16 to 200 letters"), ("", "is empty")):
        file.write_text(text)
        with pytest.raises(InputError, match=message) as caught:
            open_listener(WatchSettings(listen="127.0.0.1:0", listen_token=f"file:{file}"))
        assert str(file) in str(caught.value)


def test_an_address_in_use_is_said(monkeypatch):
    monkeypatch.setenv("SIGNALS", TOKEN)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=r"Address already in use.; give --listen another"):
            open_listener(WatchSettings(listen=f"127.0.0.1:{port}", listen_token="env:SIGNALS"))
