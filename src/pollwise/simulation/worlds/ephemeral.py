"""Sources of ephemeral content that can be polled at regular epochs, and policies for them.

Items appear at source i as a Poisson process of rate Λ; an item is worth ξ on average when it
appears, and e^(-μ age) times its initial value later. A poll takes all that waits; it costs C.
In the *fluid* world the waiting value x is a number that obeys x ← αx + u from epoch to epoch,
α = e^(-μT), u = (Λξ/μ)(1 - α): what the random world does on average.

A policy is a function from a `View` to the sources that it polls in this epoch. `top` and `above`
make one from the Whittle index, for sources with known parameters; both spend M cost units an
epoch on average (Σ C_i v_i = M, equation 5), whatever the costs are. `LearningChooser` makes one
from a policy that learns.

Source: K. Avrachenkov and V. S. Borkar, "Whittle index policy for crawling ephemeral content",
Inria research report 8702, 2015: dynamics (2), (3) and (19), theorem 1; `docs/theory.md` derives
the index. How the budget is met where the costs do not add up to it is ours.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError
from pollwise.numerics import two_or_more_steps
from pollwise.objectives import discrete_index
from pollwise.policies.base import Policy
from pollwise.types import Item, Observation, Outcome, Page

__all__ = [
    "Choose",
    "EphemeralPlay",
    "EphemeralSource",
    "EphemeralWorld",
    "LearningChooser",
    "View",
    "above",
    "balanced_price",
    "play_epochs",
    "top",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LONGEST_WAIT = 200  # epochs
_PRICE_MEMORY = 20  # epochs whose whole budget must be overspent to double the price of `above`
_ROUNDING = 1e-9  # of an epoch's budget


@dataclass(frozen=True, slots=True)
class EphemeralSource:
    """A source of items: `rate` Λ per second, mean `value` ξ, `decay` μ per second, `cost` C.

    `InputError` unless all are finite and above 0.
    """

    rate: float
    value: float
    decay: float
    cost: float = 1.0

    def __post_init__(self) -> None:
        for name in ("rate", "value", "decay", "cost"):
            number = getattr(self, name)
            if not 0 < number < math.inf:
                raise InputError(
                    f"EphemeralSource: {name}={number!r} must be a finite number above 0"
                )

    def retention(self, epoch: float) -> float:
        """α, the share of its value that an item keeps through an epoch."""
        return math.exp(-self.decay * epoch)

    def inflow(self, epoch: float) -> float:
        """u, the mean value at the end of an epoch of the items that appeared in it."""
        return -math.expm1(-self.decay * epoch) * self.rate * self.value / self.decay


class EphemeralWorld:
    """Sources that are polled at the times 0, T, 2T, ...; nothing waits at first.

    `epoch` is T in seconds. `random` False is the fluid world. `aged`: a poll tells when each
    item was published.

    >>> world = EphemeralWorld([EphemeralSource(rate=2.0, value=1.0, decay=0.5)], random=False)
    >>> world.reset(seed=0)
    >>> world.advance()
    >>> world.waiting.round(3)
    array([1.574])
    """

    def __init__(
        self,
        sources: Sequence[EphemeralSource],
        *,
        epoch: float = 1.0,
        random: bool = True,
        aged: bool = True,
    ) -> None:
        if not sources:
            raise InputError("EphemeralWorld: no sources; give at least one")
        if not 0 < epoch < math.inf:
            raise InputError(f"EphemeralWorld: epoch={epoch!r} must be finite and above 0 seconds")
        self.sources = tuple(sources)
        self.epoch = epoch
        self._random = random
        self._aged = aged
        self._retention = np.array([source.retention(epoch) for source in sources])
        self._inflow = np.array([source.inflow(epoch) for source in sources])
        self.reset(seed=0)

    def reset(self, seed: int) -> None:
        """Begin anew; the same seed brings the same items, whatever is polled."""
        seeds = np.random.SeedSequence(seed).spawn(len(self.sources))
        self._generators = [np.random.default_rng(each) for each in seeds]
        self._epochs = 0
        self._x = np.zeros(len(self.sources))
        self._born: list[list[Floats]] = [[] for _ in self.sources]
        self._initial: list[list[Floats]] = [[] for _ in self.sources]

    @property
    def now(self) -> float:
        """The time of the present epoch."""
        return self._epochs * self.epoch

    @property
    def pages(self) -> list[Page]:
        """The sources as pages; nothing waits at the time 0, which counts as a poll."""
        return [Page(i, cost=source.cost, seen_at=0.0) for i, source in enumerate(self.sources)]

    @property
    def waiting(self) -> Floats:
        """The value that waits at each source now."""
        return self._x.copy()

    def advance(self) -> None:
        """Let an epoch pass."""
        self._epochs += 1
        self._x *= self._retention
        if self._random:
            self._let_appear()
        else:
            self._x += self._inflow

    def _let_appear(self) -> None:
        for i, (source, generator) in enumerate(zip(self.sources, self._generators, strict=True)):
            count = generator.poisson(source.rate * self.epoch)
            born = self.now - self.epoch * generator.random(count)
            initial = generator.exponential(source.value, count)
            self._born[i].append(born)
            self._initial[i].append(initial)
            self._x[i] += float(initial @ np.exp(-source.decay * (self.now - born)))

    def poll(self, page_ids: Sequence[int]) -> list[Observation]:
        """Take what waits at some sources; in the fluid world this is one item without age."""
        found = []
        for i in page_ids:
            items = self._items(i) if self._random else (Item(float(self._x[i])),)
            outcome = Outcome.CHANGED if items else Outcome.UNCHANGED
            cost = self.sources[i].cost
            found.append(
                Observation(i, self.now, outcome, n_items=len(items), cost=cost, items=items)
            )
            self._x[i] = 0.0
        return found

    def _items(self, source: int) -> tuple[Item, ...]:
        born = np.concatenate([*self._born[source], np.empty(0)])
        initial = np.concatenate([*self._initial[source], np.empty(0)])
        self._born[source], self._initial[source] = [], []
        values = initial * np.exp(-self.sources[source].decay * (self.now - born))
        times = born.tolist() if self._aged else [None] * len(born)
        return tuple(map(Item, values.tolist(), times))


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What a policy may look at in an epoch.

    `spent` are the cost units of all epochs before. `elapsed` are the epochs since the last poll of
    each source; `waiting` is the value that waits where it is observed, NaN where only a poll tells
    it.
    """

    now: float
    spent: float
    elapsed: Floats
    waiting: Floats


Choose = Callable[[View], Ints]
"""Which sources to poll in an epoch."""


def _indices(world: EphemeralWorld) -> Callable[[View], Floats]:
    """The Whittle indices of sources with known parameters.

    Where the waiting value is not observed its mean is used, u(1 - α^n)/(1 - α) after n epochs.
    """
    parameters = [
        (source.retention(world.epoch), source.inflow(world.epoch), source.cost)
        for source in world.sources
    ]
    alpha, u, _ = (np.array(each) for each in zip(*parameters, strict=True))

    def indices(view: View) -> Floats:
        mean = u * (1 - alpha**view.elapsed) / (1 - alpha)
        states = np.where(np.isnan(view.waiting), mean, view.waiting)
        return np.array(
            [
                discrete_index(x, retention, inflow, cost)
                for x, (retention, inflow, cost) in zip(states, parameters, strict=True)
            ]
        )

    return indices


def top(world: EphemeralWorld, budget: float) -> Choose:
    """The sources of the largest Whittle indices, as many as `budget` cost units an epoch pay for.

    What is left, as the next source costs more, is kept for the epochs to come: never is more spent
    than was granted, and what is kept is less than the largest cost. With costs of 1 and a whole
    budget M these are the top M sources of theorem 1. `InputError` unless `budget` is above 0 and
    at most what all sources cost.
    """
    _check_budget(world, budget)
    indices, costs = _indices(world), _costs(world)

    def choose(view: View) -> Ints:
        order = np.argsort(-indices(view), kind="stable")
        granted = budget * (view.now / world.epoch + 1.0 + _ROUNDING)
        return order[np.cumsum(costs[order]) <= granted - view.spent]

    return choose


def above(world: EphemeralWorld, budget: float) -> Choose:
    """Every source whose Whittle index has reached a price, which keeps to `budget` on average.

    The price, the multiplier λ of equation (6), begins as the `balanced_price` and rises in
    proportion to what was spent beyond `budget` cost units an epoch; so that sum stays bounded, in
    the random world too. `InputError` as for `top`.
    """
    balanced = balanced_price(world, budget)
    indices = _indices(world)

    def choose(view: View) -> Ints:
        excess = view.spent / budget - view.now / world.epoch
        return np.flatnonzero(indices(view) >= balanced * (1.0 + excess / _PRICE_MEMORY))

    return choose


def balanced_price(world: EphemeralWorld, budget: float) -> float:
    """The multiplier λ of a budget of M cost units an epoch in the fluid world.

    If every source is polled whenever its index has reached a price, at least M is spent at this
    price and less than M at any higher one. `InputError` as for `top`.
    """
    _check_budget(world, budget)
    costs = _costs(world)
    retention = np.array([source.retention(world.epoch) for source in world.sources])
    limits = np.array([source.inflow(world.epoch) for source in world.sources]) / (1 - retention)
    waits = np.arange(1.0, _LONGEST_WAIT + 1)[:, None]
    # The discrete index in the states u(1 - α^n)/(1 - α), without cancellation for long waits.
    prices = limits / costs * two_or_more_steps(waits, 1 - retention)
    for price in np.unique(prices)[::-1]:
        first = 1.0 + (prices < price).sum(axis=0)
        spent = np.where(first > _LONGEST_WAIT, 0.0, costs / first).sum()
        if spent >= budget * (1.0 - _ROUNDING):
            break
    return float(price)


def _costs(world: EphemeralWorld) -> Floats:
    return np.array([source.cost for source in world.sources])


def _check_budget(world: EphemeralWorld, budget: float) -> None:
    every = float(_costs(world).sum())
    if not 0 < budget <= every:
        raise InputError(
            f"budget={budget!r} must be above 0 and at most {every:g} cost units an epoch, which is"
            " what all sources cost"
        )


class LearningChooser:
    """Has a policy that learns choose `polls` sources in each epoch.

    The policy must have no pages yet; those of `world` are added.
    """

    def __init__(self, world: EphemeralWorld, policy: Policy, polls: int) -> None:
        policy.add(world.pages)
        self._policy = policy
        self._polls = polls

    def __call__(self, view: View) -> Ints:
        """The sources that the policy selects."""
        return self._policy.select(view.now, self._polls).page_ids

    def observe(self, observations: Sequence[Observation]) -> None:
        """Have the policy learn."""
        self._policy.observe(observations)


@dataclass(frozen=True, slots=True, eq=False)
class EphemeralPlay:
    """What was done, epoch by epoch (the rows), to each source (the columns).

    `waiting`: the value that waited; `polled`: whether it was taken.
    """

    waiting: Floats
    polled: NDArray[np.bool_]

    @property
    def rewards(self) -> Floats:
        """The value taken in each epoch."""
        return np.asarray((self.waiting * self.polled).sum(axis=1), np.float64)

    @property
    def frequencies(self) -> Floats:
        """The share of the epochs in which each source was polled."""
        return np.asarray(self.polled.mean(axis=0), np.float64)


def play_epochs(
    world: EphemeralWorld,
    choose: Choose,
    *,
    epochs: int,
    seed: int,
    observed: Collection[int] | None = None,
) -> EphemeralPlay:
    """Let a policy poll a world in the epochs 0 to `epochs` - 1.

    `observed` are the sources whose waiting value the policy is told before it chooses (None: all);
    for the others only a poll tells it.

    >>> sources = EphemeralSource(2.0, 1.0, 0.5), EphemeralSource(1.0, 1.0, 0.5)
    >>> world = EphemeralWorld(sources, random=False)
    >>> play_epochs(world, top(world, budget=1), epochs=6, seed=0).polled.sum(axis=0)
    array([4, 2])
    """
    world.reset(seed)
    count = len(world.sources)
    hidden = np.array([observed is not None and i not in observed for i in range(count)])
    waiting, polled = np.empty((epochs, count)), np.zeros((epochs, count), np.bool_)
    spent, elapsed = 0.0, np.zeros(count)
    for n in range(epochs):
        waiting[n] = world.waiting
        chosen = choose(View(world.now, spent, elapsed, np.where(hidden, np.nan, waiting[n])))
        polled[n, chosen] = True
        observations = world.poll(chosen.tolist())
        spent += sum(seen.cost for seen in observations)
        if isinstance(choose, LearningChooser):
            choose.observe(observations)
        elapsed = np.where(polled[n], 0.0, elapsed) + 1.0
        world.advance()
    return EphemeralPlay(waiting, polled)
