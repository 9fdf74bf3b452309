"""Special functions and a root finder, for arrays: all that the engine needs beside numpy."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "as_floats",
    "root",
    "two_or_more",
    "two_or_more_inverse",
    "two_or_more_steps",
]

Floats = NDArray[np.float64]

_SERIES = [1.0 / math.factorial(k) for k in range(2, 22)]
"""Of (e^a - 1 - a) / a²: enough for a <= 1."""
_LOGARITHM = [1.0 / k for k in range(2, 40)]
"""Of (-log(1 - p) - p) / p²: enough for p <= 0.4."""
_BELOW_ONE = float(np.nextafter(1.0, 0.0))


def two_or_more(a: ArrayLike) -> Floats:
    """1 - e^-a (1 + a), without cancellation: two events or more where `a` >= 0 are expected.

    The regularised incomplete gamma function P(2, a).

    >>> two_or_more([0.0, 1e-8, 1.0, np.inf])
    array([0.00000000e+00, 4.99999997e-17, 2.64241118e-01, 1.00000000e+00])
    """
    a = np.asarray(a, np.float64)
    small, large = np.minimum(a, 1.0), np.clip(a, 1.0, 800.0)  # e^-800 is 0
    series = np.exp(-small) * small**2 * np.polynomial.polynomial.polyval(small, _SERIES)
    return as_floats(np.where(a <= 1.0, series, 1.0 - np.exp(-large) * (1.0 + large)))


def two_or_more_inverse(y: ArrayLike) -> Floats:
    """The `a` with `two_or_more(a)` = `y`, for y >= 0; infinite for y >= 1.

    By Newton's method, from between √(2t) + 2t/3 < a < √(2t) + t, t = -log(1 - y): Chatzigeorgiou
    (2013), "Bounds on the Lambert function and their application to the outage analysis of user
    cooperation", theorem 1.

    >>> two_or_more_inverse(two_or_more([0.0, 1e-5, 0.5, 20.0, np.inf])).round(9)
    array([0.e+00, 1.e-05, 5.e-01, 2.e+01,    inf])
    """
    y = np.minimum(np.asarray(y, np.float64), 1.0)
    with np.errstate(divide="ignore"):
        surprise = -np.log1p(-y)
    inner = (surprise > 0) & np.isfinite(surprise)
    wanted, probability = np.where(inner, surprise, 1.0), np.where(inner, y, -math.expm1(-1.0))
    a = np.sqrt(2.0 * wanted) + 5.0 / 6.0 * wanted
    for _ in range(6):
        # By probabilities, which are exact where they are small, or by their logarithms.
        likely = (a - np.log1p(a) - wanted) * (1.0 + a) / a
        unlikely = (two_or_more(a) - probability) * np.exp(np.minimum(a, 9.0)) / a
        a = a - np.where(probability > 0.5, likely, unlikely)
    return as_floats(np.where(inner, a, surprise))


def two_or_more_steps(steps: ArrayLike, probability: ArrayLike) -> Floats:
    """1 - q^n (1 + n p), q = 1 - p, without cancellation, for n >= 0 `steps` and 0 <= p <= 1.

    The chance of two events or more in n + 1 steps, with one in a step at the `probability` p; the
    regularised incomplete beta function I_p(2, n).

    >>> two_or_more_steps([0, 1, 2], 0.5)
    array([0.  , 0.25, 0.5 ])
    """
    n, p = np.minimum(steps, 1e300), np.minimum(probability, _BELOW_ONE)
    rate = -np.log1p(-p)  # of a process that is quiet as often
    small = np.minimum(p, 0.4)
    series = small**2 * np.polynomial.polynomial.polyval(small, _LOGARITHM)
    excess = np.where(p <= 0.4, series, rate - p)
    expected = n * rate
    return as_floats(two_or_more(expected) + np.exp(-expected) * n * excess)


def root(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    absolute: float,
    relative: float = 1e-15,
) -> float:
    """A root of a continuous function that has different signs at `low` and `high`.

    It is off by at most `absolute` + `relative` * |root|. Chandrupatla (1997), "A new hybrid
    quadratic/bisection algorithm for finding the zero of a nonlinear function": bisection, or
    inverse quadratic interpolation where that is safe. `ValueError` if the signs do not differ, or
    the function gives NaN.

    >>> round(root(lambda x: x * x - 2.0, 0.0, 2.0, absolute=1e-12), 10)
    1.4142135624
    """
    a, b = low, high
    at_a, at_b = _number(function, a), _number(function, b)
    if at_a != 0 and at_b != 0 and (at_a > 0) == (at_b > 0):
        raise ValueError(f"the function has one sign at {low} and {high}: {at_a} and {at_b}")
    c, at_c, share = b, at_b, 0.5
    while True:
        # The root is between a, the newest point, and b; c was a or b before.
        best, at_best = (a, at_a) if abs(at_a) < abs(at_b) else (b, at_b)
        tolerance = absolute + relative * abs(best)
        if at_best == 0 or abs(b - a) <= tolerance:
            return best
        least = 0.5 * tolerance / abs(b - a)
        new = a + min(max(share, least), 1.0 - least) * (b - a)
        at_new = _number(function, new)
        if (at_new > 0) == (at_a > 0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = new, at_new
        share = _interpolated(a, at_a, b, at_b, c, at_c)


def _number(function: Callable[[float], float], x: float) -> float:
    """The function at `x`; `ValueError` if that is NaN, which would look like a sign."""
    value = function(x)
    if math.isnan(value):
        raise ValueError(f"the function is no number at {x}")
    return value


def _interpolated(a: float, at_a: float, b: float, at_b: float, c: float, at_c: float) -> float:
    """How far from a to b the next point lies."""
    xi = (a - b) / (c - b)
    phi = (at_a - at_b) / (at_c - at_b)
    if not phi * phi < xi or not (1.0 - phi) ** 2 < 1.0 - xi:
        return 0.5
    towards_b = at_a / (at_b - at_a) * at_c / (at_b - at_c)
    towards_c = (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
    return towards_b + towards_c


def as_floats(values: ArrayLike) -> Floats:
    """As float64; a 0-dimensional array as a numpy float."""
    result: Floats = np.asarray(values, np.float64)[()]
    return result
