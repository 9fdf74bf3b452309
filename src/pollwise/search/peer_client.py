"""Asking peers over HTTP: bounded in time and size, with one kind of error."""

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Self

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from pollwise.search.description import Description, read_description
from pollwise.search.results import Result, read_results
from pollwise.texts import one_line

__all__ = ["PEER_SECONDS", "PeerClient", "PeerError", "RefusedError"]

PEER_SECONDS = 2.0
"""The time that a peer has for a whole answer."""

_MOST_BYTES = 2**20


class PeerError(Exception):
    """A peer gave no usable answer; the message says why, in one line."""


class RefusedError(PeerError):
    """The peer works, but refuses such a query."""


class PeerClient:
    """Asks peers, by their URLs without a slash at the end; use it with `async with`.

    `PeerError` if a peer has not answered in full within `timeout` seconds, or answers with more
    than 1 MiB, a status other than 200 (a redirect too), or something else than was asked for.
    `tokens` are those that peers want to see, by URL.
    """

    def __init__(
        self, *, timeout: float = PEER_SECONDS, tokens: Mapping[str, str] | None = None
    ) -> None:
        self._tokens = tokens or {}
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit_per_host=16),
            timeout=aiohttp.ClientTimeout(total=None),
            # A compressed body could be larger than it looks.
            headers={"Accept": "application/json", "Accept-Encoding": "identity"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def describe(self, peer: str) -> Description:
        """What the peer tells of itself."""
        document = await self._ask(peer, "/engine", {})
        try:
            return read_description(document)
        except ValueError as error:
            raise PeerError(f"answers {error}") from error

    async def search(self, peer: str, query: str, limit: int) -> tuple[list[Result], int]:
        """What the peer finds without forwarding, best first, and how many of its pages match."""
        asked = {"q": query, "limit": str(limit), "hops": "0"}
        document = await self._ask(peer, "/search", asked)
        try:
            return read_results(document, peer, limit)
        except ValueError as error:
            raise PeerError(f"answers {error}") from error

    async def _ask(self, peer: str, path: str, parameters: dict[str, str]) -> object:
        if self._session is None:
            raise RuntimeError("this PeerClient is not open; use it within `async with`")
        try:
            async with asyncio.timeout(self._timeout):
                body = await self._read(self._session, peer, path, parameters)
        except TimeoutError as error:
            raise PeerError(f"no complete answer within {self._timeout:g} s") from error
        except aiohttp.ClientConnectorError as error:
            raise PeerError(f"no connection ({_reason(error.os_error)})") from error
        # ValueError: see `pollwise.web.fetcher`.
        except (aiohttp.ClientError, HttpProcessingError, OSError, ValueError) as error:
            raise PeerError(one_line(error)) from error
        try:
            document: object = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise PeerError("answers no JSON") from error
        return document

    async def _read(
        self, session: aiohttp.ClientSession, peer: str, path: str, parameters: dict[str, str]
    ) -> bytes:
        token = self._tokens.get(peer)
        async with session.get(
            f"{peer}{path}",
            params=parameters,
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            allow_redirects=False,
        ) as response:
            if response.status == 401:
                raise PeerError("wants its token: give its URL with ?token=TOKEN")
            if response.status == 400:
                raise RefusedError("refuses the query")
            if response.status != 200:
                raise PeerError(f"answers with status {response.status}")
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > _MOST_BYTES:
                    raise PeerError(f"answers with more than {_MOST_BYTES} bytes")
            return bytes(body)


def _reason(error: OSError) -> str:
    # Resolver errors have numbers below 0; the texts of other errors would name addresses too.
    return os.strerror(error.errno) if error.errno and error.errno > 0 else one_line(error)
