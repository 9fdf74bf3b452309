"""The first page: is it well, what changed, and what would a larger budget bring?"""

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.api.parameters import text_asked, whole_number_asked
from pollwise.dashboard.charts.budget_curve import found_curve, freshness_curve
from pollwise.dashboard.charts.daily_bars import Day, daily_bars
from pollwise.dashboard.foreseen import Ahead, Foreseen, latest_days
from pollwise.dashboard.forms import Field, Form, as_text, done, read_form, told
from pollwise.dashboard.frame import frame_of
from pollwise.dashboard.pages import page
from pollwise.dashboard.wording import budget_text
from pollwise.errors import InputError
from pollwise.insight.changes import ListedChange, listed_change
from pollwise.insight.plan import Plan, PlannedBudget, between
from pollwise.insight.snapshot import Snapshot
from pollwise.insight.status import Status
from pollwise.live.requests import ChangeSettings
from pollwise.live.run_figures import RunFigures
from pollwise.scheduler.budgets import parse_budget
from pollwise.store.base import StoreReader
from pollwise.units import DAY

__all__ = ["overview_routes"]

_CHANGES = 8
_STEPS = 24
"""Of the slider, from the present budget to a quarter or to four times of it."""
_HARDLY = 60.0
"""Seconds."""
_MUCH_OLDER = 10.0
"""Seconds by which figures must be older than the others for that to be told."""
_FORM = {"budget": Field(as_text, 40)}


@dataclass(frozen=True, slots=True)
class _Read:
    """What the store tells for the overview; `ids` are those of pages, by URL."""

    status: Status
    changes: tuple[ListedChange, ...]
    days: tuple[Day, ...]
    ids: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A budget to look at: the text that asks for it, and the `step` of the slider near it."""

    text: str
    step: int
    planned: PlannedBudget


def overview_routes(answers: Answers, ahead: Ahead) -> list[Route]:
    """The overview, and the part of it that tells what a budget would bring."""

    async def shown(request: Request, form: Form | None = None) -> Response:
        frame = await frame_of(answers, request)
        snapshot, status, found = await answers.overview()

        def read(store: StoreReader) -> _Read:
            changes = _latest_changes(store)
            urls = {*(one.url for one in changes), *(one.url for one in status.failures)}
            records = {url: store.find_page(url) for url in urls}
            return _Read(
                status,
                changes,
                latest_days(store, time.time()),
                {url: one.page.id for url, one in records.items() if one is not None},
            )

        seen, known = await asyncio.gather(answers.read(read), ahead.latest())
        if known is not None and known.plan is not None and known.plan.budget != status.budget:
            ahead.outdate()
            known = None
        outlook = None if known is None else known.outlook
        expected = None if outlook is None else outlook.day.found_per_day
        return page(
            "overview.html",
            200 if form is None else form.status,
            frame=frame,
            flash=told(request),
            seen=seen,
            figures=answers.figures,
            used=_used(answers.figures),
            found=found,
            is_foretold=status.evidence is not None and status.evidence.suffices,
            known=snapshot.known is not None,
            ahead=known,
            older=_older(known, snapshot),
            outlook=outlook,
            bars=daily_bars(seen.days, expected) if len(seen.days) > 1 else None,
            form=form or Form("budget", _FORM),
            **_planning(request, None if known is None else known.plan),
        )

    async def overview(request: Request) -> Response:
        return await shown(request)

    async def forecast(request: Request) -> Response:
        known = await ahead.latest()
        plan = None if known is None else known.plan
        return page("forecast.html", form=Form("budget", _FORM), **_planning(request, plan))

    async def change_budget(request: Request) -> Response:
        form = Form("budget", _FORM)
        if form.take(await read_form(request)):
            try:
                parse_budget(form.values["budget"])
            except InputError as error:
                form.refuse("budget", str(error))
            else:
                asked = ChangeSettings(budget=form.values["budget"].strip())
                if await form.ask(answers, asked, "budget") is not None:
                    return done("/", {"settings": 1})
        return await shown(request, form)

    return [
        Route("/", overview),
        Route("/forecast", forecast),
        Route("/budget", change_budget, methods=["POST"]),
    ]


def _used(figures: RunFigures | None) -> float | None:
    """The share of its budget that a run has used; None: it has hardly begun, or there is none."""
    if figures is None or figures.at - figures.started_at < _HARDLY:
        return None
    return min(figures.spent / figures.allowed, 1.0) if figures.allowed > 0 else None


def _latest_changes(store: StoreReader) -> tuple[ListedChange, ...]:
    """The latest changes, those found last first.

    Numbers follow the order in which polls were noted, which is nearly that of their times.
    """
    found = list(store.changes(after=max(store.latest_change() - _CHANGES, 0)))
    found.sort(key=lambda change: (change.seen_at, change.seq), reverse=True)
    return tuple(listed_change(store, change) for change in found)


def _older(known: Foreseen | None, snapshot: Snapshot) -> float | None:
    """When what is foreseen was read, if that is well before all else; None: it is not."""
    if known is None or snapshot.read_at - known.as_of <= _MUCH_OLDER:
        return None
    return known.as_of


def _planning(request: Request, plan: Plan | None) -> dict[str, Any]:
    """What the template needs to tell of budgets; `InputError` for one that cannot be told."""
    if plan is None or plan.curve is None or plan.results is None:
        return {"plan": None}
    [present] = [one for one in plan.results if one.factor == 1.0]
    chosen = _chosen(request, plan, present)
    return {
        "plan": plan,
        "present": present,
        "chosen": chosen,
        "steps": _STEPS,
        "curves": [
            draw(plan, None if chosen is None else chosen.planned)
            for draw in (found_curve, freshness_curve)
        ],
    }


def _chosen(request: Request, plan: Plan, present: PlannedBudget) -> _Chosen | None:
    """The budget that is asked for, as a text or as a step of the slider; None: none is."""
    assert plan.curve is not None
    text = text_asked(request, "budget").strip()
    if text:
        per_day = parse_budget(text).total(plan.pages) * DAY
    else:
        at = whole_number_asked(request, "step", _STEPS, least=0, most=2 * _STEPS)
        if at == _STEPS:
            return None
        least, most = plan.curve[0].budget_per_day, plan.curve[-1].budget_per_day
        wanted = present.budget_per_day * 4.0 ** (at / _STEPS - 1.0)
        text = budget_text(wanted, plan.budget, plan.pages)
        per_day = min(max(parse_budget(text).total(plan.pages) * DAY, least), most)
    return _Chosen(text, _step(per_day / present.budget_per_day), between(plan.curve, per_day))


def _step(factor: float) -> int:
    return round(_STEPS * (1.0 + math.log(factor, 4.0)))
