"""Operations on the whole: how it stands, its hosts, what budgets bring, and the settings."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.api.fields import MOST_NUMBER, Told
from pollwise.dashboard.api.operations import Asked, Nothing, Operation
from pollwise.dashboard.api.refusals import About, RefusedError, conflict, not_found
from pollwise.dashboard.foreseen import Ahead
from pollwise.insight.collection import CollectionStatus
from pollwise.insight.hosts import HostColumn, HostList
from pollwise.insight.knowledge import Knowledge
from pollwise.insight.plan import Plan, PlannedBudget, plan_of, planned
from pollwise.insight.present_settings import PresentSettings, present_settings
from pollwise.insight.snapshot import Snapshot
from pollwise.insight.status import Status
from pollwise.live.requests import ChangeSettings
from pollwise.quiet_hours import QuietHours
from pollwise.scheduler.budgets import parse_budget, parse_shares
from pollwise.settings import CollectSettings, latest_settings
from pollwise.store.retention import parse_retention
from pollwise.units import DAY

__all__ = ["state_operations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostsAsked:
    """Which hosts to list, and how."""

    filter: Annotated[str | None, Told("only with this in name or latest error", most=1000)] = None
    sort: Annotated[HostColumn, Told("by what they are sorted")] = HostColumn.host
    descending: Annotated[bool | None, Told("the largest first; else as is usual")] = None
    offset: Annotated[int, Told("rows to leave out", least=0, most=MOST_NUMBER)] = 0
    limit: Annotated[int, Told("rows at most", least=1, most=1000)] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAsked:
    """What a plan has besides."""

    curve: Annotated[bool, Told("more budgets, for a figure")] = False
    freshness: Annotated[
        float | None, Told("a mean freshness that a budget is to reach", above=0, most=0.9999)
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAsked:
    """What to plan with."""

    budget: Annotated[str, Told("a budget such as 500/hour", most=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsToChange:
    """Settings that hold from now on; what is not told stays."""

    budget: Annotated[str | None, Told("such as 500/hour or 4/day/page", most=100)] = None
    shares: Annotated[tuple[str, ...] | None, Told("such as shop=30%", most=32, longest=200)] = None
    quiet: Annotated[
        tuple[str, ...] | None, Told("hours such as 22:00-06:30", most=32, longest=100)
    ] = None
    keep: Annotated[str | None, Told("versions: all, or such as 90d or 20", most=100)] = None


def state_operations(answers: Answers, ahead: Ahead) -> list[Operation]:
    """The status, the hosts, the plan, the settings and the collection."""
    state = _State(answers, ahead)
    early = (409,)
    return [
        Operation("GET", "/api/status", "How the database stands.", Status, state.status),
        Operation("GET", "/api/hosts", "List hosts.", HostList, state.hosts, HostsAsked),
        Operation(
            *("GET", "/api/plan", "What other budgets would bring.", Plan, state.plan, PlanAsked),
            refusals=early,
        ),
        Operation(
            *("GET", "/api/plan/budget", "What one budget would bring.", PlannedBudget),
            *(state.budget, BudgetAsked),
            refusals=early,
        ),
        Operation(
            *("GET", "/api/collection", "How a collection stands.", CollectionStatus),
            state.collection,
            refusals=(404,),
        ),
        Operation("GET", "/api/settings", "The settings now.", PresentSettings, state.settings),
        Operation(
            *("PATCH", "/api/settings", "Change settings.", PresentSettings, state.change),
            *(Nothing, SettingsToChange),
            refusals=early,
        ),
    ]


class _State:
    """Carries out these operations."""

    def __init__(self, answers: Answers, ahead: Ahead) -> None:
        self._answers = answers
        self._ahead = ahead

    async def status(self, asked: Asked) -> Status:
        status, known = await self._answers.status(), await self._ahead.latest()
        return replace(status, forecast=None if known is None else known.outlook)

    async def hosts(self, asked: Asked) -> HostList:
        query: HostsAsked = asked.query
        return await self._answers.think(
            lambda snapshot: snapshot.hosts.rows(
                text=query.filter,
                order=query.sort,
                descending=query.descending,
                offset=query.offset,
                limit=query.limit,
            )
        )

    async def plan(self, asked: Asked) -> Plan:
        query: PlanAsked = asked.query

        def think(snapshot: Snapshot) -> Plan:
            if snapshot.known is None:
                raise _unknown(snapshot)
            if query.curve or query.freshness is not None:
                _require_evidence(snapshot.known)
            with About("freshness"):
                return plan_of(snapshot.known, query.freshness, curve=query.curve)

        return await self._answers.think(think)

    async def budget(self, asked: Asked) -> PlannedBudget:
        with About("budget"):
            told = parse_budget(asked.query.budget)

        def think(snapshot: Snapshot) -> PlannedBudget:
            if snapshot.known is None:
                raise _unknown(snapshot)
            _require_evidence(snapshot.known)
            with About("budget"):
                return planned(snapshot.known, told.total(len(snapshot.records)) * DAY)

        return await self._answers.think(think)

    async def collection(self, asked: Asked) -> CollectionStatus:
        snapshot = await self._answers.snapshot()
        if snapshot.collection is None:
            raise not_found("the pages are watched; they are no collection")
        return snapshot.collection

    async def settings(self, asked: Asked) -> PresentSettings:
        return present_settings(self._answers.db, await self._answers.read(latest_settings))

    async def change(self, asked: Asked) -> PresentSettings:
        told = {name: value for name, value in asdict(asked.body).items() if value is not None}
        if not told:
            raise RefusedError("nothing to change: tell a setting, such as budget")
        for name, value in told.items():
            with About(name):
                _CHECKS[name](value)
        snapshot = await self._answers.snapshot()
        if isinstance(snapshot.settings, CollectSettings):
            raise conflict("the settings of a collection are told when it is begun or gone on with")
        await self._answers.ask(ChangeSettings(**told))
        return await self.settings(asked)


_CHECKS: Mapping[str, Callable[[Any], object]] = {
    "budget": parse_budget,
    "shares": parse_shares,
    "quiet": QuietHours,
    "keep": parse_retention,
}
"""What reads each setting, or raises `InputError`."""


def _require_evidence(known: Knowledge) -> None:
    if not known.polled_pages:
        raise conflict("all pages are paused: resume some of them")
    if not known.evidence.suffices:
        raise conflict("too little is known yet to plan: watch on")


def _unknown(snapshot: Snapshot) -> RefusedError:
    if isinstance(snapshot.settings, CollectSettings):
        return conflict("of a collection nothing is forecast")
    return conflict("nothing is known yet: add pages, and let them be polled")
