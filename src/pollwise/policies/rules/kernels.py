"""The interval rules of crawlers and feed readers: compiled kernels.

Such a rule sets the interval to the next poll of a page by what the latest one found. It knows no
budget: how many polls it wants depends on the pages. An operator with too few or too many polls
multiplies all times of the rule (the first interval, the least and the greatest) by one *scale*. So
the queue is one of tags (`pollwise.policies.deadline.kernels`), with the rule's time as its clock:
polls come in the order in which the rule wants them, at whatever scale uses up the polls there are.
With a fixed scale the queue is paced, and the clock is the time divided by it.

The rules are of three kinds:

ADAPT    after a poll that found a change T ← (1 - decrease) T + added, else T ← (1 + increase) T
COUNT    T = window / (factor × items of the window)
TIERS    T by the number of items a day: see `_by_tier`

Items are counted by parts of the window: the present part and those before it, `PARTS` in all,
which on average make up the window. Where the number of items is not told, a change is one.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import LEASED, tells
from pollwise.policies.compiled import Kernels, register
from pollwise.policies.deadline.kernels import (
    DeadlineState,
    observe_due,
    select_adaptive,
    wake_adaptive,
)
from pollwise.types import Outcome
from pollwise.units import DAY

__all__ = [
    "ADAPT",
    "COUNT",
    "PARTS",
    "RULE_PAGE",
    "RULE_SHARED",
    "TIERS",
    "IntervalRuleState",
]

ADAPT, COUNT, TIERS = range(3)
PARTS = 30

RULE_PAGE = np.dtype(
    [
        ("interval", "f8"),  # of the rule, in seconds of its clock
        ("seen_at", "f8"),  # time of the latest copy; NaN: there is none
        ("changed_at", "f8"),  # time of the latest change seen, or of the first copy
        ("seen_clock", "f8"),  # the same two by the clock of the rule
        ("changed_clock", "f8"),
        ("part", "i8"),  # the number of the part of the window in which the latest poll was
        ("items", "i4", (PARTS,)),  # ring: by the number of the part
    ]
)
"""What is kept of each page, besides its deadline."""

RULE_SHARED = np.dtype(
    [
        ("kind", "i8"),
        ("first_interval", "f8"),  # of new pages, in seconds of time
        ("scale", "f8"),  # seconds of time to one of the clock, where that is fixed
        ("minimum", "f8"),
        ("maximum", "f8"),
        ("increase", "f8"),
        ("decrease", "f8"),
        ("added", "f8"),  # seconds
        ("synchronise", "f8"),  # share of the time since the change by which polls come earlier
        ("window", "f8"),  # seconds
        ("factor", "f8"),
        ("subscribers", "f8"),
    ]
)
"""What all pages share: the rule."""

_MONTH = 30 * DAY
_CHANGED = int(Outcome.CHANGED)


class IntervalRuleState(NamedTuple):
    """The state of an interval rule. Ids of pages are indices of `pages`, `deadlines.pages`."""

    deadlines: DeadlineState
    pages: NDArray[Any]  # of RULE_PAGE
    shared: NDArray[Any]  # of RULE_SHARED, one element


@kernel
def _adapted(own: Any, rule: Any, changed: bool) -> float:
    """Adapt the interval after a poll; gives the wait, by the clock.

    With `synchronise` the next poll comes earlier by that share of the time since the change, and
    the interval is no shorter than this time.
    """
    if changed:
        own.interval = own.interval * (1.0 - rule.decrease) + rule.added
    else:
        own.interval = own.interval * (1.0 + rule.increase)
    since = own.seen_clock - own.changed_clock
    if rule.synchronise > 0.0:
        own.interval = max(own.interval, since)
    own.interval = min(max(own.interval, rule.minimum), rule.maximum)
    return own.interval - rule.synchronise * min(since, own.interval)


@kernel
def _by_count(rule: Any, items: int) -> float:
    """The window divided by the items in it, within bounds."""
    if items == 0:
        return rule.maximum
    return max(min(rule.window / (items * rule.factor), rule.maximum), rule.minimum)


@kernel
def _by_tier(rule: Any, items: int, since: float) -> float:
    """NewsBlur's minutes between polls; `since`: seconds since the latest item."""
    readers = rule.subscribers
    daily = items * DAY / rule.window
    if daily >= 1.0:
        minutes = 6.0 if readers > 10.0 else 15.0 if readers > 1.0 else 60.0
    elif daily > 0.0:
        minutes = (1.0 - daily) * (60.0 if readers > 1.0 else 720.0)
    else:
        minutes = 360.0 if readers > 1.0 else 720.0 if readers == 1.0 else 1440.0
        minutes *= max(1.0, since / _MONTH)
    return 60.0 * min(minutes, 720.0 if readers >= 1.0 else 2880.0)


@kernel
def _count(own: Any, rule: Any, polled_at: float, items: int) -> int:
    """Add new items; gives how many there were in the window."""
    part = math.floor(polled_at / (rule.window / (PARTS - 0.5)))
    for passed in range(max(own.part + 1, part - PARTS + 1), part + 1):
        own.items[passed % PARTS] = 0
    own.part = max(own.part, part)
    own.items[part % PARTS] += items
    return int(own.items.sum())


@kernel
def _wait(own: Any, rule: Any, polled_at: float, changed: bool, items: int) -> float:
    """Until the next poll, by the clock of the rule."""
    if rule.kind == ADAPT:
        return _adapted(own, rule, changed)
    count = _count(own, rule, polled_at, items)
    if rule.kind == COUNT:
        return _by_count(rule, count)
    return _by_tier(rule, count, polled_at - own.changed_at)


@kernel
def _learn(state: IntervalRuleState, observation: Any) -> None:
    """Take in what a poll found, and set the interval of the page."""
    page, polled_at = observation.page, observation.polled_at
    changed, last_changed_at = observation.outcome == _CHANGED, observation.last_changed_at
    items = observation.n_items if observation.n_items >= 0 else int(changed)
    own, rule = state.pages[page], state.shared[0]
    turn, queue = state.deadlines.pages[page], state.deadlines.shared[0]
    if queue.paced:
        clock = polled_at / rule.scale
    else:
        clock = turn.leased_at if turn.where == LEASED else queue.clock
    before, before_clock = own.seen_at, own.seen_clock
    own.seen_at, own.seen_clock = polled_at, clock
    if math.isnan(before):
        own.changed_at, own.changed_clock = polled_at, clock
        return
    if changed:
        own.changed_at, own.changed_clock = polled_at, clock
        if before < last_changed_at < polled_at:
            own.changed_at = last_changed_at
            passed = (polled_at - last_changed_at) / (polled_at - before)
            own.changed_clock -= passed * (clock - before_clock)
    turn.interval = _wait(own, rule, polled_at, changed, items) * rule.scale


@kernel
def _observe(state: IntervalRuleState, observation: Any) -> None:
    """Take in one observation: it sets the interval and the deadline, and ends the lease."""
    if tells(observation, state.pages[observation.page].seen_at):
        _learn(state, observation)
    observe_due(state.deadlines, observation)


register(IntervalRuleState, Kernels(select_adaptive, _observe, wake_adaptive))
