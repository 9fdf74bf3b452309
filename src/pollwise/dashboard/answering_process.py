"""The process that answers, kept running by a thread: it outlives the runs that it tells of."""

import asyncio
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from pollwise.dashboard.terms import AnsweringTerms

__all__ = ["AnsweringProcess"]

_EVERY = 1.0
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_SECONDS_TO_END = 5.0


class AnsweringProcess:
    """A process that answers on these terms at a socket that listens, from `start` to `close`.

    It is started anew whenever it ends, which `say` is told. Once a second it hears the line that
    was told last.
    """

    def __init__(
        self, terms: AnsweringTerms, listener: socket.socket, say: Callable[[str], None]
    ) -> None:
        self._terms = terms
        self._listener = listener
        self._say = say
        self._line: str | None = None
        self._closing = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._mind, name="answering", daemon=True)

    @property
    def is_started(self) -> bool:
        """Whether it was started."""
        return self._thread.ident is not None

    def start(self) -> None:
        """Start it, unless it was."""
        if not self.is_started:
            self._thread.start()

    def tell(self, line: str) -> None:
        """Let it hear this line from now on."""
        self._line = line

    def close(self) -> None:
        """End it, and wait for that."""
        if self.is_started:
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()
        self._loop.close()

    def _mind(self) -> None:
        self._loop.run_until_complete(self._until_closed())

    async def _until_closed(self) -> None:
        keeping = asyncio.create_task(self._keep())
        await self._closing.wait()
        keeping.cancel()
        await asyncio.wait([keeping])

    async def _keep(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            begun = asyncio.get_running_loop().time()
            try:
                why = f"ended (status {await self._run()})"
            except OSError as error:
                why = f"cannot be started ({error.strerror})"
            if asyncio.get_running_loop().time() - begun > _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            self._say(f"what answers {why}; it starts anew in {pause:g} s")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _run(self) -> int:
        """Have a process answer until it ends; its exit status."""
        number = self._listener.fileno()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pollwise.dashboard.process", str(number)),
            stdin=asyncio.subprocess.PIPE,
            pass_fds=[number],
            start_new_session=True,  # Ctrl-C in a terminal is for this process alone
        )
        assert process.stdin is not None
        ended = asyncio.ensure_future(process.wait())
        try:
            line: str | None = self._terms.encode()
            while not ended.done():
                with suppress(ConnectionError):  # it has ended: so will `ended`
                    if line is not None:
                        process.stdin.write(f"{line}\n".encode())
                    await process.stdin.drain()
                await asyncio.wait([ended], timeout=_EVERY)
                line = self._line
            return ended.result()
        finally:
            process.stdin.close()
            if not ended.done():
                await asyncio.wait([ended], timeout=_SECONDS_TO_END)
            if not ended.done():
                process.kill()
                await ended
