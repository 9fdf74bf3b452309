"""LambdaCrawl: the rates of least harmonic staleness, for learned and for known change rates.

A page that lacks n changes costs w (1 + 1/2 + ... + 1/n). Polled at random with rate r (a Poisson
process), a page of change rate Δ costs w ln(1 + Δ/r) on average, and under a budget Σ c r the best
rates are, with λ the price of a cost unit::

    r = (-Δ + √(Δ² + 4 w Δ/(c λ)))/2

Unlike with freshness no page is given up, however fast it changes. The change rates are learned
from yes/no observations, or from the times of changes where servers tell them, and smoothed by half
an imaginary day with a change and another without one; the poll rates are set anew in epochs
(LambdaLearnAndCrawl).

Source: A. Kolobov, Y. Peres, C. Lu, E. Horvitz, "Staying up to date with online content changes
using reinforcement learning for scheduling", NeurIPS 2019 (equation 5, algorithms 1 and 4; their
published experiments have the smoothing and the bounds of rates, from one change in 2000 days to 7
a day). Two things differ. Polls are at regular intervals of 1/r instead of random ones: the copy is
then older than t in a share 1 - rt ≤ e^(-rt) of the time, so with the same rates every page lacks
fewer changes. And a page is not polled at the moment of a change, which would need servers that
announce changes (their algorithm 2).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.objectives import Objective
from pollwise.policies.deadline.optimal import Optimal
from pollwise.policies.estimating.kernels import SMOOTHED
from pollwise.policies.estimating.policy import ReallocatingPolicy

__all__ = ["Harmonic", "KnownLambdaCrawl", "LambdaCrawl"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Harmonic(Objective):
    """The harmonic staleness of pages that are polled at random, τ seconds apart on average.

    A cycle costs A(τ) = w τ ln(1 + λτ), so the index is (w/(cλ)) a²/(1 + a) with a = λτ.
    """

    name = "harmonic"
    power = 1.0
    decay = None
    minimise = True

    def gain(self, rate: ArrayLike, elapsed: ArrayLike, weight: ArrayLike = 1.0) -> Floats:
        """The cost of a cycle, times weight."""
        time = np.asarray(elapsed, np.float64)
        return np.asarray(np.multiply(weight, time) * np.log1p(np.multiply(rate, time)))[()]

    def shape(self, a: ArrayLike) -> Floats:
        """a²/(1 + a)."""
        a = np.asarray(a, np.float64)
        with np.errstate(divide="ignore"):
            return np.asarray(a / (1.0 + 1.0 / a))[()]

    def shape_inverse(self, y: ArrayLike) -> Floats:
        """Finite everywhere."""
        y = np.asarray(y, np.float64)
        return np.asarray((y + np.sqrt(y * (y + 4.0))) / 2.0)[()]


class LambdaCrawl(ReallocatingPolicy):
    """Polls at the rates of least harmonic staleness, and learns the change rates.

    A share `exploration` of the budget goes to all pages equally; the method needs none.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = LambdaCrawl()
    >>> policy.add([Page(n, seen_at=0.0) for n in range(8)])
    >>> for hour in range(1, 100):
    ...     (page_id,) = policy.select(hour * 3600.0, limit=1).page_ids.tolist()
    ...     policy.observe([Observation(page_id, hour * 3600.0, Outcome(page_id == 0))])
    >>> (policy.rates()[:3] * 86400.0).round(1)
    array([7. , 0.2, 0.2])
    """

    name = "lambdacrawl"

    def __init__(self, *, exploration: float = 0.0) -> None:
        super().__init__(SMOOTHED, Harmonic(), exploration=exploration)


class KnownLambdaCrawl(Optimal):
    """Polls at the rates of least harmonic staleness for known change rates.

    `rates` are changes per second by page id, `budget` is in cost units per second.

    >>> from pollwise.types import Page
    >>> policy = KnownLambdaCrawl(rates={0: 1.0, 1: 4.0}, budget=3.0)
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> (1.0 / policy.state.pages["interval"][:2]).round(3)
    array([1.194, 1.806])
    """

    def __init__(self, *, rates: Mapping[int, float], budget: float) -> None:
        super().__init__(rates=rates, budget=budget, objective=Harmonic())
