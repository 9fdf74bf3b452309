"""The lines that a long run writes on stderr, for people, journald or collectors of logs."""

import json
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from pollwise.console.streams import on_one_line, stderr
from pollwise.console.tables import brief, moment, short

__all__ = ["LogFormat", "notices_in", "object_line", "page_line", "plain_line"]

_LEVELS = {"warning": 4, "notice": 5, "info": 6}
"""Priorities of syslog."""
_LONGEST_NEWS = 1000
"""Cells of a line for people: news may name a URL."""


class LogFormat(StrEnum):
    """How lines are written.

    `systemd`: with a priority before it, as `<6>`, and without times, which journald adds; `json`:
    an object with `at` (UTC seconds), `level` (warning, notice or info) and `event` (poll, page or
    notice).
    """

    text = "text"
    json = "json"
    systemd = "systemd"


def notices_in(form: LogFormat, text_notice: Callable[[str], None]) -> Callable[[str], None]:
    """What writes a notice; `text_notice` does so as text."""
    if form is LogFormat.text:
        return text_notice
    return lambda text: stderr().print(plain_line(form, text, level="notice"), soft_wrap=True)


def plain_line(form: LogFormat, text: str, *, level: str = "info") -> str:
    """A line that is of no page."""
    match form:
        case LogFormat.json:
            return object_line(time.time(), "notice", level, {"notice": text})
        case LogFormat.systemd:
            return on_one_line(f"<{_LEVELS[level]}>{text}")
        case LogFormat.text:
            return on_one_line(text)


def page_line(form: LogFormat, at: float, news: str, url: str, *, level: str = "info") -> str:
    """A line of news of a page, from a poll of it at a time (UTC seconds)."""
    told = f"{short(news, _LONGEST_NEWS)}  {brief(url)}".replace("\n", " ")
    match form:
        case LogFormat.json:
            return object_line(at, "page", level, {"notice": news, "url": url})
        case LogFormat.systemd:
            return f"<{_LEVELS[level]}>{told}"
        case LogFormat.text:
            return f"{moment(at)}  {told}"


def object_line(at: float, event: str, level: str, more: dict[str, Any]) -> str:
    """A line of JSON."""
    return json.dumps({"at": at, "level": level, "event": event, **more})
