"""What a client streams in, gathered into batches."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

__all__ = ["Batches"]

_MOST_MESSAGES = 512
_MOST_BYTES = 262_144


class _Sized(Protocol):
    def ByteSize(self) -> int: ...  # noqa: N802


M = TypeVar("M", bound=_Sized)


class Batches(Generic[M]):
    """Reads ahead while a batch is worked on, but no more than so many messages or bytes.

    Beyond that the client has to wait, so that what a stream takes of memory is bounded.
    """

    def __init__(self, messages: AsyncIterator[M]) -> None:
        self._messages = messages
        self._batch: list[M] = []
        self._bytes = 0
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    async def __aiter__(self) -> AsyncIterator[list[M]]:
        reading = asyncio.create_task(self._read())
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                batch, self._batch, self._bytes = self._batch, [], 0
                self._room.set()
                if batch:
                    yield batch
                elif reading.done():
                    reading.result()
                    return
                if reading.done():
                    self._changed.set()
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([reading])

    async def _read(self) -> None:
        try:
            async for message in self._messages:
                self._batch.append(message)
                self._bytes += message.ByteSize()
                self._changed.set()
                if len(self._batch) >= _MOST_MESSAGES or self._bytes >= _MOST_BYTES:
                    self._room.clear()
                    await self._room.wait()
        finally:
            self._changed.set()
