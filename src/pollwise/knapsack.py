"""The best poll frequencies under a budget, when all change rates are known: an exact solver.

Polling page i every τ seconds brings G_i(τ)/τ a second, at c_i/τ of the budget a second. In the
frequency f = 1/τ the gain is concave, so that it is a fractional knapsack with falling returns:
the gain is greatest where all pages bring the same at the margin, (G - τ G′)/c = price, which is
to say where the index of every page is the price at the moment at which it is polled (a page whose
index never gets there is not polled). One number is left to find, the price that uses the budget
up. `docs/theory.md` has the argument; Cho and Garcia-Molina (2003) solved it for freshness.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from pollwise.errors import InputError
from pollwise.objectives import Objective

__all__ = ["Allocation", "allocate"]

Floats = NDArray[np.float64]

# The absolute and relative tolerances of the logarithm of the price.
_XTOL, _RTOL = 1e-13, 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """`frequencies` in polls per second, one per page, and the `price` of a cost unit."""

    frequencies: Floats
    price: float


def allocate(
    objective: Objective,
    rates: ArrayLike,
    budget: float,
    weights: ArrayLike = 1.0,
    costs: ArrayLike = 1.0,
) -> Allocation:
    """The poll frequencies that bring the most a second, with sum(costs * frequencies) = budget.

    `rates` are changes per second, one per page; `budget` is in cost units per second; `weights`
    and `costs` are numbers, or one per page. A page that never changes or weighs nothing gets no
    polls. `InputError` for values out of range, and where no page is worth a poll at all.

    For detection, equal margins mean equal λ/f: a frequency in proportion to the change rate.

    >>> from pollwise.objectives import Detection, Freshness
    >>> allocate(Detection(), [1.0, 2.0, 0.0, 5.0], budget=4.0).frequencies.round(6)
    array([0.5, 1. , 0. , 2.5])

    For freshness it may not pay at all to run after a page that changes often:

    >>> allocate(Freshness(), [0.1, 0.1, 50.0], budget=0.2).frequencies.round(6)
    array([0.1, 0.1, 0. ])
    """
    if not (np.isfinite(budget) and budget > 0):
        raise InputError(
            f"allocate: budget={budget!r} must be a finite number above 0 (cost units per second)"
        )
    rate = _per_page("rates", rates)
    weight = _per_page("weights", weights, rate.size)
    cost = _per_page("costs", costs, rate.size, above_zero=True)
    worth = objective.index(rate, np.inf, weight, cost) > 0
    if not worth.any():
        raise InputError(
            f"allocate: none of {rate.size} pages has a rate and a weight above 0, so no poll is"
            " worth anything; give at least one"
        )
    frequencies = np.zeros(rate.size)
    frequencies[worth], price = _solve(objective, rate[worth], budget, weight[worth], cost[worth])
    return Allocation(frequencies, price)


def _solve(
    objective: Objective, rate: Floats, budget: float, weight: Floats, cost: Floats
) -> tuple[Floats, float]:
    """Frequencies and price for pages that are all worth something."""

    def frequencies(log_price: float) -> Floats:
        with np.errstate(divide="ignore"):
            return 1.0 / objective.due(np.exp(log_price), rate, weight, cost)

    def excess(log_price: float) -> float:
        """How far the spending is above the budget, from -1 to 1; it falls with the price."""
        spent = cost @ frequencies(log_price)
        return float(1.0 - 2.0 * budget / (spent + budget))

    # What pages cost at the margin when all are polled equally often lies around the price: at
    # the lowest of these every page wants as much or more, at the highest as much or less.
    margins = objective.index(rate, cost.sum() / budget, weight, cost)
    if not (margins.min() >= np.finfo(np.float64).tiny and margins.max() < np.inf):
        extreme, mend = ("small", "larger") if margins.max() == np.inf else ("large", "smaller")
        raise InputError(
            f"allocate: budget={budget!r} is so {extreme} for these rates that floating point"
            f" cannot hold what a poll is worth; give a {mend} one"
        )
    # A little wider, so that rounding does not put both ends on one side of the budget.
    low, high = np.log(margins.min()) - 1e-9, np.log(margins.max()) + 1e-9
    root = optimize.brentq(excess, low, high, xtol=_XTOL, rtol=_RTOL)
    # Near the price at which pages saturate, prices next to each other as numbers may be far
    # apart in spending. The best allocation is then any mixture of theirs that meets the budget.
    step = 2 * (_XTOL + _RTOL * abs(root))
    more, less = frequencies(root - step), frequencies(root + step)
    spread = cost @ (more - less)
    share = np.clip((budget - cost @ less) / spread, 0.0, 1.0) if spread > 0 else 0.5
    return share * more + (1.0 - share) * less, float(np.exp(root))


def _per_page(
    name: str, values: ArrayLike, pages: int | None = None, above_zero: bool = False
) -> Floats:
    """As an array with one value per page, checked."""
    array = np.asarray(values, np.float64)
    if pages is not None and array.ndim == 0:
        array = np.full(pages, array)
    if array.ndim != 1 or pages not in (None, array.size):
        expected = "one number per page" if pages is None else f"a number or {pages}, as rates"
        raise InputError(f"allocate: {name} has shape {array.shape}; expected {expected}")
    wrong = ~(np.isfinite(array) & ((array > 0) if above_zero else (array >= 0)))
    if wrong.any():
        first = int(np.argmax(wrong))
        bound = "above 0" if above_zero else "of at least 0"
        raise InputError(
            f"allocate: {name}[{first}] = {array[first]} must be a finite number {bound}"
        )
    return array
