"""The calls of the protocol, on top of a frontier."""

import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, TypeVar

import grpc
from google.protobuf.message_factory import GetMessageClass

from pollwise.errors import PollwiseError
from pollwise.frontier.frontier import Frontier
from pollwise.frontier.giving import Asked, Given
from pollwise.frontier.listing import Listing, Wanted
from pollwise.frontier.places import crawl_of, shown_name
from pollwise.frontier.protocol import urlfrontier_pb2 as protocol
from pollwise.frontier.streams import Batches
from pollwise.frontier.worker import Worker

__all__ = ["Service"]

_LOG = logging.getLogger(__name__)
_NAME = "URLFrontier"
_AT_ONCE = 256
"""URLs that are leased before they are sent."""
_TAKEN_AT_ONCE = 1000
_DEFAULT_SIZE = 100
_SKIPPED, _FAIL = protocol.AckMessage.SKIPPED, protocol.AckMessage.FAIL
_LEVELS = {
    protocol.LogLevelParams.TRACE: logging.DEBUG,
    protocol.LogLevelParams.DEBUG: logging.DEBUG,
    protocol.LogLevelParams.INFO: logging.INFO,
    protocol.LogLevelParams.WARN: logging.WARNING,
    protocol.LogLevelParams.ERROR: logging.ERROR,
}
_OURS = "pollwise.frontier"
_THEIRS = "crawlercommons.urlfrontier"
"""What the reference server is called, and so what clients name; it stands for all of ours."""

Status = protocol.AckMessage.Status
T = TypeVar("T")
Context = Any  # grpc.aio.ServicerContext, which has no types


class Service:
    """Answers the calls. `address` is what it is reached by, `clock` tells the time.

    `writing` does what the frontier is asked for, `reading` what the listing is.
    """

    def __init__(
        self,
        frontier: Frontier,
        writing: Worker,
        listing: Listing,
        reading: Worker,
        clock: Callable[[], float],
        address: str,
    ) -> None:
        self._frontier = frontier
        self._writing = writing
        self._listing = listing
        self._reading = reading
        self._clock = clock
        self.address = address

    def handler(self) -> Any:
        """What a gRPC server is given."""
        calls = {
            "ListNodes": self._list_nodes,
            "ListCrawls": self._list_crawls,
            "DeleteCrawl": self._delete_crawl,
            "ListQueues": self._list_queues,
            "GetURLs": self._get_urls,
            "PutURLs": self._put_urls,
            "PutDiscovered": self._put_discovered,
            "GetStats": self._get_stats,
            "DeleteQueue": self._delete_queue,
            "BlockQueueUntil": self._block_queue_until,
            "SetActive": self._set_active,
            "GetActive": self._get_active,
            "SetDelay": self._set_delay,
            "SetLogLevel": self._set_log_level,
            "SetCrawlLimit": self._set_crawl_limit,
            "GetURLStatus": self._get_url_status,
            "ListURLs": self._list_urls,
            "CountURLs": self._count_urls,
            "PurgeURLs": self._purge_urls,
        }
        described = protocol.DESCRIPTOR.services_by_name[_NAME]
        kinds = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }
        handlers = {
            method.name: kinds[method.client_streaming, method.server_streaming](
                calls[method.name],
                request_deserializer=GetMessageClass(method.input_type).FromString,
                response_serializer=GetMessageClass(method.output_type).SerializeToString,
            )
            for method in described.methods
        }
        return grpc.method_handlers_generic_handler(described.full_name, handlers)

    # ------------------------------------------------------------------------------ URLs in, out

    async def _put_urls(
        self, messages: AsyncIterator[protocol.URLItem], context: Context
    ) -> AsyncIterator[protocol.AckMessage]:
        sent = _Sent(context.peer(), "PutURLs")
        try:
            async for batch in Batches(messages):
                statuses = await self._put(batch, sent)
                for item, status in zip(batch, statuses, strict=True):
                    yield protocol.AckMessage(ID=item.ID or _url_of(item), status=status)
        finally:
            sent.tell()

    async def _put_discovered(
        self, messages: AsyncIterator[protocol.DiscoveredBatch], context: Context
    ) -> AsyncIterator[protocol.BatchAck]:
        sent = _Sent(context.peer(), "PutDiscovered")
        try:
            async for batches in Batches(messages):
                for batch in batches:
                    statuses = await self._discover(batch, sent)
                    yield protocol.BatchAck(ID=batch.ID, statuses=statuses)
        finally:
            sent.tell()

    async def _put(self, batch: list[protocol.URLItem], sent: "_Sent") -> list[Status]:
        """Take in messages; their statuses, once they are on the disk."""
        now = self._clock()
        return await self._taken_in(
            lambda: [self._frontier.put(item, now) for item in batch], len(batch), sent
        )

    async def _discover(self, batch: protocol.DiscoveredBatch, sent: "_Sent") -> list[Status]:
        """The same of URLs that were found: some at a time, so that others have their turn."""
        now = self._clock()
        statuses: list[Status] = []
        for begin in range(0, len(batch.items), _TAKEN_AT_ONCE):
            some = batch.items[begin : begin + _TAKEN_AT_ONCE]
            statuses += await self._taken_in(
                partial(self._discover_some, some, now), len(some), sent
            )
        return statuses

    def _discover_some(self, some: list[protocol.URLInfo], now: float) -> list[Status]:
        return [self._frontier.discover(info, now) for info in some]

    async def _taken_in(
        self, work: Callable[[], list[Status]], count: int, sent: "_Sent"
    ) -> list[Status]:
        try:
            statuses = await self._writing.do(work)
        except PollwiseError as error:
            sent.failed += count
            _LOG.error("%s of %s: %s", sent.call, sent.client, error)
            return [_FAIL] * count
        sent.count(statuses)
        return statuses

    async def _get_urls(
        self, params: protocol.GetParams, context: Context
    ) -> AsyncIterator[protocol.URLInfo]:
        asked = Asked.of(params, context.peer())
        sent = 0

        def give(now: float) -> list[Given]:
            return self._frontier.give(asked, now, _AT_ONCE)

        # The clock is looked at here only, not in the thread that works.
        while given := await self._write(partial(give, self._clock()), context):
            for place, url, metadata in given:
                info = protocol.URLInfo(url=url, key=place.key, crawlID=place.crawl)
                if metadata:
                    info.MergeFromString(metadata)
                yield info
            sent += len(given)
        _LOG.debug("GetURLs of %s: %d URLs of %d queues", asked.client, sent, asked.served)

    # --------------------------------------------------------------------------- one URL, many

    async def _get_url_status(
        self, request: protocol.URLStatusRequest, context: Context
    ) -> protocol.URLItem:
        item = await self._read(
            lambda: self._listing.status(request.url, request.key, request.crawlID), context
        )
        if item is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "there is no such URL in this queue")
            raise AssertionError("abort raises")
        return item

    async def _list_urls(
        self, params: protocol.ListUrlParams, context: Context
    ) -> AsyncIterator[protocol.URLItem]:
        parts = self._listing.parts(_wanted(params), params.start, params.size or _DEFAULT_SIZE)
        while (part := await self._read(lambda: next(parts, None), context)) is not None:
            for item in part:
                yield item

    async def _count_urls(self, params: protocol.CountUrlParams, context: Context) -> protocol.Long:
        count = await self._read(lambda: self._listing.count(_wanted(params)), context)
        return protocol.Long(value=count)

    # ------------------------------------------------------------------------- crawls and queues

    async def _list_nodes(self, _: protocol.Empty, context: Context) -> protocol.StringList:
        return protocol.StringList(values=[self.address])

    async def _list_crawls(self, _: protocol.Local, context: Context) -> protocol.StringList:
        crawls = await self._write(lambda: self._frontier.crawls, context)
        return protocol.StringList(values=crawls)

    async def _list_queues(
        self, request: protocol.Pagination, context: Context
    ) -> protocol.QueueList:
        now = self._clock()
        keys, total = await self._write(
            lambda: self._frontier.keys(
                request.crawlID,
                request.start,
                request.size or _DEFAULT_SIZE,
                now,
                all_of_them=request.include_inactive,
            ),
            context,
        )
        return protocol.QueueList(
            values=keys,
            total=total,
            start=request.start,
            size=len(keys),
            crawlID=crawl_of(request.crawlID),
        )

    async def _get_stats(
        self, request: protocol.QueueWithinCrawlParams, context: Context
    ) -> protocol.Stats:
        now = self._clock()
        figures = await self._write(
            lambda: self._frontier.figures(request.key, request.crawlID, now), context
        )
        return protocol.Stats(
            size=figures.active,
            inProcess=figures.in_process,
            counts={"completed": figures.completed, "active_queues": figures.active_queues},
            numberOfQueues=figures.queues,
            crawlID=crawl_of(request.crawlID),
        )

    async def _delete_crawl(
        self, request: protocol.DeleteCrawlMessage, context: Context
    ) -> protocol.Long:
        deleted = await self._write(lambda: self._frontier.delete_crawl(request.value), context)
        _tell(context, "deleted %d URLs, all of crawl %s", deleted, crawl_of(request.value))
        return protocol.Long(value=deleted)

    async def _delete_queue(
        self, request: protocol.QueueWithinCrawlParams, context: Context
    ) -> protocol.Long:
        deleted = await self._write(
            lambda: self._frontier.delete_queue(request.key, request.crawlID), context
        )
        crawl = crawl_of(request.crawlID)
        _tell(context, "deleted %d URLs, all of queue %s of crawl %s", deleted, request.key, crawl)
        return protocol.Long(value=deleted)

    async def _purge_urls(
        self, request: protocol.PurgeUrlParams, context: Context
    ) -> protocol.Long:
        now = self._clock()
        purged = await self._write(
            lambda: self._frontier.purge(request.key, request.crawlID, request.days, now),
            context,
        )
        _tell(context, "purged %d URLs older than %d days", purged, request.days)
        return protocol.Long(value=purged)

    # --------------------------------------------------------------------------------- settings

    async def _set_active(self, request: protocol.Active, context: Context) -> protocol.Empty:
        await self._write(lambda: self._frontier.set_active(request.state), context)
        _tell(context, "URLs are given out" if request.state else "URLs are given out no longer")
        return protocol.Empty()

    async def _get_active(self, _: protocol.Local, context: Context) -> protocol.Boolean:
        return protocol.Boolean(state=await self._write(lambda: self._frontier.active, context))

    async def _set_delay(
        self, request: protocol.QueueDelayParams, context: Context
    ) -> protocol.Empty:
        await self._write(
            lambda: self._frontier.set_delay(
                request.key, request.crawlID, request.delay_requestable
            ),
            context,
        )
        return protocol.Empty()

    async def _block_queue_until(
        self, request: protocol.BlockQueueParams, context: Context
    ) -> protocol.Empty:
        await self._write(
            lambda: self._frontier.block(request.key, request.crawlID, request.time), context
        )
        return protocol.Empty()

    async def _set_crawl_limit(
        self, request: protocol.CrawlLimitParams, context: Context
    ) -> protocol.Empty:
        is_there = await self._write(
            lambda: self._frontier.set_limit(request.key, request.crawlID, request.limit), context
        )
        if not is_there:
            await context.abort(grpc.StatusCode.NOT_FOUND, "there is no such queue")
        return protocol.Empty()

    async def _set_log_level(
        self, request: protocol.LogLevelParams, context: Context
    ) -> protocol.Empty:
        if request.level not in _LEVELS:
            known = ", ".join(protocol.LogLevelParams.Level.keys())
            complaint = f"there is no log level {request.level}: give one of {known}"
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, complaint)
        name = request.package
        if not name or name == _THEIRS or name.startswith(f"{_THEIRS}."):
            name = _OURS
        # A logger once made is there for good: those that there are not are not made.
        if name == _OURS or name in logging.Logger.manager.loggerDict:
            logging.getLogger(name).setLevel(_LEVELS[request.level])
            level = protocol.LogLevelParams.Level.Name(request.level)
            _tell(context, "the log level of %s is %s", name, level)
        return protocol.Empty()

    # ------------------------------------------------------------------------------------ within

    async def _write(self, work: Callable[[], T], context: Context) -> T:
        return await _done(self._writing, work, context)

    async def _read(self, work: Callable[[], T], context: Context) -> T:
        return await _done(self._reading, work, context)


class _Sent:
    """What a client has sent in one stream, and what became of that."""

    def __init__(self, client: str, call: str) -> None:
        self.client, self.call = client, call
        self.taken = self.skipped = self.failed = 0

    def count(self, statuses: list[Status]) -> None:
        skipped = statuses.count(_SKIPPED)
        self.skipped += skipped
        self.taken += len(statuses) - skipped

    def tell(self) -> None:
        """Write into the log what it was."""
        level = logging.WARNING if self.failed else logging.INFO if self.skipped else logging.DEBUG
        _LOG.log(
            level,
            "%s of %s: %d URLs taken, %d skipped, %d failed",
            self.call,
            self.client,
            self.taken,
            self.skipped,
            self.failed,
        )


async def _done(worker: Worker, work: Callable[[], T], context: Context) -> T:
    """Have work done; an error of the store is the client's to hear."""
    try:
        return await worker.do(work)
    except PollwiseError as error:
        _LOG.error("asked by %s: %s", context.peer(), error)
        await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        raise


def _tell(context: Context, message: str, *values: object) -> None:
    shown = [shown_name(value) if isinstance(value, str) else value for value in values]
    _LOG.info(f"%s: {message}", context.peer(), *shown)


def _wanted(params: protocol.ListUrlParams | protocol.CountUrlParams) -> Wanted:
    return Wanted(params.crawlID, params.key, params.filter, params.ignoreCase)


def _url_of(item: protocol.URLItem) -> str:
    known = item.HasField("known")
    return (item.known if known else item.discovered).info.url
