"""Fetches over connections that were kept, and what servers of tests do for them."""

import asyncio
from urllib.parse import urljoin

from pollwise.types import PageMemory
from pollwise.web.fetcher import Asking, FetchResult, HttpFetcher

WARMING = "/warming"
"""A path that servers answer without any note of it, and keep the connection."""


class WarmFetcher(HttpFetcher):
    """Has a connection to each host kept before it fetches from there."""

    async def fetch(
        self, url: str, memory: PageMemory, *, asking: Asking | None = None
    ) -> FetchResult:
        await super().fetch(urljoin(url, WARMING), PageMemory(), asking=asking)
        return await super().fetch(url, memory, asking=asking)


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """The head of the next request that is not one for `WARMING`: that is answered."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        if f"GET {WARMING} ".encode() not in head:
            return head
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
