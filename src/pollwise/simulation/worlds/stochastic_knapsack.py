"""The papers' abstract environment: offer an amount of a material, and it pays 1 or nothing."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.checks import require_whole
from pollwise.errors import InputError
from pollwise.kernel_cache import kernel
from pollwise.knapsack import concave_amounts
from pollwise.policies.arrays import blank_observation, write_observation
from pollwise.policies.base import Mixture, Policy
from pollwise.policies.borrowed import borrowed
from pollwise.policies.compiled import amount, compiled_by_state, compiled_state, observe, select
from pollwise.policies.selections import selected_ids
from pollwise.simulation.worlds.ranks import RankedPages
from pollwise.types import Observation, Outcome, Page

__all__ = ["Play", "StochasticKnapsack", "play", "recent_mean"]

Floats = NDArray[np.float64]

_CHANGED, _UNCHANGED = int(Outcome.CHANGED), int(Outcome.UNCHANGED)
_RECENT = 0.1
_NEAR = 0.1
"""How far from 1 the sum of the amounts may be: LAKG starts at rounded states."""


class _Materials(NamedTuple):
    """What pages pay: by a table if it has columns, else by their hazards."""

    hazards: Floats  # -ln q, one per page
    values: Floats  # (pages, steps): p_i at the amounts 1/steps, 2/steps, ... 1; or (pages, 0)


class StochasticKnapsack:
    """Pages ("materials") that pay 1 with a probability p_i(x) when offered an amount x, else 0.

    No p_i rises with x, and the amounts fill a knapsack that takes 1. In web polling p_i(x) is
    d(x) = 1 - q^(1/x), the probability of a change in 1/x steps: `unchanged` are the q, one per
    page, between 0 and 1 (exclusive), the probability that nothing changes in a step. `of_values`
    makes a knapsack of any other p_i. `noise` is the standard deviation σ of white noise in what a
    policy is told: that it was paid, with probability p_i(x) + N(0, σ²), drawn at every offer and
    cut off at 0 and 1. What is expected and scored has no noise.

    Source: O.-C. Granmo and B. J. Oommen, "Solving stochastic nonlinear resource allocation
    problems using a hierarchy of twofold resource allocation automata", 2010, section 4; any p_i
    and the noise are S. Glimsdal's, "Efficient Gaussian process based optimistic knapsack
    sampling", 2013, section 2.3 and equation 2.3.

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
        self._values = np.empty((q.size, 0))
        self._by_rank = self.hazards
        self._ranks: RankedPages | None = None
        self._order = np.arange(q.size)

    @classmethod
    def of_values(
        cls,
        unit_values: Callable[[Floats], ArrayLike],
        *,
        pages: int,
        steps: int = 1000,
        noise: float = 0.0,
    ) -> Self:
        """Pages with any unit values p_i that do not rise.

        `unit_values` is called with amounts x from 1/`steps` to 1, one per page, and gives the
        p_i(x_i), between 0 and 1. It is tabulated at whole multiples of 1/`steps`, and the pages
        pay by straight lines between them, below the first of them as there. `InputError` for
        values that are no probabilities or rise.

        >>> knapsack = StochasticKnapsack.of_values(lambda x: [0.9, 0.6] - 0.5 * x, pages=2)
        >>> knapsack.optimal.round(9)
        array([0.8, 0.2])
        """
        require_whole("knapsack", "pages", pages, least=1)
        require_whole("knapsack", "steps", steps, least=1)
        rows = [
            np.asarray(unit_values(np.full(pages, n / steps)), np.float64)
            for n in range(1, steps + 1)
        ]
        if any(row.shape != (pages,) for row in rows):
            raise InputError(f"knapsack: unit_values must give {pages} numbers, one for each page")
        knapsack = cls(np.full(pages, 0.5), noise=noise)
        values = np.ascontiguousarray(np.transpose(rows))
        if not ((values >= 0) & (values <= 1)).all() or (np.diff(values) > 0).any():
            raise InputError("knapsack: unit_values must be between 0 and 1, and never rise with x")
        knapsack._values = values
        return knapsack

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

    @property
    def materials(self) -> _Materials:
        """What the pages pay at this time, for compiled loops."""
        return _Materials(self.hazards, self._values)

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

        That is Σ x p(x), the amounts being scaled to sum to 1. `InputError` unless there is an
        amount for each page, none negative and some above 0.
        """
        given = np.asarray(amounts, np.float64)
        if given.shape != self.hazards.shape or not ((given >= 0).all() and given.sum() > 0):
            raise InputError(
                f"knapsack: amounts={amounts!r} must be {len(self)} numbers of at least 0, some"
                " above 0"
            )
        return float(_score(given / given.sum(), self.materials))

    @property
    def ideal(self) -> float:
        """The score of the best mixture: in web polling 1 - Πq, a change of any page in a step."""
        return self.score(self.optimal)

    @property
    def optimal(self) -> Floats:
        """The best amounts: those at which all pages pay with the same probability, if there are.

        They maximise Σ ∫p_i, the value of the knapsack. In web polling they are in proportion to
        -ln q, and maximise the score too.

        Source: Granmo and Oommen 2010, from the Lagrange conditions p_1(x_1) = p_2(x_2) = ...
        """
        if self._values.shape[1] == 0:
            return self.hazards / self.hazards.sum()
        return concave_amounts(self._unit_values, np.ones(len(self)))

    def _unit_values(self, amounts: Floats) -> Floats:
        materials = self.materials
        return np.array([_chance(materials, page, 1.0 / x) for page, x in enumerate(amounts)])

    @property
    def proportional(self) -> Floats:
        """Amounts in proportion to p_i(1): in web polling, the probability of a change in a step.

        `InputError` if no page pays anything there.
        """
        values = self._unit_values(np.ones(len(self)))
        if not values.any():
            raise InputError("knapsack: at the amount 1 no page pays; there is no proportion")
        return values / values.sum()

    @property
    def uniform(self) -> Floats:
        """The same amount for all."""
        return np.full(len(self), 1.0 / len(self))


@dataclass(frozen=True, slots=True, eq=False)
class Play:
    """What a policy did to a knapsack: the page of each poll, and whether it was told of a pay.

    `expected` is the probability with which the offer pays, without noise. `worth` is Σ x p(x) of
    the mixture that the poll was of or, for a policy without amounts, `expected` again; it is
    empty unless asked for. `scores` has, for each checkpoint, Σ x p(x) of the policy's amounts
    after so many polls or, for a policy without amounts, the mean of `expected` over the last
    tenth of these polls. Amounts are taken as they are, though their sum may differ a little from
    1 (by .01 for LAKG with a coarse resolution).
    """

    page_ids: NDArray[np.int64]
    paid: NDArray[np.bool_]
    expected: Floats
    worth: Floats
    scores: dict[int, float]


def play(
    policy: Policy,
    knapsack: StochasticKnapsack,
    *,
    polls: int,
    seed: int,
    checkpoints: Iterable[int] = (),
    worth: bool = False,
    elapsed: bool = False,
) -> Play:
    """Let a policy without pages fill a knapsack, one poll a second.

    A page is offered the amount that the policy gives it at that time. A policy without amounts,
    such as bayes-index, offers 1/τ when it polls a page τ seconds after the poll before; so does
    every policy if `elapsed`: then its polls pay as real ones do. `seed` is that of the knapsack:
    the same seed gives different policies the same pages. `worth`: whether to score the mixture of
    every poll, which takes time in proportion to the pages.

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
        np.empty(polls if worth else 0), marks, np.full(len(marks), math.nan), blank_observation(),
    )  # fmt: skip
    every = knapsack.swap_every or polls
    begin = 0
    for end in sorted({1, *range(every, polls, every), polls}):
        state = compiled_state(policy)
        if state is None:
            reached = _offer_called(policy, knapsack, elapsed, last, reward_rng, record, begin, end)
        else:
            materials, noise = knapsack.materials, knapsack.noise
            reached = _offer(state, materials, noise, elapsed, last, reward_rng, record, begin, end)
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
    return Play(record.page_ids, record.paid, record.expected, record.worth, scores)


class _Record(NamedTuple):
    """What is written while a policy plays; `scores` at the `marks`, NaN without amounts."""

    page_ids: NDArray[np.int64]
    paid: NDArray[np.bool_]
    expected: Floats
    worth: Floats  # empty: it is not asked for
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
    elapsed: bool,
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
        selected = selected_ids(policy.select(now, 1))
        if not selected:
            return n
        (page,) = selected
        amounts = None if mixture is None else mixture.amounts()[: len(knapsack)]
        steps = now - last[page] if elapsed or amounts is None else 1.0 / amounts[page]
        expected, paid = _draw(knapsack.materials, page, steps, knapsack.noise, rng)
        if len(record.worth):
            record.worth[n] = expected if amounts is None else _score(amounts, knapsack.materials)
        policy.observe([Observation(page, now, Outcome.CHANGED if paid else Outcome.UNCHANGED)])
        last[page] = now
        record.page_ids[n], record.paid[n], record.expected[n] = page, paid, expected
        if mixture is not None and n + 1 in record.marks:
            amounts = mixture.amounts()[: len(knapsack)]
            record.scores[record.marks == n + 1] = _score(amounts, knapsack.materials)
    return end


@kernel(forceinline=True)
def _draw(
    materials: _Materials, page: int, steps: float, noise: float, rng: np.random.Generator
) -> tuple[float, bool]:
    """The probability that an offer of 1/steps pays, and whether the policy is told that it did."""
    chance = _chance(materials, page, steps)
    if noise == 0.0:
        return chance, rng.random() < chance
    return chance, rng.random() < chance + noise * rng.standard_normal()


@kernel
def _chance(materials: _Materials, page: int, steps: float) -> float:
    """The probability that an offer of 1/steps pays."""
    count = materials.values.shape[1]
    if count == 0:
        return -math.expm1(-materials.hazards[page] * steps)
    row, spot = materials.values[page], count / steps - 1.0
    if spot <= 0.0 or spot >= count - 1:
        return row[0] if spot <= 0.0 else row[count - 1]
    below = int(spot)
    return row[below] + (spot - below) * (row[below + 1] - row[below])


@kernel
def _score(amounts: Floats, materials: _Materials) -> float:
    """Σ x p(x): for amounts that sum to 1, the expected reward of an access."""
    score = 0.0
    for page in range(len(amounts)):
        if amounts[page] > 0.0:
            score += amounts[page] * _chance(materials, page, 1.0 / amounts[page])
    return score


@compiled_by_state
def _offer(
    state: Any,
    materials: _Materials,
    noise: float,
    elapsed: bool,
    last: Floats,
    rng: np.random.Generator,
    record: _Record,
    begin: int,
    end: int,
) -> int:
    """Make polls `begin` to `end` - 1; the number of the first without a page, else `end`."""
    state, materials, rng = borrowed((state, materials, rng))
    page_ids, paid, expected, worth, marks, scores, observations = record
    everyone = range(len(materials.hazards))
    mark = np.searchsorted(marks, begin, side="right")
    next_mark = marks[mark] if mark < len(marks) else -1
    for n in range(begin, end):
        now = float(n)
        page = select(state, now)
        if page < 0:
            return n
        offered = amount(state, page)
        steps = now - last[page] if elapsed or math.isnan(offered) else 1.0 / offered
        chance, pays = _draw(materials, page, steps, noise, rng)
        if len(worth):
            worth[n] = chance
            if not math.isnan(offered):
                worth[n] = _score(np.array([amount(state, own) for own in everyone]), materials)
        observation = observations[0]
        write_observation(observation, page, now, _CHANGED if pays else _UNCHANGED)
        observe(state, observation)
        last[page] = now
        page_ids[n], paid[n], expected[n] = page, pays, chance
        if n + 1 == next_mark:
            if not math.isnan(offered):
                scores[mark] = _score(np.array([amount(state, own) for own in everyone]), materials)
            mark += 1
            next_mark = marks[mark] if mark < len(marks) else -1
    return end
