"""The papers' pages: that of rank k changes in one step with probability α / k^β."""

import math

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import is_real, is_whole
from pollwise.errors import InputError
from pollwise.kernel_cache import kernel

__all__ = ["RankedPages"]

Ints = NDArray[np.int64]


class RankedPages:
    """`pages` pages by rank, and how they change ranks.

    That of rank k changes with probability `alpha` / k^`beta` in a step (`probabilities`), that of
    a Poisson process with `rates` changes per step. In a swap a page changes ranks with the one
    after it. `swap_every` r: there is a swap every r steps (None: never), of a page drawn by its
    current change probability. `perturbations`: the pages begin in the order of ranks, after so
    many swaps of pages drawn with equal probabilities; None: in random order.

    Source: O.-C. Granmo, B. J. Oommen, S. A. Myrer, M. G. Olsen, "Determining optimal polling
    frequency using a learning automata-based solution to the fractional knapsack problem", 2006,
    section III.C, for the swaps every r steps ("selected by sampling from the current
    Zipf-distribution"); O.-C. Granmo, B. J. Oommen, "Learning automata-based solutions to the
    optimal web polling problem modelled as a nonlinear fractional knapsack problem", 2011, section
    4.3.1, for the perturbations ("a randomly selected material and the material succeeding it").
    """

    def __init__(
        self,
        name: str,
        *,
        pages: int,
        alpha: float,
        beta: float,
        swap_every: int | None = None,
        perturbations: int | None = None,
    ) -> None:
        if not is_whole(pages) or pages < 1:
            raise InputError(f"{name}: pages={pages!r} must be at least 1 (a whole number)")
        if not (is_real(alpha) and 0 < alpha < 1):
            raise InputError(f"{name}: alpha={alpha!r} must be between 0 and 1 (exclusive)")
        if not (is_real(beta) and 0 <= beta < math.inf):
            raise InputError(f"{name}: beta={beta!r} must be a number that is not negative")
        if swap_every is not None and (not is_whole(swap_every) or swap_every < 1):
            raise InputError(f"{name}: swap-every={swap_every!r} must be at least 1 step (whole)")
        if perturbations is not None and (not is_whole(perturbations) or perturbations < 0):
            raise InputError(
                f"{name}: perturbations={perturbations!r} must not be negative (a whole number)"
            )
        with np.errstate(over="ignore"):
            self.probabilities = alpha / np.arange(1.0, pages + 1.0) ** beta
        self.rates = -np.log1p(-self.probabilities)
        if not self.rates[-1] > 0.0:
            raise InputError(
                f"{name}: with beta={beta} and pages={pages} the last pages would never change;"
                " give a smaller beta or fewer pages"
            )
        self.swap_every = swap_every
        self._perturbations = perturbations

    def first_order(self, rng: np.random.Generator) -> Ints:
        """The page of each rank at the begin."""
        if self._perturbations is None:
            return rng.permutation(len(self.probabilities))
        order = np.arange(len(self.probabilities))
        _swap(order, rng.integers(len(order), size=self._perturbations))
        return order

    def draw_ranks(self, rng: np.random.Generator, swaps: int) -> Ints:
        """Ranks to be swapped with the next; for the last rank, that is no swap."""
        share = self.probabilities / self.probabilities.sum()
        return rng.choice(len(share), size=swaps, p=share)


@kernel
def _swap(order: Ints, ranks: Ints) -> None:
    for rank in ranks:
        if rank + 1 < len(order):
            order[rank], order[rank + 1] = order[rank + 1], order[rank]
