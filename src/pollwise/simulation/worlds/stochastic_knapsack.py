"""The papers' abstract environment: offer an amount of a material, and it pays 1 or nothing."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.checks import require_whole
from pollwise.errors import InputError
from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import blank_observation, write_observation
from pollwise.policies.base import Mixture, Policy
from pollwise.policies.compiled import amount, compiled_by_state, compiled_state, observe, select
from pollwise.simulation.worlds.ranks import RankedPages
from pollwise.types import Observation, Outcome, Page

__all__ = ["Play", "StochasticKnapsack", "play", "recent_mean"]

Floats = NDArray[np.float64]

_CHANGED, _UNCHANGED = int(Outcome.CHANGED), int(Outcome.UNCHANGED)
_RECENT = 0.1
_NEAR = 0.1
"""How far from 1 the sum of the amounts may be: LAKG starts at rounded states."""


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

        `swap_every` and `perturbations`: see `pollwise.simulation.worlds.ranks.RankedPages`.
        """
        ranks = RankedPages(
            "knapsack",
            pages=pages,
            alpha=alpha,
            beta=beta,
            swap_every=swap_every,
            perturbations=perturbations,
        )
        knapsack = cls(np.full(pages, 0.5), noise=noise)
        knapsack.hazards, knapsack._by_rank = ranks.rates.copy(), ranks.rates
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
        """Let two pages swap ranks; `InputError` unless the knapsack was made by `ranked`."""
        if self._ranks is None:
            raise InputError("knapsack: pages without ranks cannot swap them; make it by `ranked`")
        (rank,) = self._ranks.draw_ranks(rng, 1)
        pair = self._order[rank : rank + 2]
        self._order[rank : rank + 2] = pair[::-1].copy()
        self.hazards[pair] = self.hazards[pair[::-1]]

    def score(self, amounts: ArrayLike) -> float:
        """The expected reward of an access, pages being accessed in proportion to `amounts`.

        That is Σ x d(x), the amounts being scaled to sum to 1; with noise, d is the mean of the
        noisy value clipped to 0 and 1. `InputError` unless there is an amount for each page, none
        negative and some above 0.
        """
        share = np.asarray(amounts, np.float64)
        if share.shape != self.hazards.shape or not ((share >= 0).all() and share.sum() > 0):
            raise InputError(
                f"knapsack: amounts={amounts!r} must be {len(self)} numbers of at least 0, some"
                " above 0"
            )
        return float(_score(share / share.sum(), self.hazards, self.noise))

    @property
    def ideal(self) -> float:
        """The score of the best mixture: without noise 1 - Πq, a change of any page in a step."""
        return self.score(self.optimal)

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

    `expected` is the probability with which it did. `scores` has, for each checkpoint, the score
    of the policy's amounts after so many polls or, for a policy without amounts, the mean of
    `expected` over the last tenth of these polls.
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
    such as bayes-index, offers 1/τ when it polls a page τ seconds after the poll before. `seed` is
    that of the knapsack: the same seed gives different policies the same pages.

    >>> from pollwise.policies.index.bayes_index import BayesianIndex
    >>> result = play(BayesianIndex(), StochasticKnapsack([0.1, 0.9]), polls=100, seed=1)
    >>> int((result.page_ids == 0).sum()) > 50
    True
    """
    require_whole("play", "polls", polls, least=1)
    require_whole("play", "seed", seed, least=0)
    order_rng, world_rng, reward_rng = (np.random.default_rng([seed, n]) for n in (1, 2, 3))
    knapsack.reset(order_rng)
    count = len(knapsack)
    last = -count * world_rng.random(count)
    policy.add([Page(n, seen_at=seen) for n, seen in enumerate(last.tolist())])
    marks = np.array(sorted({n for n in checkpoints if 0 < n <= polls}), np.int64)
    record = _Record(
        np.empty(polls, np.int64), np.empty(polls, np.bool_), np.empty(polls),
        marks, np.full(len(marks), math.nan), blank_observation(),
    )  # fmt: skip
    every = knapsack.swap_every or polls
    begin = 0
    for end in sorted({1, *range(every, polls, every), polls}):
        state = compiled_state(policy)
        if state is None:
            reached = _offer_called(policy, knapsack, last, reward_rng, record, begin, end)
        else:
            hazards, noise = knapsack.hazards, knapsack.noise
            reached = _offer(state, hazards, noise, last, reward_rng, record, begin, end)
        if reached < end:
            raise InputError(
                f"play: the policy has no page to poll after {reached} polls; only policies that"
                " never wait can fill a knapsack"
            )
        if end == 1:
            _check_capacity(policy)
        if end % every == 0 and end < polls:
            knapsack.swap(world_rng)
        begin = end
    scores = {
        mark: recent_mean(record.expected[:mark]) if math.isnan(score) else score
        for mark, score in zip(marks.tolist(), record.scores.tolist(), strict=True)
    }
    return Play(record.page_ids, record.paid, record.expected, scores)


class _Record(NamedTuple):
    """What is written while a policy plays; `scores` at the `marks`, NaN without amounts."""

    page_ids: NDArray[np.int64]
    paid: NDArray[np.bool_]
    expected: Floats
    marks: NDArray[np.int64]
    scores: Floats
    observation: NDArray[Any]  # of OBSERVATION, one element: the latest poll


def recent_mean(expected: Floats) -> float:
    """The mean over the last tenth of the polls."""
    return float(expected[-max(1, round(_RECENT * len(expected))) :].mean())


def _check_capacity(policy: Policy) -> None:
    """`InputError` unless the amounts of the policy, if it has any, sum to about 1."""
    total = policy.amounts().sum() if isinstance(policy, Mixture) else 1.0
    if abs(total - 1.0) > _NEAR:
        raise InputError(
            f"play: the amounts of the policy sum to {total:.3g}, a knapsack takes 1; leave its"
            " capacity at 1, or give it a finer resolution"
        )


def _offer_called(
    policy: Policy,
    knapsack: StochasticKnapsack,
    last: Floats,
    rng: np.random.Generator,
    record: _Record,
    begin: int,
    end: int,
) -> int:
    """What `_offer` does, for a policy that cannot be compiled."""
    mixture = policy if isinstance(policy, Mixture) else None
    for n in range(begin, end):
        now = float(n)
        selected = policy.select(now, 1).page_ids.tolist()
        if not selected:
            return n
        (page,) = selected
        steps = now - last[page] if mixture is None else 1.0 / mixture.amounts()[page]
        expected, paid = _draw(knapsack.hazards[page], steps, knapsack.noise, rng)
        policy.observe([Observation(page, now, Outcome.CHANGED if paid else Outcome.UNCHANGED)])
        last[page] = now
        record.page_ids[n], record.paid[n], record.expected[n] = page, paid, expected
        if mixture is not None and n + 1 in record.marks:
            score = knapsack.score(mixture.amounts()[: len(knapsack)])
            record.scores[record.marks == n + 1] = score
    return end


@kernel
def _draw(
    hazard: float, steps: float, noise: float, rng: np.random.Generator
) -> tuple[float, bool]:
    """The probability that an offer pays, and whether it does."""
    chance = -math.expm1(-hazard * steps)
    if noise == 0.0:
        return chance, rng.random() < chance
    return _noisy(chance, noise), rng.random() < chance + noise * rng.standard_normal()


@kernel
def _noisy(chance: float, noise: float) -> float:
    """The mean of chance + N(0, noise²), clipped to 0 and 1."""
    return noise * (_mean_above(chance / noise) - _mean_above((chance - 1.0) / noise))


@kernel
def _mean_above(z: float) -> float:
    """E[max(0, z + N(0, 1))] = zΦ(z) + φ(z)."""
    below = 0.5 * math.erfc(-z / math.sqrt(2.0))
    return z * below + math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


@kernel
def _score(shares: Floats, hazards: Floats, noise: float) -> float:
    """The expected reward of an access, pages being drawn by shares that sum to 1."""
    score = 0.0
    for page in range(len(hazards)):
        if shares[page] > 0.0:
            chance = -math.expm1(-hazards[page] / shares[page])
            score += shares[page] * (_noisy(chance, noise) if noise > 0.0 else chance)
    return score


@compiled_by_state
def _offer(
    state: Any,
    hazards: Floats,
    noise: float,
    last: Floats,
    rng: np.random.Generator,
    record: _Record,
    begin: int,
    end: int,
) -> int:
    """Make polls `begin` to `end` - 1; the number of the first without a page, else `end`."""
    page_ids, paid, expected, marks, scores, observations = record
    mark = np.searchsorted(marks, begin, side="right")
    next_mark = marks[mark] if mark < len(marks) else -1
    for n in range(begin, end):
        now = float(n)
        page = select(state, now)
        if page < 0:
            return n
        offered = amount(state, page)
        steps = now - last[page] if math.isnan(offered) else 1.0 / offered
        chance, pays = _draw(hazards[page], steps, noise, rng)
        observation = observations[0]
        write_observation(observation, page, now, _CHANGED if pays else _UNCHANGED)
        observe(state, observation)
        last[page] = now
        page_ids[n], paid[n], expected[n] = page, pays, chance
        if n + 1 == next_mark:
            if not math.isnan(offered):
                amounts = np.array([amount(state, page) for page in range(len(hazards))])
                scores[mark] = _score(amounts / amounts.sum(), hazards, noise)
            mark += 1
            next_mark = marks[mark] if mark < len(marks) else -1
    return end
