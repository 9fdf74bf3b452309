"""The state of Gaussian process based optimistic knapsack sampling: compiled kernels.

Amounts are counted in steps, of which the knapsack holds as many as the basis has points; the
value of a page at s steps is its function's at the point s - 1. What is known of a page's function
is its root (`pollwise.rates.gaussian_process`); moments and tables follow from it and are
kept because pages are drawn far more often than they learn.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import ABSENT, READY, typed_once
from pollwise.policies.structures.spreading import spread
from pollwise.rates.gaussian_process import learn, solve, tabulate_deviation, tabulate_mean
from pollwise.rates.monotone import Constraints, draw_limited, follow_mean, whiten_guards

__all__ = [
    "FUNCTION",
    "GPOKS_PAGE",
    "GPOKS_SHARED",
    "LIMITED_FUNCTION",
    "MEAN",
    "POINTS",
    "GPOKSState",
    "draw_function",
    "enter_pages",
    "learn_reward",
    "remove_pages",
    "restore_page",
]

Floats = NDArray[np.float64]

MEAN, POINTS, FUNCTION, LIMITED_FUNCTION = range(4)
"""Where a page's values come from: the posterior mean, the marginal posterior of each amount, a
function drawn from the posterior, one drawn given that it never rises, is never below the posterior
mean, or both."""

_SETTLING = 3
"""Moves after which a function that had to leave its place is a draw."""

GPOKS_PAGE = np.dtype(
    [
        ("steps", "i8"),  # the amount offered now
        ("offered", "i8"),  # the amount when it was selected last; 0: it never was
        ("credit", "f8"),  # what it has of the next poll, which takes 1; infinite: it comes first
        ("seen_at", "f8"),  # time of the copy at hand; NaN: there is none
        ("until", "f8"),  # held: when to come back
        ("where", "i8"),
    ]
)
"""What is kept of each page, besides its function."""

GPOKS_SHARED = np.dtype(
    [
        ("drawing", "i8"),  # MEAN ... LIMITED_FUNCTION
        ("optimistic", "i8"),  # 1: no value is drawn below the posterior mean
        ("printed", "i8"),  # 1: the deal follows the printed pseudo-code
        ("bonus", "f8"),  # posterior standard deviations that a MEAN is raised by
        ("noise_deviation", "f8"),  # of a reward
        ("step", "f8"),  # the amount of one step
        ("pages", "i8"),
        ("returned", "i8"),  # polls that were shared out, and given back unpolled
    ]
)
"""What all pages share."""


@typed_once
class GPOKSState(NamedTuple):
    """The state of a GPOKS policy. Ids of pages are the first indices of `pages` to `weights`."""

    pages: NDArray[Any]  # of GPOKS_PAGE
    roots: Floats  # (ids, rank, rank + 1)
    moments: Floats  # (ids, rank, rank + 1)
    mean: Floats  # (ids, points), or (ids, 1) where it is not used
    deviation: Floats  # (ids, points), or (ids, 0) where it is not used
    forms: Floats  # (ids, rank + 1, guards) of the constraints, or (ids, rank + 1, 0)
    weights: Floats  # (ids, rank), of the functions drawn last
    live: NDArray[np.int64]  # ids of the pages there are, in the order of adding
    shared: NDArray[Any]  # of GPOKS_SHARED, one element
    basis: Floats  # (points, rank)
    columns: Floats  # (rank, points)
    falling: Constraints  # on functions; there is none where functions may rise
    optimistic: Constraints  # on what they have above the mean; there is none where it may be below
    start: Floats  # (rank), of a function that keeps them where nothing was learned
    generator: np.random.Generator


@kernel
def _conclude(state: GPOKSState, page: int) -> None:
    """Update all that follows from a page's root."""
    moments = state.moments[page]
    move = -moments[:, -1]
    solve(state.roots[page], moments)
    if state.mean.shape[1] > 1:
        tabulate_mean(state.columns, moments, state.mean[page])
    if state.deviation.shape[1] > 0:
        tabulate_deviation(state.columns, moments, state.deviation[page])
    if state.shared[0].drawing == LIMITED_FUNCTION:
        whiten_guards(state.falling, state.optimistic, moments, state.forms[page])
        if state.shared[0].optimistic and follow_mean(
            state.falling, state.start, move + moments[:, -1], state.weights[page]
        ):
            for _ in range(_SETTLING):
                draw_function(state, page)


@kernel
def draw_function(state: GPOKSState, page: int) -> None:
    """Draw a page's function, given its constraints."""
    draw_limited(
        state.roots[page], state.moments[page], state.forms[page], state.falling, state.optimistic,
        state.generator, state.weights[page],
    )  # fmt: skip


@kernel
def learn_reward(state: GPOKSState, page: int, reward: float) -> None:
    """Take in what a poll paid, at the amount that the page was offered in."""
    own = state.pages[page]
    features = state.basis[own.offered - 1]
    learn(state.roots[page], features, reward, state.shared[0].noise_deviation)
    _conclude(state, page)


@kernel
def enter_pages(state: GPOKSState, pages: NDArray[np.int64], seen_at: Floats, root: Floats) -> None:
    """Take up pages with the prior `root`.

    Pages without a copy (NaN) come first, in this order.
    """
    common = state.shared[0]
    for n in range(len(pages)):
        own = state.pages[pages[n]]
        own.steps = 1
        own.offered = 0
        own.credit = math.inf if math.isnan(seen_at[n]) else spread(pages[n])
        own.seen_at = seen_at[n]
        own.where = READY
        state.live[common.pages] = pages[n]
        common.pages += 1
        state.weights[pages[n]] = state.start
        state.moments[pages[n]] = 0.0
        restore_page(state, pages[n], root)


@kernel
def restore_page(state: GPOKSState, page: int, root: Floats) -> None:
    """Set what is known of a page's function."""
    state.roots[page] = root
    _conclude(state, page)


@kernel
def remove_pages(state: GPOKSState, pages: NDArray[np.int64]) -> None:
    """Forget pages, wherever they are."""
    common = state.shared[0]
    for page in pages:
        state.pages[page].where = ABSENT
        state.pages[page].steps = 0
    left = 0
    for n in range(common.pages):
        page = state.live[n]
        if state.pages[page].where != ABSENT:
            state.live[left] = page
            left += 1
    common.pages = left
