"""One page: why it is polled now or not, what became of it over time, and what is wanted of it."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pollwise.console.explanation import (
    collected_reason_told,
    hours_told,
    match_told,
    reason_told,
    sources_told,
)
from pollwise.dashboard.answers import Answers
from pollwise.dashboard.api.parameters import whole_number_asked
from pollwise.dashboard.charts.time_line import time_line
from pollwise.dashboard.deeds import came_of
from pollwise.dashboard.forms import Field, Form, Sent, as_text, done, read_form, told
from pollwise.dashboard.frame import frame_of
from pollwise.dashboard.pages import page
from pollwise.dashboard.path_numbers import NUMBER
from pollwise.dashboard.views.page_settings import change_of, settings_form
from pollwise.dashboard.views.pages import record_of
from pollwise.errors import InputError
from pollwise.insight.changes import History, TooLargeError, VersionDiff, read_history
from pollwise.insight.collection import CollectedExplanation, explain_collected
from pollwise.insight.explanation import Explanation, explain
from pollwise.insight.noise import MaskedPart
from pollwise.insight.snapshot import Snapshot
from pollwise.insight.timeline import TimeLine, timeline_of
from pollwise.live.requests import (
    ChangePages,
    MaskPart,
    RemovePages,
    SignalPages,
    UnmaskPart,
)
from pollwise.live.requests import (
    Request as LiveRequest,
)
from pollwise.settings import CollectSettings
from pollwise.store.base import StoreReader
from pollwise.store.records import NewPage, PageRecord
from pollwise.units import DAY
from pollwise.web.sitemaps import MAX_ENTRIES
from pollwise.web.urls import scope_of

__all__ = ["one_page_routes"]

_PATH = f"/pages/{{page_id:{NUMBER}}}"
_ENTRIES = 20
_MOST = 10**9
_LONGEST_PART = 100_000


@dataclass(frozen=True, slots=True)
class _Read:
    """What the store tells of a page; `newest` is the number of its newest version (0: none)."""

    record: PageRecord
    explanation: Explanation | CollectedExplanation | None
    line: TimeLine
    history: History
    newest: int


def one_page_routes(answers: Answers) -> list[Route]:
    """The view of a page, and its forms."""

    async def shown(
        request: Request, *, form: Form | None = None, parts: Form | None = None
    ) -> Response:
        frame = await frame_of(answers, request)
        snapshot = await answers.snapshot()
        page_id = request.path_params["page_id"]
        record = _record_of(snapshot, page_id)
        seen = await answers.read(lambda store: _read(store, snapshot, record.page.url, request))
        diff, too_large = await _compared(answers, request, record.page.url, seen.newest)
        status = max(200 if one is None else one.status for one in (form, parts))
        explanation, now = seen.explanation, time.time()
        return page(
            "page.html",
            status,
            frame=frame,
            flash=told(request),
            seen=seen,
            page=seen.record.page,
            line=seen.line,
            chart=time_line(seen.line, now),
            now=now,
            history=seen.history,
            diff=diff,
            too_large=too_large,
            versions=[one.version for one in seen.line.versions],
            why="" if explanation is None else _why(explanation),
            match=match_told(explanation) if isinstance(explanation, CollectedExplanation) else "",
            hours=hours_told(explanation) if isinstance(explanation, Explanation) else "",
            learned=_learned(explanation) if isinstance(explanation, Explanation) else "",
            masked=_masked(explanation),
            most_entries=_most_entries(seen.record),
            form=form or settings_form(seen.record.page),
            parts=parts or Form("parts", {}),
        )

    async def view(request: Request) -> Response:
        return await shown(request)

    async def settings(request: Request) -> Response:
        record = _record_of(await answers.snapshot(), request.path_params["page_id"])
        own = (await _fresh(answers, record)).page
        form = settings_form(own)
        if form.take(await read_form(request)):
            change = change_of(form, own)
            if change is not None:
                await form.ask(answers, change)
            if not form.errors:
                return done(_path(record), {"settings": len(form.changed)})
        return await shown(request, form=form)

    def deed(
        make: Callable[[PageRecord, Sent], LiveRequest], word: str, **fields: Field
    ) -> Callable[[Request], Awaitable[Response]]:
        """Answers a form that has one thing done to the page, which is told by this `word`."""

        async def carry_out(request: Request) -> Response:
            record = _record_of(await answers.snapshot(), request.path_params["page_id"])
            form, sent = Form("parts", fields), await read_form(request)
            if form.take(sent):
                effect = await form.ask(answers, make(record, sent))
                if effect is not None:
                    path = "/pages" if word == "removed" else _path(record)
                    return done(path, came_of(word, effect))
            return await shown(request, parts=form)

        return carry_out

    async def confirm(request: Request) -> Response:
        record = _record_of(await answers.snapshot(), request.path_params["page_id"])
        return page("page_remove.html", frame=await frame_of(answers, request), record=record)

    async def back(request: Request) -> Response:
        """The address of a form that told an error, loaded anew."""
        return RedirectResponse(f"/pages/{request.path_params['page_id']}", 303)

    deeds = {
        "pause": deed(lambda record, _: _paused(record, True), "paused"),
        "resume": deed(lambda record, _: _paused(record, False), "resumed"),
        "remove": deed(lambda record, _: RemovePages((record.page.url,)), "removed"),
        "signal": deed(lambda record, _: SignalPages((record.page.url,)), "signalled"),
        "mask": deed(_mask, "masked", text=Field(as_text, _LONGEST_PART, any_character=True)),
        "unmask": deed(
            _unmask,
            "unmasked",
            number=Field(_number, 9),
            text=Field(as_text, _LONGEST_PART, any_character=True),
        ),
    }
    return [
        Route(_PATH, view),
        Route(f"{_PATH}/settings", settings, methods=["POST"]),
        Route(f"{_PATH}/remove", confirm, methods=["GET"]),
        *(Route(f"{_PATH}/{name}", back) for name in ("settings", *deeds) if name != "remove"),
        *(Route(f"{_PATH}/{name}", each, methods=["POST"]) for name, each in deeds.items()),
    ]


def _path(record: PageRecord) -> str:
    return f"/pages/{record.page.id}"


def _record_of(snapshot: Snapshot, page_id: int) -> PageRecord:
    """The page with this id; HTTP 404 if it is not watched."""
    record = record_of(snapshot, page_id)
    if record is None:
        raise HTTPException(404)
    return record


async def _fresh(answers: Answers, record: PageRecord) -> PageRecord:
    """The record as the store has it now; HTTP 404 if the page was removed meanwhile."""
    found = await answers.read(lambda store: store.find_page(record.page.url))
    if found is None or found.page.id != record.page.id:
        raise HTTPException(404)
    return found


def _read(store: StoreReader, snapshot: Snapshot, url: str, request: Request) -> _Read:
    record = store.find_page(url)
    if record is None:
        raise HTTPException(404)
    line = timeline_of(store, url)
    explanation: Explanation | CollectedExplanation | None = None
    if snapshot.known is not None:
        explanation = explain(snapshot.known, store, url)
    elif isinstance(snapshot.settings, CollectSettings):
        explanation = explain_collected(snapshot.database, url)
    newest = max((one.version for one in line.versions), default=0)
    return _Read(
        record=record,
        explanation=explanation,
        line=line,
        history=read_history(snapshot.database, url, _ENTRIES),
        newest=newest,
    )


async def _compared(
    answers: Answers, request: Request, url: str, newest: int
) -> tuple[VersionDiff | None, str]:
    """What differs between the versions that are asked for, or why that is not shown."""
    if newest < 2:
        return None, ""
    after = whole_number_asked(request, "after", newest, least=2, most=_MOST)
    before = whole_number_asked(request, "before", after - 1, least=1, most=_MOST)
    try:
        return await answers.compare(url, before, after), ""
    except TooLargeError as error:
        return None, str(error)


def _why(explanation: Explanation | CollectedExplanation) -> str:
    """Why it is polled next or not, as a sentence."""
    now = time.time()
    if isinstance(explanation, CollectedExplanation):
        reason = collected_reason_told(explanation)
    else:
        reason = reason_told(explanation, lambda at: _clock(at, now), resume="resume it to go on")
    return f"{reason[0].upper()}{reason[1:]}."


def _learned(explanation: Explanation) -> str:
    return sources_told(explanation.learned_from)


def _clock(at: float | None, now: float) -> str:
    """A time within a sentence: the time of the day, with the day unless it is near."""
    if at is None or not abs(at) < 1e11:
        return "then"
    there = datetime.fromtimestamp(at, UTC)
    is_near = abs(at - now) < DAY / 2
    return f"{there:%H:%M} UTC" if is_near else f"{there.day} {there:%b}, {there:%H:%M} UTC"


def _masked(explanation: Explanation | CollectedExplanation | None) -> tuple[MaskedPart, ...]:
    return explanation.masked if isinstance(explanation, Explanation) else ()


def _most_entries(record: PageRecord) -> int | None:
    """The entries of a sitemap that are read, if it has so many; None: it has not."""
    is_full = record.source == "sitemap" and len(record.memory.items) >= MAX_ENTRIES
    return MAX_ENTRIES if is_full else None


def _paused(record: PageRecord, paused: bool) -> ChangePages:
    url = record.page.url
    return ChangePages((NewPage(url, scope_of(url), paused=paused),))


def _mask(record: PageRecord, sent: Sent) -> MaskPart:
    return MaskPart(record.page.url, sent.first("text"))


def _unmask(record: PageRecord, sent: Sent) -> UnmaskPart:
    return UnmaskPart(record.page.url, int(sent.first("number")), sent.first("text"))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise InputError(f"number {text!r}: expected a whole number: load the page anew")
    return int(text)
