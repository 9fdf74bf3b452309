"""The best poll frequencies for given change rates, as `pollwise.knapsack.allocate`, compiled.

A policy that learns computes them again and again during a run. Every page is polled when its index
reaches one common price (see `pollwise.objectives`); only the price that uses up the budget is to
be found.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError
from pollwise.kernel_cache import kernel
from pollwise.objectives import Ephemeral, Objective

__all__ = ["WORTH", "spread_budget", "worth_of"]

WORTH = np.dtype(
    [
        ("shape", "i8"),
        ("power", "f8"),  # of the objective
        ("decay", "f8"),  # of the objective; 0: none
        ("unit", "f8"),  # the factor on the shape
    ]
)
"""An objective."""

_TWO_OR_MORE, _SQUARE, _AGE, _HARMONIC = range(4)
_SHAPES = {
    "detection": _TWO_OR_MORE,
    "freshness": _TWO_OR_MORE,
    "ephemeral": _TWO_OR_MORE,
    "delay": _SQUARE,
    "age": _AGE,
    "harmonic": _HARMONIC,
}
_CLOSE = 1e-7
_QUICK_STEPS = 30
_FARTHEST = 1000.0
_LEAST_TIME = 1e-150


def worth_of(owner: str, objective: Objective) -> NDArray[np.void]:
    """The objective as an array of one WORTH; `InputError` for one that is not known here."""
    if objective.name not in _SHAPES:
        raise InputError(
            f"{owner}: no objective {objective.name!r} here; choose one of {', '.join(_SHAPES)}"
        )
    worth = np.zeros(1, WORTH)
    worth["shape"] = _SHAPES[objective.name]
    worth["power"] = objective.power
    worth["decay"] = objective.decay or 0.0
    worth["unit"] = 1.0
    if isinstance(objective, Ephemeral):
        worth["unit"] = objective.value / objective.decay
    return worth


@kernel
def _two_or_more_inverse(y: float) -> float:
    """The a at which 1 - e^-a (1 + a) = y."""
    if y >= 1.0:
        return math.inf
    target = -math.log1p(-y)
    if target < 1e-10:  # where the difference below would be lost to rounding
        return math.sqrt(2.0 * target) + target * (2.0 / 3.0)
    # a - ln(1 + a) is convex, and its start is above the target (Chatzigeorgiou 2013).
    a = math.sqrt(2.0 * target) + target
    for _ in range(8):
        step = (a - math.log1p(a) - target) * (1.0 + a) / a
        a -= step
        if step <= 1e-12 * a:
            break
    return a


@kernel
def _age_inverse(y: float) -> float:
    """The a at which a²/2 + a e^-a - 1 + e^-a = y."""
    a = max((3.0 * y) ** (1.0 / 3.0), math.sqrt(2.0 * y))
    if a < 1e-2:
        # The difference below would be lost to rounding; y = a³/3 - a⁴/8 + a⁵/30 - ..., inverted.
        return a * (1.0 + a * (0.125 + 0.0135416667 * a))
    for _ in range(8):
        a -= (a * a / 2.0 + (a + 1.0) * math.exp(-a) - 1.0 - y) / (a * -math.expm1(-a))
    return a


@kernel
def _shape_inverse(shape: int, y: float) -> float:
    if shape == _TWO_OR_MORE:
        return _two_or_more_inverse(y)
    if shape == _SQUARE:
        return math.sqrt(2.0 * y)
    if shape == _AGE:
        return _age_inverse(y)
    return (y + math.sqrt(y * y + 4.0 * y)) / 2.0


@kernel
def _frequency_at(worth: Any, price: float, rate: float, weight: float, cost: float) -> float:
    """How often a page is polled at a price, per second; 0: never."""
    if rate <= 0.0 or weight <= 0.0:
        return 0.0
    y = price * cost / weight * rate**worth.power / worth.unit
    a = max(_shape_inverse(worth.shape, y), _LEAST_TIME)
    return (worth.decay if worth.decay > 0.0 else rate) / a


@kernel
def _frequencies(
    worth: Any,
    log_price: float,
    rates: NDArray[np.float64],
    weights: NDArray[np.float64],
    costs: NDArray[np.float64],
) -> NDArray[np.float64]:
    price = math.exp(log_price)
    frequencies = np.empty(len(rates))
    for n in range(len(rates)):
        frequencies[n] = _frequency_at(worth, price, rates[n], weights[n], costs[n])
    return frequencies


@kernel
def _excess(
    worth: Any,
    log_price: float,
    budget: float,
    rates: NDArray[np.float64],
    weights: NDArray[np.float64],
    costs: NDArray[np.float64],
) -> float:
    """The logarithm of the spending as a multiple of the budget; it falls with the price."""
    price, spent = math.exp(log_price), 0.0
    for n in range(len(rates)):
        spent += costs[n] * _frequency_at(worth, price, rates[n], weights[n], costs[n])
    return math.log(spent / budget + 1e-300)


@kernel
def _log_prices(
    worth: Any,
    budget: float,
    rates: NDArray[np.float64],
    weights: NDArray[np.float64],
    costs: NDArray[np.float64],
    start: float,
) -> tuple[float, float]:
    """The logarithms of two neighbouring prices, between which the budget is used up.

    By the Illinois method; by halving where that is slow.
    """
    low = high = start
    above = below = _excess(worth, start, budget, rates, weights, costs)
    step = 0.1
    while above < 0.0 and step < _FARTHEST:
        high, below = low, above
        low -= step
        above = _excess(worth, low, budget, rates, weights, costs)
        step *= 3.0
    while below > 0.0 and step < _FARTHEST:
        low, above = high, below
        high += step
        below = _excess(worth, high, budget, rates, weights, costs)
        step *= 3.0
    side, steps = 0, 0
    while high - low > 1e-14 * (1.0 + abs(low)):
        share = above / (above - below) if steps < _QUICK_STEPS else 0.5
        middle = low + (high - low) * share
        excess = _excess(worth, middle, budget, rates, weights, costs)
        if abs(excess) < _CLOSE or middle in (low, high):
            return middle, middle
        if excess > 0.0:
            low, above = middle, excess
            below *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            high, below = middle, excess
            above *= 0.5 if side == -1 else 1.0
            side = -1
        steps += 1
    return low, high


@kernel
def spread_budget(
    worth: NDArray[Any],
    budget: float,
    rates: NDArray[np.float64],
    weights: NDArray[np.float64],
    costs: NDArray[np.float64],
    price: float,
) -> tuple[NDArray[np.float64], float]:
    """The frequencies (per second) that bring the most, and their price.

    `budget` is in cost units per second; `price` is one to begin with, the nearer the quicker. All
    frequencies are 0 where no page is worth a poll.
    """
    if not (np.minimum(rates, weights) > 0.0).any():
        return np.zeros(len(rates)), price
    one = worth[0]
    low, high = _log_prices(one, budget, rates, weights, costs, math.log(price))
    more = _frequencies(one, low, rates, weights, costs)
    if low == high:
        return more, math.exp(low)
    # Near the price at which pages saturate, neighbouring floats may differ much in spending.
    less = _frequencies(one, high, rates, weights, costs)
    apart = (costs * (more - less)).sum()
    share = (budget - (costs * less).sum()) / apart if apart > 0.0 else 0.5
    share = min(max(share, 0.0), 1.0)
    return share * more + (1.0 - share) * less, math.exp(low)
