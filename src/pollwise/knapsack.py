"""The best poll frequencies under a budget, when all change rates are known: an exact solver.

Polling page i every τ seconds brings G_i(τ)/τ and takes c_i/τ of the budget per second. The gain
is concave in the frequency f = 1/τ, so this is a fractional knapsack with falling returns. The
total is greatest where all pages have the same marginal gain, (G - τ G′)/c = price: every page is
polled when its index reaches the price, and a page whose index never does is not polled. Only the
price that uses up the budget is left to find. `docs/theory.md` has the argument; Cho and
Garcia-Molina (2003) solved it for freshness.

`allocate` does this for the objectives. The other functions solve the knapsack of Granmo and
Oommen: page i offered the amount x_i pays with probability p_i(x_i), which falls with x_i, and the
amounts sum to a capacity. The best amounts are those at which all pages pay equally well;
`polling_amounts` and `concave_amounts` find them, `det_ks` in whole units.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.checks import require_positive, require_whole
from pollwise.errors import InputError
from pollwise.kernel_cache import kernel
from pollwise.numerics import root
from pollwise.objectives import Objective
from pollwise.objectives import objective as objective_of

__all__ = [
    "Allocation",
    "allocate",
    "concave_amounts",
    "det_ks",
    "polling_amounts",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The absolute and relative tolerances of the logarithm of the price.
_ABSOLUTE, _RELATIVE = 1e-13, 1e-14
_ROUNDING = 1e-12
"""By what share a capacity may exceed what the pages can take."""
_SIGN = 2**63
"""The bit of the sign."""


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """`frequencies` in polls per second, one per page, and the `price` of a cost unit."""

    frequencies: Floats
    price: float


def allocate(
    objective: str | Objective,
    rates: ArrayLike,
    budget: float,
    weights: ArrayLike = 1.0,
    costs: ArrayLike = 1.0,
) -> Allocation:
    """The poll frequencies that bring the most a second, with sum(costs * frequencies) = budget.

    `objective` may also be its name. `rates` are changes per second, one per page; `budget` is in
    cost units per second; `weights` and `costs` are numbers, or one per page. A page that never
    changes or weighs nothing gets no polls. `InputError` for values out of range, and where no page
    is worth a poll at all.

    For detection, equal margins mean equal λ/f: a frequency in proportion to the change rate.

    >>> allocate("detection", [1.0, 2.0, 0.0, 5.0], budget=4.0).frequencies.round(6)
    array([0.5, 1. , 0. , 2.5])

    For freshness it may not pay to poll a page that changes often:

    >>> allocate("freshness", [0.1, 0.1, 50.0], budget=0.2).frequencies.round(6)
    array([0.1, 0.1, 0. ])
    """
    objective = objective_of(objective)
    require_positive("allocate", "budget", budget)
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

    # The indices of pages that are all polled equally often enclose the price: at the lowest of
    # them every page wants that frequency or a higher one, at the highest that or a lower one.
    margins = objective.index(rate, cost.sum() / budget, weight, cost)
    if not (margins.min() >= np.finfo(np.float64).tiny and margins.max() < np.inf):
        extreme, mend = ("small", "larger") if margins.max() == np.inf else ("large", "smaller")
        raise InputError(
            f"allocate: budget={budget!r} is so {extreme} for these rates that floating point"
            f" cannot hold what a poll is worth; give a {mend} one"
        )
    # A little wider, so that rounding does not put both ends on one side of the budget.
    low, high = np.log(margins.min()) - 1e-9, np.log(margins.max()) + 1e-9
    if not excess(low) >= 0.0 >= excess(high):
        raise InputError(
            f"allocate: budget={budget!r}, rates, weights and costs are so many orders of magnitude"
            " apart that floating point cannot hold what a poll is worth; give numbers nearer to 1"
        )
    log_price = root(excess, low, high, absolute=_ABSOLUTE, relative=_RELATIVE)
    # Near the price at which pages saturate, neighbouring floats may differ much in spending.
    # Any mixture of their allocations that meets the budget is then a best one.
    step = 2 * (_ABSOLUTE + _RELATIVE * abs(log_price))
    more, less = frequencies(log_price - step), frequencies(log_price + step)
    spread = cost @ (more - less)
    share = np.clip((budget - cost @ less) / spread, 0.0, 1.0) if spread > 0 else 0.5
    return share * more + (1.0 - share) * less, float(np.exp(log_price))


def _per_page(
    name: str, values: ArrayLike, pages: int | None = None, above_zero: bool = False
) -> Floats:
    """As an array with one value per page, checked."""
    array = _as_array("allocate", name, values)
    if pages is not None and array.ndim == 0:
        array = np.full(pages, array)
    if array.ndim != 1 or pages not in (None, array.size):
        expected = "one number per page" if pages is None else f"a number or {pages}, as rates"
        raise InputError(f"allocate: {name} has shape {array.shape}; expected {expected}")
    fits = np.isfinite(array) & ((array > 0) if above_zero else (array >= 0))
    bound = "above 0" if above_zero else "of at least 0"
    _require_all("allocate", name, array, fits, f"a finite number {bound}")
    return array


def _as_array(function: str, name: str, values: ArrayLike) -> Floats:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{function}: {name} must be an array of numbers: {error}") from None


def _require_all(
    function: str, name: str, array: Floats, fits: NDArray[np.bool_], expected: str
) -> None:
    """`InputError` that names the first entry that does not fit."""
    if not fits.all():
        first = int(np.argmin(fits))
        raise InputError(f"{function}: {name}[{first}] = {array[first]} must be {expected}")


def polling_amounts(unchanged: ArrayLike, capacity: float = 1.0) -> Floats:
    """The best amounts for pages that pay with probability d(x) = 1 - q^(1/x): c ln q_i / Σ ln q.

    `unchanged` are the q, one per page, between 0 and 1 (exclusive): the probability of no change
    in one step; `capacity` c is what the amounts sum to. All d_i(x_i) are equal then, which are
    the Lagrange conditions of the knapsack (Granmo and Oommen 2010). `InputError` for values out
    of range.

    >>> polling_amounts([0.5, 0.25, 0.5]).tolist()
    [0.25, 0.5, 0.25]
    """
    require_positive("polling_amounts", "capacity", capacity)
    q = _as_array("polling_amounts", "unchanged", unchanged)
    if q.ndim != 1 or q.size == 0:
        raise InputError(f"polling_amounts: unchanged has shape {q.shape}; give a number per page")
    inside = (q > 0) & (q < 1)
    expected = "between 0 and 1 (exclusive): the probability of no change in a step"
    _require_all("polling_amounts", "unchanged", q, inside, expected)
    hazards = -np.log(q)
    return capacity * (hazards / hazards.sum())


def concave_amounts(
    marginal_values: Callable[[Floats], Floats], limits: ArrayLike, capacity: float = 1.0
) -> Floats:
    """The best amounts for any marginal values that do not rise: all equal, or at a limit.

    `marginal_values` is called with amounts x, one per page, above 0 and at most the page's limit,
    and gives the p_i(x_i); it is not checked that these do not rise. `limits` are the most that
    each page can take, `capacity` is what the amounts sum to, up to rounding. Bisection finds the
    common price p, and for each price the largest amounts with p_i(x_i) >= p. `InputError` for
    values out of range and for a capacity above the sum of the limits.

    >>> concave_amounts(lambda x: [4.0, 8.0] - x, limits=[9.0, 3.0], capacity=5.0).round(9)
    array([2., 3.])
    """
    require_positive("concave_amounts", "capacity", capacity)
    limit = _as_array("concave_amounts", "limits", limits)
    if limit.ndim != 1 or limit.size == 0:
        raise InputError(f"concave_amounts: limits has shape {limit.shape}; give one for each page")
    _require_all("concave_amounts", "limits", limit, limit > 0, "an amount above 0")
    room = float(limit.sum())
    if capacity > room * (1.0 + _ROUNDING):
        raise InputError(
            f"concave_amounts: capacity={capacity!r} is more than the pages can take; it must be at"
            f" most {room}, the sum of the limits"
        )
    capacity = min(capacity, room)

    def values(amounts: Floats) -> Floats:
        paid = _as_array("concave_amounts", "what marginal_values gives", marginal_values(amounts))
        if paid.shape != amounts.shape or np.isnan(paid).any():
            raise InputError(
                f"concave_amounts: marginal_values gave an array of shape {paid.shape}, with"
                f" {np.isnan(paid).sum()} entries that are no numbers, for {amounts.size} amounts;"
                " it must give a number for each"
            )
        return paid

    return _equal_margins(values, np.minimum(limit, capacity), capacity)


def _equal_margins(values: Callable[[Floats], Floats], limit: Floats, capacity: float) -> Floats:
    """The amounts at the common price; each limit is at most `capacity`, their sum at least."""
    # The first underflows for tiny capacities.
    finest = max(np.finfo(np.float64).eps * capacity, np.finfo(np.float64).smallest_subnormal)

    def largest(price: float, low: Floats, high: Floats) -> Floats:
        """The largest amounts that are worth `price`; they are between `low` and `high`."""
        while (high - low).max() > finest:
            middle = low + (high - low) / 2
            # The amount 0 has no value; only a page whose search has ended can be there.
            worth = values(np.where(middle > 0, middle, limit)) >= price
            low, high = np.where(worth, middle, low), np.where(worth, high, middle)
        return low

    # The same share of every limit uses the capacity up. Above the highest value there, no page
    # wants more; at the lowest, no page wants less.
    share = limit * (capacity / limit.sum())
    there = values(share)
    low_price, high_price = float(there.min()), float(np.nextafter(there.max(), np.inf))
    most = largest(low_price, share, limit)
    least = largest(high_price, np.zeros(limit.size), share)
    while low_price < (price := _between(low_price, high_price)):
        amounts = largest(price, least, most)
        if amounts.sum() >= capacity:
            low_price, most = price, amounts
        else:
            high_price, least = price, amounts
    # Pages that are indifferent at the price share what is left, in any way.
    spread = (most - least).sum()
    part = np.clip((capacity - least.sum()) / spread, 0.0, 1.0) if spread > 0 else 1.0
    return least + part * (most - least)


def _between(low: float, high: float) -> float:
    """The middle of all floats from `low` to `high`; `low` if there is none between.

    So 64 halvings find a price of any order of magnitude.
    """
    # Read as integers, floats are in order, the negative ones backwards.
    bits = np.array([low, high]).view(np.int64).tolist()
    middle = sum(n if n >= 0 else -(n + _SIGN) for n in bits) // 2
    return float(np.array(middle if middle >= 0 else -middle - _SIGN).view(np.float64))


def det_ks(values: ArrayLike, units: int, *, printed: bool = False) -> Ints:
    """Deal out `units` units of capacity one by one, each to the page where it is worth most.

    `values[i, j]` is the marginal value of page i at the amount of j + 1 units. Every page starts
    with one unit; each further unit goes to the page with the highest value at its next amount
    (of equals: the lowest id). Gives the units of each page. `InputError` for values that are no
    table of numbers, and for fewer units than pages or more than the table has.

    `printed` deals as the pseudo-code has it: a unit goes where units times value rises most, as if
    a page paid the value of its amount for each of its units. For pages that pay with probability
    1 - q^(1/x) both lead to the same amounts.

    Source: DET-KS of S. Glimsdal, "Efficient Gaussian process based optimistic knapsack sampling
    with applications to stochastic resource allocation", University of Agder, 2013, section 6.1.1.

    Where values fall along each row, this is the best deal that gives every page one unit:

    >>> det_ks([[0.9, 0.5, 0.2], [0.8, 0.7, 0.6]], units=4)
    array([1, 3])

    Elsewhere it need not be. Page 0 has a poor second unit before a rich third one, and the deal
    does not look ahead: it brings 0.1 + 0.4, while [3, 1] would bring 1.0 + 0.1.

    >>> det_ks([[0.1, 0.0, 0.9], [0.1, 0.2, 0.1]], units=4)
    array([1, 3])

    In print, page 1 would add 2 * 0.7 - 0.8 and then 3 * 0.6 - 1.4, page 0 only 2 * 0.6 - 0.9:

    >>> det_ks([[0.9, 0.6, 0.2], [0.8, 0.7, 0.6]], units=4, printed=True)
    array([1, 3])
    """
    table = _as_array("det_ks", "values", values)
    if table.ndim != 2 or table.size == 0 or np.isnan(table).any():
        raise InputError(
            f"det_ks: values has shape {table.shape} and {np.isnan(table).sum()} entries that are"
            " no numbers; give a row of values for each page, one for each number of units"
        )
    require_whole("det_ks", "units", units, least=len(table), most=table.size)
    amounts = np.arange(1, table.shape[1] + 1)
    # What each unit adds: the amount that a page starts with is not compared.
    added = np.diff(amounts * table, axis=1, prepend=0.0) if printed else table
    return _deal_units(np.ascontiguousarray(added), units)


@kernel
def _deal_units(values: Floats, units: int) -> Ints:
    pages, most = values.shape
    dealt = np.ones(pages, np.int64)
    if most == 1:
        return dealt
    offers = [(-values[page, 1], page) for page in range(pages)]
    heapq.heapify(offers)
    for _ in range(units - pages):
        page = offers[0][1]
        dealt[page] += 1
        if dealt[page] < most:
            heapq.heapreplace(offers, (-values[page, dealt[page]], page))
        else:
            heapq.heappop(offers)
    return dealt
