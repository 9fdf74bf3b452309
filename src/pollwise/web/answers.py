"""Answers to requests over HTTP/1.1, at little cost where a connection was kept.

For each request a session of aiohttp makes a request, a response, their URLs and headers anew,
which takes several times what sending and parsing do. Polls come to the same hosts again and again,
so over a connection that was kept a request goes out without all that. Connection and bounds are
those of aiohttp in both ways, what is sent is the same to the byte, and so is what is read, though
of a plain 304 without its parser.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import aiohttp
import yarl
from aiohttp import http_writer
from aiohttp.client_reqrep import ConnectionKey
from multidict import CIMultiDict, CIMultiDictProxy

from pollwise.web.connections import Connector, Heard, Lent, connections_to
from pollwise.web.urls import Divided, divided

__all__ = ["Answer", "answer_over", "answered", "ask_at_once"]

_ORIGIN = re.compile(r"(https?)://((\[[0-9a-f:]+\]|[a-z0-9._-]*[a-z0-9_-])(?::([0-9]+))?)")
"""Of a canonical URL: scheme, host with port, host, port."""
_PATH = re.compile(r"(/[!$-;=@-~]*(?:\?[!$-;=?-~]+)?)\??")
"""What is asked for there: characters that mean themselves in a request, and no fragment."""
_CONDITIONS = frozenset({"If-None-Match", "If-Modified-Since"})
_FEW = 16
_REMEMBERED = 4096
"""Origins: those of pages that are polled are asked again and again."""
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Answer:
    """The head of an answer, and its body as it arrives; leave the context to be done with it.

    `headers` are decoded, `raw_headers` as received.
    """

    status: int
    reason: str | None
    version: aiohttp.HttpVersion | None
    headers: CIMultiDictProxy[str]
    raw_headers: tuple[tuple[bytes, bytes], ...]
    body: aiohttp.StreamReader
    release: Callable[[], object]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


async def answer_over(lent: Lent) -> Answer:
    """The answer to a request that was made over a connection that was kept, or an error of
    aiohttp.
    """
    message, body = await lent.heard()
    return Answer(
        message.code,
        message.reason,
        message.version,
        message.headers,
        message.raw_headers,
        body,
        lent.release,
    )


def ask_at_once(
    session: aiohttp.ClientSession,
    url: Divided,
    headers: Mapping[str, str],
    told: Heard | None = None,
) -> Lent | None:
    """Ask for a URL without waiting for anything; the connection that this was done over.

    None: no connection to it was kept, or it is not spelled as it is asked for. Else `answer_over`
    gives its answer; or it was told, and the connection is free by `release`.

    The session has a `Connector`. `told`: see `Lent.ask`, also for errors.
    """
    host, path = _host(url.origin), _PATH.fullmatch(url.path)
    if host is None or path is None:
        return None
    authority, key = host
    connector = session.connector
    assert isinstance(connector, Connector)
    lent = connector.lent(key)
    if lent is None:
        return None
    try:
        request = _request(path[1], authority, session.headers, headers)
    except BaseException:
        lent.give_up()
        raise
    lent.ask(request, told)
    return lent


def _request(
    path: str, authority: str, common: CIMultiDict[str], headers: Mapping[str, str]
) -> bytes:
    """The bytes of a request with the headers of all requests, and those of this one."""
    if headers.keys() <= _CONDITIONS and "".join(headers.values()).isprintable():
        # As most are: they stand beside those of all, and replace none.
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        first = f"GET {path} HTTP/1.1\r\nHost: {authority}\r\n"
        return f"{first}{_lines(tuple(common.items()))}{lines}Accept: */*\r\n\r\n".encode()
    sent = CIMultiDict({"Host": authority})
    sent.update(common)
    sent.update(headers)
    sent.setdefault("Accept", "*/*")
    return http_writer._serialize_headers(f"GET {path} HTTP/1.1", sent)


@lru_cache(_FEW)
def _lines(headers: tuple[tuple[str, str], ...]) -> str:
    """The headers of all requests as they are sent, which are without what ends lines."""
    return "".join(f"{name}: {value}\r\n" for name, value in headers)


@lru_cache(_REMEMBERED)
def _host(origin: str) -> tuple[str, ConnectionKey] | None:
    """The host of an origin as requests name it, and its connections; None: it is not plain."""
    parts = _ORIGIN.fullmatch(origin)
    if parts is None:
        return None
    scheme, authority, host, port = parts.groups()
    is_tls = scheme == "https"
    return authority, connections_to(host.strip("[]"), int(port or _PORTS[scheme]), is_tls=is_tls)


async def answered(
    session: aiohttp.ClientSession,
    method: str,
    url: str,
    headers: Mapping[str, str],
    *,
    form: Mapping[str, str] | None = None,
    proxy: str | None = None,
    proxy_headers: Mapping[str, str] | None = None,
) -> Answer:
    """The answer to a request for a canonical URL, or an error of aiohttp; no redirect is followed.

    The session has a `Connector`. A request is made once, whatever becomes of its connection.
    """
    if method == "GET" and proxy is None:
        lent = ask_at_once(session, divided(url), headers)
        if lent is not None:
            return await answer_over(lent)
    response = await session.request(
        method,
        # yarl would spell it in its own way.
        yarl.URL(url, encoded=True),
        data=form,
        headers=headers,
        allow_redirects=False,
        proxy=proxy,
        proxy_headers=proxy_headers,
    )
    return Answer(
        response.status,
        response.reason,
        response.version,
        response.headers,
        response.raw_headers,
        response.content,
        response.release,
    )
