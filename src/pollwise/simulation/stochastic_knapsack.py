"""The papers' abstract environment: offer an amount of a material, and it pays 1 or nothing."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.errors import InputError
from pollwise.policies.base import Mixture, Policy
from pollwise.simulation.kernels import amount, compiled_state, observe, select
from pollwise.simulation.ranks import RankedPages
from pollwise.types import Observation, Outcome, Page

__all__ = ["Play", "StochasticKnapsack", "play"]

Floats = NDArray[np.float64]

_CHANGED, _UNCHANGED = int(Outcome.CHANGED), int(Outcome.UNCHANGED)
_RECENT = 0.1


class StochasticKnapsack:
    """Pages ("materials") that pay 1 with probability d(x) = 1 - q^(1/x) when offered an amount x.

    `unchanged` are the q, one per page, between 0 and 1 (exclusive): the probability that nothing
    changes in a step, so that d(x) is that of a change in 1/x steps. `noise` is the standard
    deviation of white noise, drawn at every offer and added to d.

    Source: O.-C. Granmo and B. J. Oommen, "Solving stochastic nonlinear resource allocation
    problems using a hierarchy of twofold resource allocation automata", 2010, section 4; the noise
    is S. Glimsdal's, "Efficient Gaussian process based optimistic knapsack sampling", 2013.

    >>> StochasticKnapsack([0.4, 0.7]).score([0.5, 0.5])
    0.675
    """

    def __init__(self, unchanged: ArrayLike, *, noise: float = 0.0) -> None:
        q = np.asarray(unchanged, np.float64)
        if q.ndim != 1 or q.size == 0:
            raise InputError(f"knapsack: unchanged has shape {q.shape}; give one number per page")
        if not ((q > 0) & (q < 1)).all():
            first = int(np.argmax(~((q > 0) & (q < 1))))
            raise InputError(
                f"knapsack: unchanged[{first}] = {q[first]} must be between 0 and 1 (exclusive)"
            )
        if not 0 <= noise < math.inf:
            raise InputError(f"knapsack: noise={noise} must be a number that is not negative")
        self.noise = noise
        self.hazards = -np.log(q)
        self._by_rank = self.hazards
        self._ranks: RankedPages | None = None
        self._order = np.arange(q.size)

    @classmethod
    def ranked(
        cls,
        *,
        pages: int,
        alpha: float,
        beta: float,
        noise: float = 0.0,
        swap_every: int | None = None,
        perturbations: int | None = None,
    ) -> Self:
        """Pages of which that of rank k changes in a step with probability α / k^β.

        `swap_every` and `perturbations`: see `pollwise.simulation.ranks.RankedPages`.
        """
        ranks = RankedPages(
            "knapsack",
            pages=pages,
            alpha=alpha,
            beta=beta,
            swap_every=swap_every,
            perturbations=perturbations,
        )
        knapsack = cls(1.0 - ranks.probabilities, noise=noise)
        knapsack._by_rank = -np.log1p(-ranks.probabilities)
        knapsack._ranks = ranks
        return knapsack

    def __len__(self) -> int:
        return len(self.hazards)

    def reset(self, rng: np.random.Generator) -> None:
        """Draw which page has which rank."""
        if self._ranks is not None:
            self._order = self._ranks.first_order(rng)
        self.hazards = np.empty(len(self._by_rank))
        self.hazards[self._order] = self._by_rank

    @property
    def swap_every(self) -> int | None:
        """After how many polls two pages swap ranks; None: never."""
        return None if self._ranks is None else self._ranks.swap_every

    def swap(self, rng: np.random.Generator) -> None:
        """Let two pages swap ranks, in a knapsack made by `ranked`."""
        assert self._ranks is not None
        (rank,) = self._ranks.draw_ranks(rng, 1)
        pair = self._order[rank : rank + 2]
        self._order[rank : rank + 2] = pair[::-1].copy()
        self.hazards[pair] = self.hazards[pair[::-1]]

    def score(self, amounts: ArrayLike) -> float:
        """The expected reward of an access, pages being accessed in proportion to `amounts`.

        That is Σ x d(x), with amounts that are first made to sum to 1.
        """
        share = np.asarray(amounts, np.float64)
        offered = share > 0
        share = share[offered] / share.sum()
        return float(share @ -np.expm1(-self.hazards[offered] / share))

    @property
    def ideal(self) -> float:
        """1 - Πq, the score of the best mixture: where one page at least changes in a step."""
        return float(-np.expm1(-self.hazards.sum()))

    @property
    def optimal(self) -> Floats:
        """The best amounts: in proportion to -ln q, where all pages pay with the same probability.

        Source: Granmo and Oommen 2010, from the Lagrange conditions d_1(x_1) = d_2(x_2) = ...
        """
        return self.hazards / self.hazards.sum()

    @property
    def proportional(self) -> Floats:
        """Amounts in proportion to the probabilities of a change in a step."""
        change = -np.expm1(-self.hazards)
        return change / change.sum()

    @property
    def uniform(self) -> Floats:
        """The same amount for all."""
        return np.full(len(self), 1.0 / len(self))


@dataclass(frozen=True, slots=True, eq=False)
class Play:
    """What a policy did to a knapsack: the page of each poll, and whether it paid.

    `expected` is the probability with which it did (without the noise); `scores` has, for each
    checkpoint, the score of the mixture of amounts after so many polls; for a policy without
    amounts it is the mean of `expected` over the last tenth of these polls.
    """

    page_ids: NDArray[np.int64]
    paid: NDArray[np.bool_]
    expected: Floats
    scores: dict[int, float]


def play(
    policy: Policy,
    knapsack: StochasticKnapsack,
    *,
    polls: int,
    seed: int,
    checkpoints: Iterable[int] = (),
) -> Play:
    """Let a policy without pages fill a knapsack, one poll a second.

    A page is offered the amount that the policy gives it at that time. A policy without amounts,
    such as bayes-index, offers what it does: 1/τ, if it polls a page τ seconds after the poll
    before. `seed` is that of the knapsack: the same for different policies means the same pages.

    >>> from pollwise.policies.bayes_index import BayesianIndex
    >>> result = play(BayesianIndex(), StochasticKnapsack([0.1, 0.9]), polls=100, seed=1)
    >>> int((result.page_ids == 0).sum()) > 50
    True
    """
    order_rng, world_rng, reward_rng = (np.random.default_rng([seed, n]) for n in (1, 2, 3))
    knapsack.reset(order_rng)
    count = len(knapsack)
    last = -count * world_rng.random(count)
    policy.add([Page(n, seen_at=seen) for n, seen in enumerate(last.tolist())])
    marks = np.array(sorted({n for n in checkpoints if n <= polls}), np.int64)
    run = _Run(
        np.empty(polls, np.int64), np.empty(polls, np.bool_), np.empty(polls),
        marks, np.full(len(marks), math.nan),
    )  # fmt: skip
    offer = _offer_called if compiled_state(policy) is None else _offer_compiled
    every = knapsack.swap_every or polls
    for begin in range(0, polls, every):
        if begin > 0:
            knapsack.swap(world_rng)
        offer(policy, knapsack, last, reward_rng, run, begin, min(begin + every, polls))
    scores = {
        mark: _recent(run.expected[:mark]) if math.isnan(score) else score
        for mark, score in zip(marks.tolist(), run.scores.tolist(), strict=True)
    }
    return Play(run.page_ids, run.paid, run.expected, scores)


class _Run(NamedTuple):
    """What is written while a policy plays; `scores` at the `marks`, NaN without amounts."""

    page_ids: NDArray[np.int64]
    paid: NDArray[np.bool_]
    expected: Floats
    marks: NDArray[np.int64]
    scores: Floats


def _recent(expected: Floats) -> float:
    return float(expected[-max(1, round(_RECENT * len(expected))) :].mean())


def _offer_compiled(
    policy: Any,
    knapsack: StochasticKnapsack,
    last: Floats,
    rng: np.random.Generator,
    run: _Run,
    begin: int,
    end: int,
) -> None:
    _offer(policy.state, knapsack.hazards, knapsack.noise, last, rng, run, begin, end)


def _offer_called(
    policy: Policy,
    knapsack: StochasticKnapsack,
    last: Floats,
    rng: np.random.Generator,
    run: _Run,
    begin: int,
    end: int,
) -> None:
    """The same for a policy that cannot be compiled."""
    for n in range(begin, end):
        now = float(n)
        (page,) = policy.select(now, 1).page_ids.tolist()
        offered = policy.amounts()[page] if isinstance(policy, Mixture) else math.nan
        chance, paid = _draw(knapsack.hazards[page], offered, now - last[page], knapsack.noise, rng)
        policy.observe([Observation(page, now, Outcome.CHANGED if paid else Outcome.UNCHANGED)])
        last[page] = now
        run.page_ids[n], run.paid[n], run.expected[n] = page, paid, chance
        if isinstance(policy, Mixture):
            score = knapsack.score(policy.amounts()[: len(knapsack)])
            run.scores[run.marks == n + 1] = score


@numba.njit(cache=True)
def _draw(
    hazard: float, offered: float, elapsed: float, noise: float, rng: np.random.Generator
) -> tuple[float, bool]:
    """The probability that an offer pays, and whether it does."""
    steps = elapsed if math.isnan(offered) else 1.0 / offered
    chance = -math.expm1(-hazard * steps)
    noisy = chance + noise * rng.standard_normal() if noise > 0.0 else chance
    return chance, rng.random() < noisy


@numba.njit(cache=True)
def _score(state: Any, hazards: Floats) -> float:
    """As `StochasticKnapsack.score`, of the amounts of a state; NaN: it has none."""
    total = 0.0
    for page in range(len(hazards)):
        total += amount(state, page)
    score = 0.0
    for page in range(len(hazards)):
        share = amount(state, page) / total
        if share != 0.0:
            score -= share * math.expm1(-hazards[page] / share)
    return score


@numba.njit(cache=True)
def _offer(
    state: Any,
    hazards: Floats,
    noise: float,
    last: Floats,
    rng: np.random.Generator,
    run: _Run,
    begin: int,
    end: int,
) -> None:
    mark = np.searchsorted(run.marks, begin, side="right")
    for n in range(begin, end):
        now = float(n)
        page = select(state, now)
        offered = amount(state, page)
        chance, pays = _draw(hazards[page], offered, now - last[page], noise, rng)
        observe(state, page, now, _CHANGED if pays else _UNCHANGED, np.nan)
        last[page] = now
        run.page_ids[n], run.paid[n], run.expected[n] = page, pays, chance
        if mark < len(run.marks) and n + 1 == run.marks[mark]:
            run.scores[mark] = _score(state, hazards)
            mark += 1
