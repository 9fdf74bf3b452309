"""What shows on stderr how a run is going."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from pollwise.console.log import LogFormat, page_line, plain_line
from pollwise.console.slow_readers import wait_until_written
from pollwise.console.streams import stderr

__all__ = ["Display", "RunDisplay"]


class Display:
    """Shows on stderr how things stand: live on a terminal, else by a line now and then.

    Subclasses define `_picture` and `_line`; `__init__` may call them.
    """

    line_interval: float
    """Seconds between lines if stderr is no terminal."""

    def __init__(self) -> None:
        self._console = stderr()
        self._live = Live(
            get_renderable=self._picture,
            console=self._console,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,  # all that is printed there comes by this console
        )
        self._told_at = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """A context in which the live region is not on the terminal, for a text on stdout."""
        is_shown = self._live.is_started and sys.stdout.isatty()
        if is_shown:
            self._live.stop()
            wait_until_written(self._console.file)
        try:
            yield
        finally:
            if is_shown:
                self._live.start()

    def _picture(self) -> RenderableType:
        """How things stand, for the live region."""
        raise NotImplementedError

    def _line(self) -> str:
        """The same as a line."""
        raise NotImplementedError

    def _tell_at_times(self) -> None:
        now = time.monotonic()
        if not self._console.is_terminal and now - self._told_at >= self.line_interval:
            self._told_at = now
            self._print(self._line())

    def _print(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


class RunDisplay(Display):
    """Shows a run that goes on until it is stopped: its news, a line each, and a line of counts.

    `doing` says what the run does, such as `watching 3 pages at 5/hour, database pages.db`. If it
    is `quiet`, nothing but the subclass writes. Lines have the format `log`; nothing is live but
    with text.
    """

    line_interval = 60.0

    def __init__(self, doing: str, *, quiet: bool = False, log: LogFormat = LogFormat.text) -> None:
        self._spinner = Spinner("dots")
        self._quiet = quiet
        self._log = log
        super().__init__()
        if not quiet:
            words = "; times are UTC; Ctrl-C ends it" if log is LogFormat.text else ""
            self._print(f"{doing}{words}")

    def __enter__(self) -> Self:
        is_live = not self._quiet and self._log is LogFormat.text
        return super().__enter__() if is_live else self

    def __exit__(self, *error: object) -> None:
        if not self._quiet:
            if self._log is LogFormat.text:
                super().__exit__(*error)
            self._print(f"stopped: {self._last_line()}")

    def _tell(self, polled_at: float, news: str, url: str, *, level: str = "info") -> None:
        """A line of news of a page, from a poll of it at `polled_at` (UTC seconds)."""
        if not self._quiet:
            self._write(page_line(self._log, polled_at, news, url, level=level))

    def _print(self, text: str) -> None:
        self._write(plain_line(self._log, text))

    def _write(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)

    def _tell_at_times(self) -> None:
        if not self._quiet:
            super()._tell_at_times()

    def _last_line(self) -> str:
        """What the end of the run tells."""
        return self._line()

    def _live_line(self) -> str:
        """What the live region shows."""
        return self._line()

    def _picture(self) -> RenderableType:
        self._spinner.update(text=Text(self._live_line()))
        return self._spinner
