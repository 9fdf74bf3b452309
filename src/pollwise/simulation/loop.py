"""The loop of the simulator: a policy polls a world under a budget.

Policies with a compiled state run compiled; any other policy runs through the `Scheduler`, event
by event. Both give the same polls.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require_object, require_whole
from pollwise.errors import InputError
from pollwise.events import Added, Poll, Polled, Removed, Tick, WakeAt
from pollwise.metrics import Polls
from pollwise.policies.arrays import blank_observation, write_observation
from pollwise.policies.base import Policy
from pollwise.policies.borrowed import borrowed
from pollwise.policies.compiled import (
    compiled_by_state,
    compiled_state,
    observe,
    select,
    wake_at,
)
from pollwise.scheduler.budgets import parse_budget
from pollwise.scheduler.scheduler import Scheduler
from pollwise.simulation.worlds.world import World
from pollwise.types import Budget, Outcome, Page

__all__ = ["BudgetPerPage", "SimulatedPolls", "simulate"]

Pauses = Mapping[float, Callable[[float], None]]
"""What to call at which time."""

_CHANGED, _UNCHANGED = int(Outcome.CHANGED), int(Outcome.UNCHANGED)


@dataclass(frozen=True, slots=True)
class BudgetPerPage:
    """A budget that grows with the pages: `rate` cost units per second and living page."""

    rate: float


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedPolls(Polls):
    """The polls of a simulation; `outcomes` has the `Outcome` of each, as the policy was told it.

    A first copy counts as CHANGED.
    """

    outcomes: NDArray[np.int64]


def simulate(
    policy: Policy,
    world: World,
    *,
    polls: int | None = None,
    seed: int,
    budget: Budget | BudgetPerPage | str | None = None,
    pauses: Sequence[float] = (),
    on_pause: Callable[[float], None] = lambda now: None,
) -> SimulatedPolls:
    """Let a policy without pages poll a world, one poll at a time, as often as the budget allows.

    It ends after `polls` polls, or with the world's history (None). `budget` may also be text, such
    as 0.2/day/page; None: one cost unit per second. Polls come as soon as it allows them, never in
    bursts. `seed` is that of the world: the same seed gives different policies the same world. At
    each time in `pauses`, `on_pause` is called with it: it may look at the policy, and change what
    the policy was told, such as rates, but not its pages. `InputError` for what cannot be used.

    >>> from pollwise.policies.index.bayes_index import BayesianIndex
    >>> from pollwise.simulation.worlds.zipf import Zipf
    >>> polls = simulate(BayesianIndex(), Zipf(pages=5, alpha=0.5, beta=1.0), polls=20, seed=7)
    >>> len(polls), polls.times[:3].tolist(), polls.outcomes[:3].tolist()
    (20, [0.0, 1.0, 2.0], [1, 0, 1])
    """
    if compiled_state(policy) is None:  # what has one need not be a whole policy
        require_object("simulate: policy", policy, Policy, "a policy, such as BayesianIndex()")
    require_object("simulate: world", world, World, "a world, such as Zipf or Replay")
    require_whole("simulate", "seed", seed, least=0)
    if polls is not None:
        require_whole("simulate", "polls", polls, least=0)
    budget = _budget_of(budget)
    if not 0 < budget.rate < math.inf:
        raise InputError(f"simulate: a budget of {budget.rate} per second; it must be above 0")
    if polls is None:
        world.reset(seed)
    else:
        costs = max((page.cost for page in world.pages), default=1.0)
        world.reset(seed, duration=(polls + 1) * costs / budget.rate)
    run = _run_scheduled if compiled_state(policy) is None else _run_compiled
    limit = _poll_limit(world, budget) if polls is None else polls
    return run(policy, world, budget, limit, dict.fromkeys(pauses, on_pause))


def _budget_of(budget: Budget | BudgetPerPage | str | None) -> Budget | BudgetPerPage:
    if budget is None:
        return Budget(1.0)
    if isinstance(budget, str):
        told = parse_budget(budget)
        return BudgetPerPage(told.rate) if told.per_page else Budget(told.rate)
    demand = "a Budget, a BudgetPerPage or text such as 500/hour"
    require_object("simulate: budget", budget, Budget | BudgetPerPage, demand)
    return budget


def _poll_limit(world: World, budget: Budget | BudgetPerPage) -> int:
    """At least as many polls as the budget allows to the end of the world."""
    cheapest = min(page.cost for page in world.pages)
    pages = len(world.pages) if isinstance(budget, BudgetPerPage) else 1
    return math.ceil((world.end - world.begin) * budget.rate * pages / cheapest) + 1


@dataclass(frozen=True, slots=True)
class _Span:
    """A stretch of time; pages come and go at its begin only."""

    begin: float
    end: float
    added: list[Page]
    removed: list[int]
    live: int


def _spans(world: World, pauses: Pauses) -> Iterator[_Span]:
    """The stretches of time between births, deaths and pauses."""
    changes, pages, end = world.changes, world.pages, world.end
    born = np.maximum(changes.born, world.begin)
    moments = np.unique(np.concatenate([born, changes.died, list(pauses)]))
    moments = moments[(moments >= world.begin) & (moments < end)]
    births, deaths = np.argsort(born, kind="stable"), np.argsort(changes.died, kind="stable")
    birth_times, death_times = born[births], changes.died[deaths]
    b = d = 0
    live = 0
    for begin, until in zip(moments, np.append(moments[1:], end), strict=True):
        next_b = int(np.searchsorted(birth_times, begin, "right"))
        next_d = int(np.searchsorted(death_times, begin, "right"))
        added = [pages[i] for i in births[b:next_b] if changes.died[i] > begin]
        removed = [int(i) for i in deaths[d:next_d] if born[i] < begin]
        b, d = next_b, next_d
        live += len(added) - len(removed)
        yield _Span(float(begin), float(until), added, removed, live)


def _rate(budget: Budget | BudgetPerPage, live: int) -> float:
    """Cost units per second."""
    return budget.rate * max(live, 1) if isinstance(budget, BudgetPerPage) else budget.rate


def _run_scheduled(
    policy: Policy, world: World, budget: Budget | BudgetPerPage, limit: int, pauses: Pauses
) -> SimulatedPolls:
    """Event by event; polls are answered at once."""
    scheduler = Scheduler(policy, Budget(_rate(budget, 1)))
    page_ids: list[int] = []
    times: list[float] = []
    outcomes: list[Outcome] = []
    for span in _spans(world, pauses):
        scheduler.budget = Budget(_rate(budget, span.live))
        now = span.begin
        if span.removed:
            # A moment earlier, when nothing is due: no poll starts between the two events.
            scheduler.handle(Removed(math.nextafter(now, -math.inf), tuple(span.removed)))
        commands = scheduler.handle(Added(now, tuple(span.added)))
        if now in pauses:
            pauses[now](now)
        while len(times) < limit:
            polled = [command.page_id for command in commands if isinstance(command, Poll)]
            if polled:
                page_ids += polled
                times += [now] * len(polled)
                found = tuple(world.poll(polled, now))
                outcomes += [observation.outcome for observation in found]
                commands = scheduler.handle(Polled(now, found))
                continue
            wake_at = [c.time for c in commands if isinstance(c, WakeAt)][-1]
            if wake_at >= span.end:
                break
            now = max(now, wake_at)
            commands = scheduler.handle(Tick(now))
    return SimulatedPolls(
        np.array(page_ids, np.int64), np.array(times), np.array(outcomes, np.int64)
    )


class _History(NamedTuple):
    """What happens to the pages of a world, and how much of it has been seen."""

    offsets: NDArray[np.int64]
    times: NDArray[np.float64]
    reverted: NDArray[np.bool_]
    born: NDArray[np.float64]  # NaN: not told
    tells_last_changed: bool
    cost: NDArray[np.float64]
    cursor: NDArray[np.int64]  # of each page, its first change not seen yet
    has_copy: NDArray[np.bool_]
    observation: NDArray[Any]  # of OBSERVATION, one element: the latest poll


def _history_of(world: World) -> _History:
    changes = world.changes
    return _History(
        offsets=changes.offsets,
        times=changes.times,
        reverted=np.zeros(len(changes.times), np.bool_)
        if changes.reverted is None
        else changes.reverted,
        born=np.where(changes.born > world.begin, changes.born, np.nan),
        tells_last_changed=world.tells_last_changed,
        cost=np.array([page.cost for page in world.pages]),
        cursor=changes.offsets[:-1].copy(),
        has_copy=np.zeros(len(changes.born), np.bool_),
        observation=blank_observation(),
    )


def _run_compiled(
    policy: Any, world: World, budget: Budget | BudgetPerPage, limit: int, pauses: Pauses
) -> SimulatedPolls:
    """The same polls without events, a whole span at a time."""
    history = _history_of(world)
    page_ids, times = np.empty(limit, np.int64), np.empty(limit)
    count, next_at = 0, world.begin
    for span in _spans(world, pauses):
        policy.discard(span.removed)
        policy.add(span.added)
        for page in span.added:
            if page.seen_at is not None:
                own = world.changes.of_page(page.id)
                history.cursor[page.id] += np.searchsorted(own, page.seen_at, "right")
                history.has_copy[page.id] = True
        if span.begin in pauses:
            pauses[span.begin](span.begin)
        next_at = max(next_at, span.begin)
        count, next_at = _poll_span(
            policy.state, history, _rate(budget, span.live), next_at, span.end,
            page_ids, times, count,
        )  # fmt: skip
    page_ids, times = page_ids[:count], times[:count]
    return SimulatedPolls(page_ids, times, _outcomes(world, page_ids, times))


def _outcomes(
    world: World, page_ids: NDArray[np.int64], times: NDArray[np.float64]
) -> NDArray[np.int64]:
    """What polls of living pages, in the order of time, found: whether a change came in between."""
    outcomes = np.full(len(times), _UNCHANGED)
    order = np.argsort(page_ids, kind="stable")
    polled, starts = np.unique(page_ids[order], return_index=True)
    for page_id, start, end in zip(
        polled.tolist(), starts, np.append(starts, len(order))[1:], strict=True
    ):
        own = order[start:end]
        changes, seen_at = world.changes.of_page(page_id), world.pages[page_id].seen_at
        before = 0 if seen_at is None else int(np.searchsorted(changes, seen_at, "right"))
        seen = np.searchsorted(changes, times[own], "right")
        changed = np.diff(seen, prepend=before) > 0
        changed[0] |= seen_at is None
        outcomes[own[changed]] = _CHANGED
    return outcomes


@compiled_by_state
def _poll_span(
    state: Any,
    history: _History,
    rate: float,
    next_at: float,
    end: float,
    page_ids: NDArray[np.int64],
    times: NDArray[np.float64],
    count: int,
) -> tuple[int, float]:
    """Poll until `end`, or until `page_ids` is full."""
    state, history = borrowed((state, history))
    offsets, cursor = history.offsets, history.cursor
    while count < len(page_ids) and next_at < end:
        now = next_at
        page = select(state, now)
        if page < 0:
            next_at = min(max(wake_at(state), np.nextafter(now, np.inf)), end)
            continue
        seen = cursor[page]
        while cursor[page] < offsets[page + 1] and history.times[cursor[page]] <= now:
            cursor[page] += 1
        latest = cursor[page] - 1
        outcome, reverted = _UNCHANGED, False
        if not history.has_copy[page]:
            outcome = _CHANGED
            history.has_copy[page] = True
        elif latest >= seen:
            outcome, reverted = _CHANGED, history.reverted[latest]
        last_changed_at = np.nan
        if history.tells_last_changed:
            had_changed = latest >= offsets[page]
            last_changed_at = history.times[latest] if had_changed else history.born[page]
        observation = history.observation[0]
        write_observation(observation, page, now, outcome, reverted, last_changed_at)
        observe(state, observation)
        page_ids[count] = page
        times[count] = now
        count += 1
        next_at = now + history.cost[page] / rate
    return count, next_at
