"""How changes are written, and what `pollwise watch` writes on stdout: those that it finds."""

import queue
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from pollwise.console.quantities import count
from pollwise.console.slow_readers import AT_ONCE, LOOK, readiness
from pollwise.console.streams import drop_stdout, stdout
from pollwise.console.tables import brief, moment
from pollwise.errors import InputError, StoreError
from pollwise.insight.difference import (
    Difference,
    Differs,
    LatestTexts,
    lines_of,
    read_difference,
)
from pollwise.store import Place, Store
from pollwise.texts import printable
from pollwise.units import MINUTE

__all__ = ["Change", "ChangeLines", "LineLimit", "coloured_lines", "print_change"]

_MOST_WAITING = 1000
_MOST_COMPARED = 20
"""Changes that wait, at most, while versions are compared: then it takes too long."""
_CHARACTERS_AT_ONCE = AT_ONCE // 4
_WIDTH_OF_FILES = 300
_STYLES = {"-": "red", "+": "green"}


@dataclass(frozen=True, slots=True)
class Change:
    """A change that a poll found at `polled_at` (UTC seconds), with a `note` that may be empty.

    What differs is shown if it is `of_content`.
    """

    page_id: int
    url: str
    polled_at: float
    note: str = ""
    of_content: bool = True


_LATE = 10
"""Minutes by which an answer may come after a later one."""


class LineLimit:
    """Lets through so many lines of a page a minute, and counts the others.

    >>> limit = LineLimit(1)
    >>> limit.is_over(60.0), limit.lets_through("http://a/"), limit.lets_through("http://a/")
    (True, True, False)
    >>> limit.is_over(119.0), limit.is_over(120.0), limit.take_held_back()
    (False, True, {'http://a/': 1})
    """

    def __init__(self, lines: int) -> None:
        self._lines = lines
        self._minute = 0
        self._told: Counter[str] = Counter()
        self._held_back: Counter[str] = Counter()

    def is_over(self, now: float) -> bool:
        """Whether another minute begins at `now` (UTC seconds)."""
        minute = int(now // MINUTE)
        # A late answer is of a minute before; a clock that was set back, of one long ago.
        if self._minute - _LATE <= minute <= self._minute:
            return False
        self._minute = minute
        self._told.clear()
        return True

    def lets_through(self, url: str) -> bool:
        """Whether a line of this page may be shown."""
        self._told[url] += 1
        if self._told[url] <= self._lines:
            return True
        self._held_back[url] += 1
        return False

    def take_held_back(self) -> dict[str, int]:
        """By page, the lines not let through since this was last asked for."""
        held_back = dict(self._held_back)
        self._held_back.clear()
        return held_back


class ChangeLines:
    """Writes changes on stdout, each with what differs, by a thread of its own.

    So nobody waits for versions to be compared, nor for a slow reader: then changes are left out,
    which `say` is told. `aside` gives a context in which nothing else is on the terminal. When
    nobody reads any more, `on_closed` is called, by that thread.
    """

    def __init__(
        self,
        db: Place,
        *,
        aside: Callable[[], AbstractContextManager[object]],
        say: Callable[[str], None],
        on_closed: Callable[[], None],
    ) -> None:
        self._db = db
        self._aside = aside
        self._say = say
        self._on_closed = on_closed
        self._stream = sys.stdout
        self._console = stdout()
        self._waiting: queue.Queue[Change] = queue.Queue(_MOST_WAITING)
        self._left_out = 0
        self._closing = threading.Event()
        self._ready = readiness(self._stream)
        self._reader: Store | None = None
        self._latest = LatestTexts()
        self._thread = threading.Thread(target=self._go_on, daemon=True, name="changes")
        self._thread.start()

    def tell(self, change: Change) -> None:
        """Have a change written, soon; never waits."""
        try:
            self._waiting.put_nowait(change)
        except queue.Full:
            self._left_out += 1

    def close(self) -> None:
        """Write what still waits, if somebody reads it, and end."""
        self._closing.set()
        self._thread.join()
        if self._left_out:
            self._say(f"{count(self._left_out, 'change')} not shown: stdout is read too slowly")

    def _go_on(self) -> None:
        try:
            while not (self._closing.is_set() and self._waiting.empty()):
                try:
                    change = self._waiting.get(timeout=0.0 if self._closing.is_set() else LOOK)
                except queue.Empty:
                    self._ready(0.0)
                else:
                    if not self._write(self._lines(change)):
                        self._left_out += 1 + self._waiting.qsize()
                        return
        except BrokenPipeError:
            drop_stdout()
            self._on_closed()
        except OSError as error:
            drop_stdout()
            self._say(f"changes are shown no more, stdout cannot be written: {error.strerror}")
        finally:
            self._drop_reader()

    def _lines(self, change: Change) -> str:
        is_compared = change.of_content and self._waiting.qsize() < _MOST_COMPARED
        found = self._difference(change) if is_compared else Difference()
        with self._console.capture() as written:
            print_change(self._console, change.polled_at, change.url, found, change.note)
        return written.get()

    def _difference(self, change: Change) -> Difference:
        try:
            if self._reader is None:
                self._reader = Store.open_readonly(self._db)
            return read_difference(
                self._reader, change.page_id, change.url, change.polled_at, self._latest
            )
        except (StoreError, InputError):  # the run itself tells of a database that fails
            self._drop_reader()
            return Difference()

    def _drop_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _write(self, text: str) -> bool:
        """Write a text piece by piece; whether anybody reads, at the end."""
        with self._aside():
            for begin in range(0, len(text), _CHARACTERS_AT_ONCE):
                while not self._ready(LOOK):
                    if self._closing.is_set():
                        return False
                self._stream.write(text[begin : begin + _CHARACTERS_AT_ONCE])
                self._stream.flush()
        return True


def print_change(
    console: Console,
    seen_at: float,
    url: str,
    found: Difference,
    note: str,
) -> None:
    """Write a change that was found at `seen_at` (UTC seconds): a line, and what differs.

    `note` ends the line; it may be empty.
    """
    head = f"{moment(seen_at)}  {brief(url)}"
    head += f"  {brief(printable(found.title))}" if found.title else ""
    head += f"  ({note})" if note else ""
    console.print(Text(head.replace("\n", " ")), soft_wrap=True)
    width = console.width if console.is_terminal else _WIDTH_OF_FILES
    for line in coloured_lines(found):
        line.truncate(width - 2, overflow="ellipsis")
        console.print(Text("  ") + line, soft_wrap=True)


def coloured_lines(found: Differs) -> list[Text]:
    """What went and what came, a line each."""
    return [Text(line, _STYLES.get(line[0], "dim")) for line in lines_of(found)]
