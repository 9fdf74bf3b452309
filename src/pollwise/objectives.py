"""What a poll is worth: gain of a cycle, index of a waiting page, and the time at which it is due.

A page changes as a Poisson process of `rate` λ and was last polled `elapsed` τ ago; a = λτ is the
number of changes to be expected since. G(τ) is what a cycle of length τ between two polls is
worth to a page of weight w; for the last two objectives of the table it is what the cycle costs,
A(τ). With polls of cost c, the index of the page is the price at which polling now and waiting a
little are equally good, [G(τ) - τ G′(τ)] / c, or [τ A′(τ) - A(τ)] / c:

=========  ======================================  ===================================
objective  G(τ), or cost A(τ)                      index
=========  ======================================  ===================================
detection  w (1 - e^-a)                            (w/c) [1 - e^-a (1 + a)]
freshness  (w/λ) (1 - e^-a)                        (w/(cλ)) [1 - e^-a (1 + a)]
ephemeral  w (λξ/μ) (1 - e^-μτ)                    (w λξ/(cμ)) [1 - e^-μτ (1 + μτ)]
delay      w λτ²/2                                 w λτ²/(2c)
age        w [τ²/2 - τ/λ + (1 - e^-a)/λ²]          (w/(cλ²)) [a²/2 + a e^-a - 1 + e^-a]
=========  ======================================  ===================================

All have one form, so a learner can take the expectation over a distribution P of rates::

    index = (w/c) Σ_j P_j rate_j**(-power) shape((decay or rate_j) * elapsed)

`decay` is None except for ephemeral content, where time counts in lifetimes of an item (1/μ)
instead of in times between two changes. `docs/theory.md` derives the table.

References (in full in `docs/theory.md`): Whittle (1988), the index; Cho and Garcia-Molina (2003),
freshness and age; Avrachenkov and Borkar (2015), ephemeral content and the discrete form; Azar et
al. (2018), prices of freshness; Kolobov et al. (2019), costs that grow with the unseen changes.
"""

import inspect
import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.checks import require
from pollwise.errors import InputError
from pollwise.numerics import as_floats, two_or_more, two_or_more_inverse, two_or_more_steps

__all__ = [
    "OBJECTIVES",
    "Age",
    "Delay",
    "Detection",
    "Ephemeral",
    "Freshness",
    "Objective",
    "discrete_detection_index",
    "discrete_index",
    "objective",
]

Floats = NDArray[np.float64]

# rate**-2 of a smaller rate would overflow; one change in 1e92 years counts as none.
_SMALLEST_RATE = 1e-100


@runtime_checkable
class Objective(Protocol):
    """What a poll is worth: the interface, and the methods that all objectives share.

    All methods broadcast their arguments like numpy and give an array of float64 (a numpy float
    where all arguments are scalars). Rates are per second and at least 0, times are seconds and
    at least 0, weights at least 0, costs more than 0; this is not checked, because the methods
    are called for every decision.
    """

    name: str
    """The name by which `objective` finds it."""
    power: float
    """The power of 1/rate by which the index is scaled."""
    decay: float | None
    """What `elapsed` is multiplied by for `shape`; None: the page's change rate."""
    minimise: bool = False
    """Whether `gain` is a cost, of which less is better."""

    def gain(self, rate: ArrayLike, elapsed: ArrayLike, weight: ArrayLike = 1.0) -> Floats:
        """What a cycle of length `elapsed` brings: G(τ), or what it costs: A(τ)."""
        ...

    def shape(self, a: ArrayLike) -> Floats:
        """The index as a function of scaled time a, up to weight, cost and a power of the rate.

        It grows from 0; relative error below 1e-9 everywhere, however small `a` is.
        """
        ...

    def shape_inverse(self, y: ArrayLike) -> Floats:
        """The scaled time at which `shape` reaches y >= 0; infinite where it never does."""
        ...

    def index(
        self,
        rate: ArrayLike,
        elapsed: ArrayLike,
        weight: ArrayLike = 1.0,
        cost: ArrayLike = 1.0,
    ) -> Floats:
        """The price per cost unit at which a poll is just worth it now; 0 where rate is 0."""
        rate, changing = _changing(rate)
        with np.errstate(over="ignore", invalid="ignore"):
            y = self.shape(np.multiply(rate if self.decay is None else self.decay, elapsed))
            index = np.divide(weight, cost) * (rate**-self.power * y)
        return as_floats(np.where(changing, index, 0.0))

    def due(
        self,
        price: ArrayLike,
        rate: ArrayLike,
        weight: ArrayLike = 1.0,
        cost: ArrayLike = 1.0,
    ) -> Floats:
        """The elapsed time at which the index reaches `price`: the inverse of `index`.

        Infinite where it never does, 0 where `price` is not above 0.
        """
        rate, changing = _changing(rate)
        price = np.asarray(price, np.float64)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            y = np.maximum(price, 0.0) * np.divide(cost, weight) * rate**self.power
            time = self.shape_inverse(y) / (rate if self.decay is None else self.decay)
        reached = changing & (np.asarray(weight) > 0)
        return as_floats(np.where(price <= 0, 0.0, np.where(reached, time, np.inf)))


class _Saturating(Objective, Protocol):
    """An objective whose shape is 1 - e^-a (1 + a), the probability of two or more changes."""

    def shape(self, a: ArrayLike) -> Floats:
        """1 - e^-a (1 + a)."""
        return two_or_more(a)

    def shape_inverse(self, y: ArrayLike) -> Floats:
        """Infinite for y >= 1."""
        return two_or_more_inverse(y)


@dataclass(frozen=True)
class Detection(_Saturating):
    """Every change that is seen counts; of several changes between two polls, only one is seen.

    >>> Detection().index(rate=1.0, elapsed=[0.0, 1.0, 2.0]).round(4)
    array([0.    , 0.2642, 0.594 ])
    """

    name = "detection"
    power = 0.0
    decay = None

    def gain(self, rate: ArrayLike, elapsed: ArrayLike, weight: ArrayLike = 1.0) -> Floats:
        """The probability of at least one change, times weight."""
        rate, changing = _changing(rate)
        seen = np.multiply(weight, -np.expm1(-np.multiply(rate, elapsed)))
        return as_floats(np.where(changing, seen, 0.0))


@dataclass(frozen=True)
class Freshness(_Saturating):
    """The time during which the copy equals the page counts.

    A page that changes much faster than it can be polled has an index that never reaches the
    price: it is best left alone (Cho and Garcia-Molina 2003).

    >>> float(Freshness().due(price=2.0, rate=1.0))
    inf
    """

    name = "freshness"
    power = 1.0
    decay = None

    def gain(self, rate: ArrayLike, elapsed: ArrayLike, weight: ArrayLike = 1.0) -> Floats:
        """The expected seconds of a cycle before the first change, times weight."""
        rate, changing = _changing(rate)
        fresh = -np.expm1(-np.multiply(rate, elapsed)) / rate
        return as_floats(np.multiply(weight, np.where(changing, fresh, elapsed)))


@dataclass(frozen=True)
class Delay(Objective):
    """Every change costs the seconds that it waits to be seen; none is overwritten.

    >>> float(Delay().due(price=2.0, rate=1.0))
    2.0
    """

    name = "delay"
    power = 1.0
    decay = None
    minimise = True

    def gain(self, rate: ArrayLike, elapsed: ArrayLike, weight: ArrayLike = 1.0) -> Floats:
        """The cost: the summed waiting times of the changes of a cycle, times weight."""
        rate, changing = _changing(rate)
        waited = np.multiply(weight, rate) * np.square(np.asarray(elapsed, np.float64)) / 2
        return as_floats(np.where(changing, waited, 0.0))

    def shape(self, a: ArrayLike) -> Floats:
        """a²/2."""
        return as_floats(np.square(np.asarray(a, np.float64)) / 2)

    def shape_inverse(self, y: ArrayLike) -> Floats:
        """Finite everywhere."""
        return as_floats(np.sqrt(np.multiply(y, 2.0)))


@dataclass(frozen=True)
class Age(Objective):
    """At any moment the copy costs the seconds since the first change that it lacks.

    >>> Age().gain(rate=1.0, elapsed=[0.0, 1.0, 2.0]).round(4)
    array([0.    , 0.1321, 0.8647])
    """

    name = "age"
    power = 2.0
    decay = None
    minimise = True

    def gain(self, rate: ArrayLike, elapsed: ArrayLike, weight: ArrayLike = 1.0) -> Floats:
        """The cost: the age of the copy summed over a cycle (square seconds), times weight."""
        rate, changing = _changing(rate)
        a = np.multiply(rate, elapsed)
        with np.errstate(over="ignore", invalid="ignore"):
            small = a**3 * np.polynomial.polynomial.polyval(np.minimum(a, 1.0), _AGE_COST_SERIES)
            # a (a/2 - 1) instead of a²/2 - a: an infinite time costs infinitely much.
            age = np.where(a < 0.5, small, a * (a / 2 - 1) - np.expm1(-a)) / rate**2
        return as_floats(np.multiply(weight, np.where(changing, age, 0.0)))

    def shape(self, a: ArrayLike) -> Floats:
        """a²/2 + a e^-a - 1 + e^-a."""
        a = np.asarray(a, np.float64)
        with np.errstate(over="ignore"):
            small = a**3 * np.polynomial.polynomial.polyval(np.minimum(a, 1.0), _AGE_SERIES)
            return as_floats(np.where(a < 0.5, small, a**2 / 2 - two_or_more(a)))

    def shape_inverse(self, y: ArrayLike) -> Floats:
        """Finite everywhere; by Newton's method."""
        y = np.asarray(y, np.float64)
        # The shape is convex and lies below both a³/3 and a²/2, so this start is too small, the
        # first step leads past the solution, and the further ones come down to it.
        start = np.fmax(np.cbrt(3 * y), np.sqrt(2 * y))
        inner = (start > 0) & np.isfinite(start)
        a = np.where(inner, start, 1.0)
        target = np.where(inner, y, self.shape(1.0))
        for _ in range(6):
            a -= (self.shape(a) - target) / (a * -np.expm1(-a))
        return as_floats(np.where(inner, a, start))


@dataclass(frozen=True)
class Ephemeral(Objective):
    """New items count by their value, which fades between their appearance and the poll.

    A page (a feed, say) publishes items at its `rate`; the value of an item, `value` on average,
    fades as e^(-decay * age). `decay` is per second and more than 0, `value` more than 0;
    `InputError` otherwise.

    >>> Ephemeral(decay=0.1).index(rate=2.0, elapsed=10.0).round(4)
    np.float64(5.2848)
    """

    decay: float
    value: float = 1.0
    name = "ephemeral"
    power = -1.0

    def __post_init__(self) -> None:
        for name in ("decay", "value"):
            number = getattr(self, name)
            demand = "a finite number above 0; for items that do not fade use Detection or Delay"
            require(f"Ephemeral: {name}", number, 0 < number < math.inf, demand)

    def gain(self, rate: ArrayLike, elapsed: ArrayLike, weight: ArrayLike = 1.0) -> Floats:
        """The expected value of the items at the end of a cycle, times weight."""
        kept = -np.expm1(-np.multiply(self.decay, elapsed)) * (self.value / self.decay)
        return as_floats(np.multiply(weight, rate) * kept)

    def shape(self, a: ArrayLike) -> Floats:
        """(ξ/μ) [1 - e^-a (1 + a)] of time in units of 1/μ."""
        return as_floats(two_or_more(a) * (self.value / self.decay))

    def shape_inverse(self, y: ArrayLike) -> Floats:
        """Infinite for y >= ξ/μ."""
        return two_or_more_inverse(np.multiply(y, self.decay / self.value))


def objective(name: str | Objective, **parameters: float) -> Objective:
    """The objective of this name; `ephemeral` takes the parameters `decay` and `value`.

    An objective itself is given back: whatever takes an objective takes its name, too.
    `InputError` for an unknown name (it lists the names), wrong parameters, or anything else.

    >>> objective("freshness")
    Freshness()
    >>> objective("ephemeral", decay=0.5)
    Ephemeral(decay=0.5, value=1.0)
    >>> objective(Delay())
    Delay()
    """
    if isinstance(name, type):
        raise InputError(
            f"objective: {name.__name__} is a class; give an object, such as {name.__name__}()"
        )
    if isinstance(name, Objective) and not parameters:
        return name
    if not isinstance(name, str) or name not in OBJECTIVES:
        raise InputError(f"no such objective: {name!r}; choose one of {', '.join(OBJECTIVES)}")
    kind = OBJECTIVES[name]
    try:
        inspect.signature(kind).bind(**parameters)
    except TypeError as error:
        takes = inspect.signature(kind).parameters
        raise InputError(
            f"objective {name!r}: {error}; its parameters: {', '.join(takes) or 'none'}"
        ) from error
    return kind(**parameters)


def discrete_index(
    state: ArrayLike, retention: float, inflow: ArrayLike, cost: ArrayLike = 1.0
) -> Floats:
    """The Whittle index γ(x) of a page that can be polled at regular epochs only.

    `state` x is the value that waits at the page: from one epoch to the next it becomes
    αx + u, with the `retention` α = e^(-μT) in (0, 1) and the `inflow` u = (Λξ/μ)(1 - α) > 0, and
    a poll of `cost` C takes it all and leaves u. For x between u and u/(1 - α)::

        γ(x) = (1/C) [η ((1 - α) x - u) + u (1 - α^η)/(1 - α)],  η = ⌈log⁺_α((u - (1 - α) x)/u)⌉

    (Avrachenkov and Borkar 2015.) Beyond, where rounding may lead, it is that of u/(1 - α).
    `InputError` if α is out of range.
    """
    demand = "between 0 and 1 (exclusive); it is e^(-decay * epoch)"
    require("discrete_index: retention", retention, 0 < retention < 1, demand)
    x, u = np.asarray(state, np.float64), np.asarray(inflow, np.float64)
    rise = np.maximum(u - (1 - retention) * x, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        epochs = np.ceil(np.maximum(np.log(rise / u) / math.log(retention), 0.0))
        total = u * (1 - retention**epochs) / (1 - retention)
        # At the limit of the state, which no finite number of epochs reaches, rise is 0.
        return as_floats(np.divide(total - np.where(rise > 0, epochs * rise, 0.0), cost))


def discrete_detection_index(
    steps: ArrayLike,
    change_probability: ArrayLike,
    weight: ArrayLike = 1.0,
    cost: ArrayLike = 1.0,
) -> Floats:
    """The Whittle index of detection in discrete time, `steps` n >= 0 steps after the last poll.

    A page changes within one step with probability p = 1 - q. This is `discrete_index` with α = q
    in the state w (1 - q^n)::

        (w/c) [1 - q^n (1 + n p)] = (w/c) I_p(2, n)

    the probability of two or more changes in n + 1 steps (I: the regularised incomplete beta
    function, which does not suffer from cancellation).

    >>> discrete_detection_index([0, 1, 2], 0.5)
    array([0.  , 0.25, 0.5 ])
    """
    return as_floats(np.divide(weight, cost) * two_or_more_steps(steps, change_probability))


OBJECTIVES: dict[str, type[Objective]] = {
    kind.name: kind for kind in (Detection, Freshness, Delay, Age, Ephemeral)
}
"""Every objective by the name that people say."""

# Both without the factor a³: the cost a²/2 - a + 1 - e^-a and the shape a²/2 + a e^-a - 1 + e^-a.
_AGE_COST_SERIES = [(-1) ** (k + 1) / math.factorial(k) for k in range(3, 18)]
_AGE_SERIES = [(-1) ** (k + 1) * (k - 1) / math.factorial(k) for k in range(3, 18)]


def _changing(rate: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """The rates, with 1 instead of those that count as 0, and which ones do not."""
    rate = np.asarray(rate, np.float64)
    changing = rate > _SMALLEST_RATE
    return np.where(changing, rate, 1.0), changing
