"""What a run tells the service manager that started it, by the protocol of `sd_notify(3)`.

Without a manager that wants to hear anything, all of it does nothing.
"""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Self

__all__ = ["ServiceManager", "service_manager"]

_STATUS_EVERY = 10.0
"""Seconds; a status that is as before is not told again."""
_PATIENCE = 1.0
"""Seconds to wait for a manager that does not read."""
_MICROSECOND = 1e-6


class ServiceManager:
    """The socket of a manager (None: there is none), and what it wants to hear by it.

    `beat_every`: seconds after which it wants a sign of life (None: never).
    """

    def __init__(self, address: str | None, beat_every: float | None = None) -> None:
        self._address = address
        self._beat_every = beat_every
        self._status: str | None = None

    @classmethod
    def of(cls, environment: MutableMapping[str, str]) -> Self:
        """The manager that the environment names, of which other processes then do not hear."""
        address = environment.pop("NOTIFY_SOCKET", "")
        micros = environment.pop("WATCHDOG_USEC", "")
        process = environment.pop("WATCHDOG_PID", "")
        beat_every = None
        if micros.isdecimal() and int(micros) and process in ("", str(os.getpid())):
            beat_every = int(micros) * _MICROSECOND / 2
        # Other kinds of sockets than those of this machine are of virtual machines.
        return cls(address if address.startswith(("/", "@")) else None, beat_every)

    def ready(self) -> None:
        """The run has begun, or what was to be taken in is."""
        self._tell("READY=1")

    def reloading(self) -> None:
        """Settings are being read anew, until `ready`."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._tell(f"RELOADING=1\nMONOTONIC_USEC={now}")

    def stopping(self) -> None:
        """The run is about to end."""
        self._tell("STOPPING=1")

    def status(self, text: str) -> None:
        """How it stands, in one line."""
        if text != self._status:
            self._status = text
            self._tell(f"STATUS={text}")

    @asynccontextmanager
    async def beside(self, status: Callable[[], str]) -> AsyncIterator[None]:
        """A context in which the manager hears how it stands, now and then."""
        if self._address is None:  # in a virtual time, waking up for nothing would be all there is
            yield
            return
        telling = asyncio.ensure_future(_every(_STATUS_EVERY, lambda: self.status(status())))
        try:
            yield
        finally:
            telling.cancel()

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """A context in which it gets signs of life, by the event loop: none if that hangs."""
        if self._beat_every is None:
            yield
            return
        beating = asyncio.ensure_future(_every(self._beat_every, lambda: self._tell("WATCHDOG=1")))
        try:
            yield
        finally:
            beating.cancel()

    def _tell(self, text: str) -> None:
        if self._address is None:
            return
        # An address of the abstract namespace is written with @ for its first byte, 0.
        address = f"\0{self._address[1:]}" if self._address[0] == "@" else self._address
        # A manager that is gone, or is being restarted, is no reason to end.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.settimeout(_PATIENCE)
            out.sendto(text.encode(), address)


async def _every(seconds: float, tell: Callable[[], None]) -> None:
    while True:
        tell()
        await asyncio.sleep(seconds)


@cache
def service_manager() -> ServiceManager:
    """The manager of this process."""
    return ServiceManager.of(os.environ)
