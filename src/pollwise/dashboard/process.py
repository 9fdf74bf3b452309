"""The process that answers, beside the one that polls and started it: `answering` tells how.

Its argument is the number of the socket that listens. The first line of its input has the terms,
each further one the figures of the run, or that it has stopped. It ends when its input does.
"""

import asyncio
import logging
import signal
import socket
import sys

import uvloop

from pollwise.console.streams import on_one_line, stderr
from pollwise.dashboard.answers import Answers
from pollwise.dashboard.server import answer
from pollwise.dashboard.stopped import Stopped
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.errors import InputError, PollwiseError
from pollwise.live.run_figures import decode
from pollwise.web.descriptors import make_room

_log = logging.getLogger(__name__)

_LONGEST_LINE = 2**20
_SWITCH = 0.001
"""Seconds for which a thread that reads a snapshot may hold up the answers."""


def main() -> int:
    """Answer until the input ends; 2: the database or the terms cannot be used."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # who started it ends it
        signal.signal(number, signal.SIG_IGN)
    sys.setswitchinterval(_SWITCH)
    try:
        make_room()
        uvloop.run(_answer(socket.socket(fileno=int(sys.argv[1]))))
    except PollwiseError as error:
        stderr().print(on_one_line(f"pollwise: {error}"), soft_wrap=True)
        return 2
    return 0


async def _answer(listener: socket.socket) -> None:
    told = asyncio.StreamReader(limit=_LONGEST_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(told), sys.stdin)
    terms = AnsweringTerms.decode((await told.readline()).decode())
    stop = asyncio.Event()
    listening: list[asyncio.Task[None]] = []

    async def hear(answers: Answers) -> None:
        try:
            async for line in told:
                try:
                    _note(answers, line.decode())
                except InputError as error:  # of another version, until the run starts anew
                    _log.warning("%s", error)
        finally:
            stop.set()

    def begin(answers: Answers) -> None:
        listening.append(asyncio.create_task(hear(answers)))

    await answer(terms, listener, stop, begin=begin)
    for task in listening:
        if task.done():
            task.result()


def _note(answers: Answers, line: str) -> None:
    """Keep what the process that polls told."""
    stopped = Stopped.decode(line)
    answers.figures = decode(line) if stopped is None else None
    if answers.stopped != stopped:
        answers.stopped = stopped
        answers.tell()


if __name__ == "__main__":
    sys.exit(main())
