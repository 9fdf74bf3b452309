"""The changes as a reading list: newest first, with what went and came, and which were read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import groupby
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.api.parameters import text_asked, whole_number_asked
from pollwise.dashboard.deeds import came_of
from pollwise.dashboard.forms import Field, Form, done, read_form, told
from pollwise.dashboard.frame import frame_of
from pollwise.dashboard.pages import page
from pollwise.errors import InputError
from pollwise.insight.reading_list import ReadingEntry, reading_list
from pollwise.live.requests import MarkRead
from pollwise.settings import CollectSettings
from pollwise.web.urls import canonical

__all__ = ["changes_routes", "day_of"]

_PATH = "/changes"
_LARGEST = 2**53


@dataclass(frozen=True, slots=True)
class _Asked:
    """What of the changes is asked for."""

    tag: str
    url: str
    unread: bool
    before: int | None

    def address(self, **other: str | int) -> str:
        """The address of this, with some of it otherwise; empty: without that."""
        asked = {**self.query, **other}
        given = {name: value for name, value in asked.items() if value != ""}
        return f"{_PATH}?{urlencode(given)}" if given else _PATH

    @property
    def query(self) -> dict[str, str | int]:
        """The same as in the address."""
        return {
            "tag": self.tag,
            "url": self.url,
            "unread": "1" if self.unread else "",
            "before": self.before or "",
        }


def changes_routes(answers: Answers) -> list[Route]:
    """The reading list, and its marks."""

    async def changes(request: Request) -> Response:
        if request.method != "POST":
            return await _shown(answers, request, Form("marks", _MARKS))
        return await _mark(answers, request)

    return [Route(_PATH, changes, methods=["GET", "POST"])]


async def _shown(answers: Answers, request: Request, form: Form) -> Response:
    asked = _asked(request)
    frame = await frame_of(answers, request)
    found = await answers.read(
        partial(
            reading_list,
            before=asked.before,
            tag=asked.tag or None,
            url=canonical(asked.url) if asked.url else None,
            unread=asked.unread,
        )
    )
    snapshot = await answers.snapshot()
    return page(
        "changes.html",
        form.status,
        frame=frame,
        flash=told(request),
        asked=asked,
        days=list(_by_day(found.results)),
        newest=found.results[0].change.seq if found.results else 0,
        older=found.older,
        has_unread=any(not entry.change.read for entry in found.results),
        is_collection=isinstance(snapshot.settings, CollectSettings),
        tags=list(snapshot.table.tags)[:200],
        feed="/feed.atom" + (f"?{urlencode({'tag': asked.tag})}" if asked.tag else ""),
        form=form,
    )


async def _mark(answers: Answers, request: Request) -> Response:
    """Mark one change as read or unread, or all up to one as read."""
    form = Form("marks", _MARKS)
    asked = _asked(request)
    if form.take(await read_form(request)):
        given = {name: number for name, number in form.values.items() if number is not None}
        latest = await answers.read(lambda store: store.latest_change())
        if len(given) != 1:
            form.refuse("", "say which change: one of read, unread and up_to")
        elif (number := next(iter(given.values()))) > latest:
            name = next(iter(given))
            form.refuse(name, f"there is no change {number:,d}: the latest is {latest:,d}", 404)
        else:
            effect = await form.ask(answers, _wish(*next(iter(given.items()))))
            if effect is not None:
                word = "unread" if "unread" in given else "read"
                return done(_PATH, came_of(word, effect), **asked.query)
    return await _shown(answers, request, form)


def _wish(what: str, number: int) -> MarkRead:
    if what == "up_to":
        return MarkRead(up_to=number)
    return MarkRead((number,), read=what == "read")


def _asked(request: Request) -> _Asked:
    before = whole_number_asked(request, "before", 0, least=0, most=_LARGEST)
    unread = request.query_params.get("unread", "")
    if unread not in ("", "1", "true"):
        raise InputError(f"unread={unread[:20]!r} must be 1 or true, or left out")
    return _Asked(
        text_asked(request, "tag").strip(),
        text_asked(request, "url").strip(),
        bool(unread),
        before or None,
    )


def _by_day(entries: Sequence[ReadingEntry]) -> Iterator[tuple[str, list[ReadingEntry]]]:
    """The changes of each day (UTC), which is called as people do."""
    today = datetime.now(UTC).date()
    for day, own in groupby(entries, key=lambda entry: _date(entry.change.seen_at)):
        yield day_of(day, today), list(own)


def _date(seconds: float) -> date:
    return datetime.fromtimestamp(seconds, UTC).date()


def day_of(day: date, today: date) -> str:
    """A day as people call it.

    >>> day_of(date(2026, 5, 2), date(2026, 5, 3)), day_of(date(2025, 5, 2), date(2026, 5, 3))
    ('Yesterday', 'Friday, 2 May 2025')
    """
    if day == today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    called = f"{day:%A}, {day.day} {day:%B}"
    return called if day.year == today.year else f"{called} {day.year}"


def _read_number(text: str) -> int | None:
    """The number of a change; None: none is told."""
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:20]) < _LARGEST):
        raise InputError(f"{text[:20]!r} is no number of a change: load the page anew")
    return int(text)


_MARKS = {name: Field(_read_number, longest=40) for name in ("read", "unread", "up_to")}
