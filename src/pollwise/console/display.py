"""What shows on stderr how a run is going."""

import time
from typing import Self

from rich.console import RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from pollwise.console.streams import stderr
from pollwise.console.tables import moment

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
        )
        self._told_at = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

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
            self._console.print(self._line(), soft_wrap=True)


class RunDisplay(Display):
    """Shows a run that goes on until it is stopped: its news, a line each, and a line of counts.

    `doing` says what the run does, such as `watching 3 pages at 5/hour, database pages.db`.
    """

    line_interval = 60.0

    def __init__(self, doing: str) -> None:
        self._spinner = Spinner("dots")
        super().__init__()
        self._console.print(f"{doing}; times are UTC; Ctrl-C ends it", soft_wrap=True)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._console.print(f"stopped: {self._line()}")

    def _tell(self, polled_at: float, news: str, url: str) -> None:
        """A line of news of a page, from a poll of it at `polled_at` (UTC seconds)."""
        line = f"{moment(polled_at)}  {news}  {url}".replace("\n", " ")
        self._console.print(line, soft_wrap=True)

    def _picture(self) -> Spinner:
        self._spinner.update(text=Text(self._line()))
        return self._spinner
