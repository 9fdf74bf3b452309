"""What events must be to be taken in: else they would spoil the arithmetic of time and budget, or
what a policy learns.
"""

import math
from collections.abc import Sequence
from typing import get_args

import numpy as np

from pollwise.checks import require, require_object, require_shares, require_weight, require_whole
from pollwise.errors import InputError
from pollwise.events import (
    Added,
    Aimed,
    Budgeted,
    Event,
    HostFreed,
    Linked,
    Polled,
    Rescored,
    SavedUp,
    Signalled,
    Staffed,
    Together,
    Updated,
)
from pollwise.page_columns import PageColumns
from pollwise.policies.base import Policy
from pollwise.scheduler.abilities import is_collecting, is_sharing
from pollwise.scheduler.cell_rate import check_budget
from pollwise.times import LATEST, require_seconds
from pollwise.types import Budget, Observation, Page

__all__ = ["check_event", "check_fit", "check_pages"]

_EVENTS = frozenset(get_args(Event))


def check_pages(event: str, pages: Sequence[Page]) -> None:
    """`InputError` for pages of which one would spoil the arithmetic: see `_check_page`.

    Those that are there by columns already are looked at by columns.
    """
    if isinstance(pages, PageColumns):
        costs, weights, seen_at = pages.costs, pages.weights, pages.seen_at
        sound = (pages.ids >= 0) & (costs > 0) & (costs < math.inf)
        sound &= (weights >= 0) & (weights < math.inf)
        sound &= np.isnan(seen_at) | (np.abs(seen_at) <= LATEST)
        pages = pages.only(~sound)
    for page in pages:
        _check_page(event, page)


def _check_page(event: str, page: Page) -> None:
    """`InputError` for a page that would spoil the arithmetic of time and budget.

    So would its id, or a weight by which no page can be compared with another.
    """
    if event == "Added":
        require_whole(event, "page id", page.id, least=0)
    fits = 0 < page.cost < math.inf
    require(f"{event}: page {page.id}: cost", page.cost, fits, "finite and above 0")
    require_weight(f"{event}: page {page.id}: weight", page.weight)
    if page.seen_at is not None:
        require_seconds(f"{event}: page {page.id}: seen_at", page.seen_at)


def check_event(event: Event) -> None:
    """`InputError` for what would spoil the arithmetic of time and budget, or what is learned."""
    if type(event) not in _EVENTS:
        require_object("Scheduler.handle: event", event, Event, "an event, such as Tick")
    require_seconds(f"{type(event).__name__}: now", event.now)
    if isinstance(event, Polled):
        for one in event.observations:
            _check_observation(one)
    if isinstance(event, Rescored):
        for page_id, relevance in zip(event.page_ids, event.relevances, strict=False):
            _check_relevance("Rescored", page_id, relevance)
    if isinstance(event, Added | Updated):
        check_pages(type(event).__name__, event.pages)
    if isinstance(event, Budgeted):
        check_budget(Budget(event.rate, event.burst))
        require_shares("Budgeted: shares", dict(event.shares))
    if isinstance(event, Together):
        for each in event.events:
            check_event(each)
    if isinstance(event, SavedUp):
        fits = 0 <= event.seconds < math.inf
        require("SavedUp: seconds", event.seconds, fits, "finite and at least 0")
    if isinstance(event, Signalled):
        require_seconds("Signalled: at", event.at)
    if isinstance(event, HostFreed):
        fits = 0 <= event.seconds < math.inf
        require("HostFreed: seconds", event.seconds, fits, "finite and at least 0")
    if isinstance(event, Staffed):
        require("Staffed: polls", event.polls, event.polls >= 0, "at least 0")


def _check_observation(one: Observation) -> None:
    at, changed_at, cost = one.polled_at, one.last_changed_at, one.cost
    is_usual = type(at) is float and -LATEST <= at <= LATEST and 0 <= cost < math.inf
    if is_usual and changed_at is None and one.relevance is None:
        return  # nearly always: no words are needed for what is wrong
    where = f"Polled: page {one.page_id}"
    require_seconds(f"{where}: polled_at", at)
    if changed_at is not None:
        require_seconds(f"{where}: last_changed_at", changed_at)
    require(f"{where}: cost", cost, 0 <= cost < math.inf, "finite and at least 0")
    if one.relevance is not None:
        _check_relevance("Polled", one.page_id, one.relevance)


def check_fit(event: Event, policy: Policy) -> None:
    """`InputError` for an event that a policy cannot take."""
    if isinstance(event, Linked | Rescored | Aimed) and not is_collecting(policy):
        raise InputError(
            f"{type(event).__name__}: {type(policy).__name__} discovers no pages;"
            " give the scheduler a policy that collects, such as Robot"
        )
    if isinstance(event, Budgeted) and event.shares and not is_sharing(policy):
        raise InputError(
            f"Budgeted: {type(policy).__name__} gives no shares of the budget; leave them"
            " out, or give the scheduler a policy that does, such as BayesianIndex"
        )


def _check_relevance(event: str, page_id: int, relevance: float) -> None:
    require(f"{event}: page {page_id}: relevance", relevance, 0 <= relevance <= 1, "from 0 to 1")
