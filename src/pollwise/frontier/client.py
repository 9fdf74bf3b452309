"""A client of any URLFrontier service."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import grpc
from google.protobuf.message_factory import GetMessageClass

from pollwise.frontier.protocol import urlfrontier_pb2 as protocol

__all__ = ["Client", "discovered", "known"]

Metadata = Mapping[str, Sequence[str]]
_NONE: Metadata = {}


def discovered(
    url: str, *, key: str = "", crawl: str = "", metadata: Metadata = _NONE
) -> protocol.URLItem:
    """A URL that was found, for `Client.put_urls`; without a `key` its queue is that of its host.

    >>> discovered("http://example.org/").discovered.info.url
    'http://example.org/'
    """
    info = _info(url, key, crawl, metadata)
    return protocol.URLItem(discovered=protocol.DiscoveredURLItem(info=info))


def known(
    url: str,
    refetch_at: int,
    *,
    key: str = "",
    crawl: str = "",
    metadata: Metadata = _NONE,
) -> protocol.URLItem:
    """A URL that was fetched, for `Client.put_urls`; `refetch_at` in UTC seconds, 0: never again.

    `metadata` tell whether it has changed: see `pollwise.frontier.reports`.
    """
    info = _info(url, key, crawl, metadata)
    return protocol.URLItem(
        known=protocol.KnownURLItem(info=info, refetchable_from_date=refetch_at)
    )


class Client:
    """Calls a URLFrontier service at `address` (HOST:PORT); a context manager.

    `timeout` is for each call, in seconds; None: it may take as long as it takes. Methods may be
    called from any thread. What goes wrong is a `grpc.RpcError`, which has `code()` and
    `details()`. `crawl` "" is the default crawl.
    """

    def __init__(self, address: str = "localhost:7071", *, timeout: float | None = None) -> None:
        self._channel = grpc.insecure_channel(address)
        self._timeout = timeout
        described = protocol.DESCRIPTOR.services_by_name["URLFrontier"]
        kinds = {
            (False, False): self._channel.unary_unary,
            (False, True): self._channel.unary_stream,
            (True, True): self._channel.stream_stream,
        }
        self._calls = {
            method.name: kinds[method.client_streaming, method.server_streaming](
                f"/{described.full_name}/{method.name}",
                request_serializer=GetMessageClass(method.input_type).SerializeToString,
                response_deserializer=GetMessageClass(method.output_type).FromString,
            )
            for method in described.methods
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def get_urls(
        self,
        *,
        urls: int = 0,
        queues: int = 0,
        key: str = "",
        crawl: str | None = None,
        lease: int = 0,
    ) -> Iterator[protocol.URLInfo]:
        """URLs to fetch: at most so many `urls` of each of at most so many `queues`; 0: no bound.

        `crawl` None: of any. After `lease` seconds (0: 30) one that was not reported may be given
        out again.
        """
        params = protocol.GetParams(
            max_urls_per_queue=urls, max_queues=queues, key=key, delay_requestable=lease
        )
        if crawl is None:
            params.anyCrawlID.SetInParent()
        else:
            params.crawlID = crawl
        yield from self._call("GetURLs", params)

    def put_urls(self, items: Iterable[protocol.URLItem]) -> Iterator[protocol.AckMessage]:
        """Send URLs that `discovered` and `known` make; their acknowledgements."""
        yield from self._call("PutURLs", iter(items))

    def put_discovered(
        self, batches: Iterable[protocol.DiscoveredBatch]
    ) -> Iterator[protocol.BatchAck]:
        """Send URLs that were found, many in one message; an acknowledgement for each batch."""
        yield from self._call("PutDiscovered", iter(batches))

    def list_nodes(self) -> list[str]:
        """The addresses of the nodes of the service."""
        return [*self._call("ListNodes", protocol.Empty()).values]

    def list_crawls(self) -> list[str]:
        """The ids of the crawls."""
        return [*self._call("ListCrawls", protocol.Local()).values]

    def delete_crawl(self, crawl: str = "") -> int:
        """Forget a crawl; how many URLs it had."""
        return int(self._call("DeleteCrawl", protocol.DeleteCrawlMessage(value=crawl)).value)

    def list_queues(
        self, crawl: str = "", *, start: int = 0, size: int = 0, inactive: bool = False
    ) -> list[str]:
        """The keys of the queues that have URLs to fetch, or of all; `size` 0: 100."""
        request = protocol.Pagination(
            start=start, size=size, include_inactive=inactive, crawlID=crawl
        )
        return [*self._call("ListQueues", request).values]

    def get_stats(self, key: str = "", crawl: str = "") -> protocol.Stats:
        """Figures of a queue, or of a crawl."""
        stats: protocol.Stats = self._call(
            "GetStats", protocol.QueueWithinCrawlParams(key=key, crawlID=crawl)
        )
        return stats

    def delete_queue(self, key: str, crawl: str = "") -> int:
        """Forget a queue; how many URLs it had."""
        request = protocol.QueueWithinCrawlParams(key=key, crawlID=crawl)
        return int(self._call("DeleteQueue", request).value)

    def block_queue_until(self, key: str, time: int, crawl: str = "") -> None:
        """Have no URLs of a queue given out before a time (UTC seconds)."""
        self._call("BlockQueueUntil", protocol.BlockQueueParams(key=key, time=time, crawlID=crawl))

    def set_active(self, active: bool) -> None:
        """Have URLs given out, or not."""
        self._call("SetActive", protocol.Active(state=active))

    def get_active(self) -> bool:
        """Whether URLs are given out."""
        return bool(self._call("GetActive", protocol.Local()).state)

    def set_delay(self, seconds: int, key: str = "", crawl: str = "") -> None:
        """Set the seconds between answers with URLs of a queue, or of all others."""
        request = protocol.QueueDelayParams(key=key, delay_requestable=seconds, crawlID=crawl)
        self._call("SetDelay", request)

    def set_log_level(self, level: str, package: str = "") -> None:
        """Set how much is logged: TRACE, DEBUG, INFO, WARN or ERROR."""
        self._call("SetLogLevel", protocol.LogLevelParams(package=package, level=level))

    def set_crawl_limit(self, key: str, limit: int, crawl: str = "") -> None:
        """Set how many URLs of a queue are fetched at most; 0: no limit."""
        request = protocol.CrawlLimitParams(key=key, limit=limit, crawlID=crawl)
        self._call("SetCrawlLimit", request)

    def get_url_status(self, url: str, key: str = "", crawl: str = "") -> protocol.URLItem:
        """What is kept of a URL."""
        request = protocol.URLStatusRequest(url=url, key=key, crawlID=crawl)
        item: protocol.URLItem = self._call("GetURLStatus", request)
        return item

    def list_urls(
        self,
        key: str = "",
        crawl: str = "",
        *,
        start: int = 0,
        size: int = 0,
        contains: str = "",
        ignore_case: bool = False,
    ) -> Iterator[protocol.URLItem]:
        """What is kept of the URLs of a queue, or of a crawl; `size` 0: 100."""
        params = protocol.ListUrlParams(
            start=start,
            size=size,
            key=key,
            crawlID=crawl,
            filter=contains,
            ignoreCase=ignore_case,
        )
        yield from self._call("ListURLs", params)

    def count_urls(
        self, key: str = "", crawl: str = "", *, contains: str = "", ignore_case: bool = False
    ) -> int:
        """How many URLs a queue or a crawl has."""
        params = protocol.CountUrlParams(
            key=key, crawlID=crawl, filter=contains, ignoreCase=ignore_case
        )
        return int(self._call("CountURLs", params).value)

    def purge_urls(self, days: int, key: str = "", crawl: str = "") -> int:
        """Forget URLs that were stored more than so many days ago; how many."""
        request = protocol.PurgeUrlParams(key=key, crawlID=crawl, days=days)
        return int(self._call("PurgeURLs", request).value)

    def _call(self, name: str, request: Any) -> Any:
        return self._calls[name](request, timeout=self._timeout)


def _info(url: str, key: str, crawl: str, metadata: Metadata) -> protocol.URLInfo:
    values = {name: protocol.StringList(values=several) for name, several in metadata.items()}
    return protocol.URLInfo(url=url, key=key, crawlID=crawl, metadata=values)
