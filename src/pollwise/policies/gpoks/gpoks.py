"""Gaussian process based optimistic knapsack sampling, and the variants it was compared with.

The problem is the stochastic nonlinear knapsack: page i offered in the amount x_i pays 1 with an
unknown probability p_i(x_i), which falls as x_i grows, and the amounts fill a knapsack. Each p_i
has a Gaussian process on the amounts ε, 2ε, ... with mean 0 and the covariance k(x, x') =
s exp(-(x - x')²/(2l²)), as if rewards of 0 and 1 were p_i plus Gaussian noise. Every selection

1. draws a function for each page from its posterior,
2. deals out the knapsack by them: ε to every page, then each further ε to the page whose function
   is highest at its next amount (DET-KS; p_i is the marginal value of an amount),
3. polls the page whose turn it is, earliest deadline first, with frequencies by the amounts;

and what the poll pays is an observation of the page's process at the amount that it had.

The variants are ways to draw:

============  ==================================================================================
`ts`          a function from the posterior (Thompson sampling)
`ots`         the same, given that it is nowhere below the posterior mean (optimistic)
`mono`        a function from the posterior, given that it never rises
`gpoks`       the same, given that it is optimistic and never rises
`gpr`         the posterior mean: nothing is drawn
`ucb`         the posterior mean and two standard deviations
`ips`         the value of each amount by itself from its marginal posterior (independent points)
`ips-ots`     the same, given that it is not below the posterior mean
============  ==================================================================================

Source: S. Glimsdal, "Efficient Gaussian process based optimistic knapsack sampling with
applications to stochastic resource allocation", master thesis, University of Agder, 2013 (section
6; the variants: section 7.1.1); S. Glimsdal, O.-C. Granmo, "Gaussian process based optimistic
knapsack sampling with applications to stochastic resource allocation", MAICS 2013. Optimism is that
of B. C. May, N. Korda, A. Lee, D. S. Leslie, "Optimistic Bayesian sampling in contextual-bandit
problems", JMLR 13, 2012, who raise a draw to the mean; the thesis rejects it (equation 6.1).

Readings taken here: the mean that bounds an optimistic draw from below is that of the process
without constraints, for `gpoks` too; everything is drawn anew for every poll; the functions of
`gpoks`, `mono` and `ots`, which the thesis drew by rejection, are drawn by Hamiltonian Monte Carlo,
each from the one before (`pollwise.rates.monotone`); functions are drawn without the white noise
σ_n² of equation 4.4, which is that of a reward; of pages with equal values, as at first with `gpr`,
the one added first gets the step.

The pseudo-code of DET-KS, as printed (section 6.1.1), gives a step to the page whose amount times
value rises most: the objective Σ x p(x) of section 2.4 instead of the integrals of p that section
2.3 states. `deal="printed"` does that. For the thesis's own p(x) = 1 - q^(1/x) both end at the
same amounts. But a rise depends on how steep the drawn function is, which polls at few amounts
hardly tell, and the deal gets stuck where x p(x) is not concave: `gpoks`, `mono`, `ots`, `ucb` and
`ips` earn less of two pages by it than the thesis reports. So `"marginal"` is the default.
"""

import math
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require_choice, require_generator, require_positive, require_whole
from pollwise.errors import InputError, StateError
from pollwise.policies.arrays import all_watched, check_state, known_rows, seen_at, watched
from pollwise.policies.base import StateDict
from pollwise.policies.compiled import CompiledPolicy
from pollwise.policies.gpoks.kernels import GPOKSState
from pollwise.policies.gpoks.state import (
    FUNCTION,
    GPOKS_PAGE,
    GPOKS_SHARED,
    LIMITED_FUNCTION,
    MEAN,
    POINTS,
    enter_pages,
    remove_pages,
    restore_page,
)
from pollwise.rates.gaussian_process import SquaredExponential, low_rank_basis, prior_root
from pollwise.rates.monotone import (
    Constraints,
    never_below_mean,
    never_rising,
    starting_weights,
    without_constraints,
)
from pollwise.types import Page

__all__ = ["GPOKS", "GPOKS_DEALS", "GPOKS_VARIANTS"]


class _Drawing(NamedTuple):
    """How values are drawn."""

    kind: int  # MEAN ... LIMITED_FUNCTION
    falling: bool = False
    optimistic: bool = False
    bonus: float = 0.0
    """Standard deviations above the mean."""


_DRAWING = {
    "gpoks": _Drawing(LIMITED_FUNCTION, falling=True, optimistic=True),
    "mono": _Drawing(LIMITED_FUNCTION, falling=True),
    "ts": _Drawing(FUNCTION),
    "ots": _Drawing(LIMITED_FUNCTION, optimistic=True),
    "gpr": _Drawing(MEAN),
    "ucb": _Drawing(MEAN, bonus=2.0),
    "ips": _Drawing(POINTS),
    "ips-ots": _Drawing(POINTS, optimistic=True),
}

GPOKS_VARIANTS = tuple(_DRAWING)
"""The names of the variants; see the docstring of the module."""

GPOKS_DEALS = ("marginal", "printed")
"""What steps are dealt by; see the docstring of the module."""

_FINEST_RESOLUTION = 100_000
_MOST_BYTES = 2**30
"""What all arrays by page may take."""


class GPOKS(CompiledPolicy):
    """Polls pages in proportion to amounts that are dealt out by functions drawn from posteriors.

    `variant` is how values are drawn and `deal` what steps are dealt by: see the module.
    `resolution`, from 2 to 100000, is the number of steps of the knapsack, so that ε =
    capacity/resolution; every page has one step at least, so that at most `resolution` pages fit.
    `capacity` c > 0 is what the amounts add up to; the published experiments have c = 1.
    `length_scale` l, `signal_variance` s and `noise_variance` (of a reward) are those of the
    processes. `add` raises `InputError` for more pages than that, or than memory can hold.
    `generator` gives the random numbers; only `gpr` and `ucb` draw none.

    It never waits: it shares out all polls that it is asked for. The first copy of a page teaches
    nothing; pages without a copy come first, but take their turn after a failed poll. Weights and
    costs of pages play no part, nor does time. A decision takes time in proportion to the number
    of pages, as the algorithm has it.

    `state_dict` has what was learned of the functions, but neither the drawn functions nor the
    position of `generator`.

    >>> from pollwise.types import Observation, Outcome
    >>> policy = GPOKS(generator=np.random.default_rng(1))
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> for now in range(1, 201):
    ...     (page_id,) = policy.select(now, limit=1).page_ids.tolist()
    ...     outcome = Outcome.CHANGED if page_id == 1 else Outcome.UNCHANGED
    ...     policy.observe([Observation(page_id, now, outcome)])
    >>> policy.amounts().round(2)
    array([0.01, 0.99])
    """

    _by_page = ("pages", "roots", "moments", "mean", "deviation", "forms", "weights", "live")

    def __init__(
        self,
        *,
        generator: np.random.Generator,
        variant: str = "gpoks",
        deal: str = "marginal",
        resolution: int = 100,
        capacity: float = 1.0,
        length_scale: float = 1.0,
        signal_variance: float = 1.0,
        noise_variance: float = 0.1,
    ) -> None:
        require_generator("gpoks", generator)
        require_choice("gpoks", "variant", variant, GPOKS_VARIANTS)
        require_choice("gpoks", "deal", deal, GPOKS_DEALS)
        require_whole("gpoks", "resolution", resolution, least=2, most=_FINEST_RESOLUTION)
        require_positive("gpoks", "capacity", capacity)
        require_positive("gpoks", "length_scale", length_scale)
        require_positive("gpoks", "signal_variance", signal_variance)
        require_positive("gpoks", "noise_variance", noise_variance)
        kernel = SquaredExponential(float(length_scale), float(signal_variance))
        amounts = (kernel, float(capacity), int(resolution))
        try:
            functions = _functions(*amounts, _DRAWING[variant].falling)
        except InputError:
            raise InputError(
                f"gpoks: length_scale={length_scale!r} is so long for capacity={capacity!r}"
                f" that no function of {variant!r} falls; give a shorter one or another variant"
            ) from None
        self._basis = functions.basis
        self._options = np.array(
            [resolution, capacity, length_scale, signal_variance, noise_variance], np.float64
        )
        self._state = _empty_state(variant, deal, functions, self._options, generator)

    def amounts(self) -> NDArray[np.float64]:
        """The amounts in the knapsack by page id up to the largest, 0 for ids that no page has.

        A page added since the latest selection has one step.
        """
        pages = self._state.pages
        room = all_watched(pages).max(initial=-1) + 1
        return pages["steps"][:room] * self._state.shared["step"]

    def _enter(self, pages: Sequence[Page], page_ids: NDArray[np.int64]) -> None:
        count, resolution = int(self._state.shared["pages"][0]) + len(pages), len(self._basis)
        if count > resolution:
            raise InputError(
                f"gpoks: {count} pages do not fit into the {resolution} steps of the knapsack, each"
                f" takes one at least; give a resolution of at least {count}"
            )
        root = prior_root(self._basis.shape[1])
        enter_pages(self._state, page_ids, seen_at(pages), root)

    def _remove(self, page_ids: NDArray[np.int64]) -> None:
        # What they had is dealt out with the next poll.
        remove_pages(self._state, page_ids)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """The roots of the posteriors, the times of the copies and the turns; see `Policy`."""
        pages = self._state.pages
        ids = watched(page_ids, pages)
        return {
            "page_ids": ids,
            "page.root": self._state.roots[ids],
            "page.seen_at": pages["seen_at"][ids],
            "page.credit": pages["credit"][ids],
            "page.offered": pages["offered"][ids],
            "gpoks.options": self._options.copy(),
        }

    def load_state_dict(self, state: StateDict) -> None:
        """Put what was learned back; `StateError` if it does not fit."""
        self._check_learned(state)
        ids, rows = known_rows(state, self._state.pages)
        for name in ("seen_at", "credit", "offered"):
            self._state.pages[name][ids] = state[f"page.{name}"][rows]
        for page_id, root in zip(ids, state["page.root"][rows].astype(np.float64), strict=True):
            restore_page(self._state, page_id, root)

    def _check_learned(self, state: StateDict) -> None:
        """`StateError` unless it is the learned state of such a policy."""
        check_state(state, self.state_dict([]))
        if not np.array_equal(state["gpoks.options"], self._options):
            raise StateError(
                f"the state was learned with the options {state['gpoks.options'].tolist()}, this"
                f" policy has {self._options.tolist()} (resolution, capacity, length_scale,"
                " signal_variance, noise_variance); make them the same"
            )
        roots, credits = (state[f"page.{name}"].astype(float) for name in ("root", "credit"))
        offered = state["page.offered"].astype(np.int64)
        sound = np.isfinite(roots).all() and (np.diagonal(roots, 0, 1, 2) > 0).all()
        in_range = ((offered >= 0) & (offered <= len(self._basis))).all()
        if not (sound and in_range and (credits > -math.inf).all()):
            raise StateError(
                "the learned roots and turns are damaged: roots must be finite, with a diagonal"
                f" above 0, amounts offered from 0 to {len(self._basis)} steps, and credits above"
                " -inf; go back to a copy of them"
            )

    def _grow(self, pages: int, most: int = sys.maxsize) -> None:
        by_page = [getattr(self._state, name) for name in self._by_page]
        most = _MOST_BYTES // sum(a.itemsize * math.prod(a.shape[1:]) for a in by_page)
        if pages > most:
            raise InputError(
                f"gpoks: page ids up to {pages - 1} at resolution={len(self._basis)} take more than"
                f" {_MOST_BYTES >> 30} GiB; give ids from 0 on, or a coarser resolution"
            )
        super()._grow(pages, most)


class _Functions(NamedTuple):
    """The functions of an amount; policies share them, none writes."""

    basis: NDArray[np.float64]
    rising: Constraints
    below: Constraints
    none: Constraints
    start: NDArray[np.float64]  # the weights of a function above 0, which falls if one has to


@lru_cache(maxsize=8)
def _functions(
    kernel: SquaredExponential, capacity: float, resolution: int, falling: bool
) -> _Functions:
    """`InputError` if no function falls and one has to."""
    basis = low_rank_basis(kernel, capacity * np.arange(1, resolution + 1) / resolution)
    return _Functions(
        basis,
        never_rising(basis),
        never_below_mean(basis),
        without_constraints(basis),
        starting_weights(basis, falling=falling),
    )


def _empty_state(
    variant: str,
    deal: str,
    functions: _Functions,
    options: NDArray[np.float64],
    generator: np.random.Generator,
) -> GPOKSState:
    """The state without any page."""
    points, rank = functions.basis.shape
    drawing = _DRAWING[variant]
    shared = np.zeros(1, GPOKS_SHARED)
    shared["drawing"], shared["optimistic"] = drawing.kind, drawing.optimistic
    shared["bonus"], shared["printed"] = drawing.bonus, deal == "printed"
    resolution, capacity, *_, noise_variance = options.tolist()
    shared["noise_deviation"] = math.sqrt(noise_variance)
    shared["step"] = capacity / resolution
    limited = drawing.kind == LIMITED_FUNCTION
    falling = functions.rising if drawing.falling else functions.none
    optimistic = functions.below if limited and drawing.optimistic else functions.none
    uncertain = drawing.kind == POINTS or drawing.bonus > 0.0
    by_mean = drawing.kind in (MEAN, POINTS)
    guards = len(falling.guarded) + len(optimistic.guarded)
    return GPOKSState(
        pages=np.zeros(0, GPOKS_PAGE),
        roots=np.zeros((0, rank, rank + 1)),
        moments=np.zeros((0, rank, rank + 1)),
        mean=np.zeros((0, points if by_mean else 1)),
        deviation=np.zeros((0, points if uncertain else 0)),
        forms=np.zeros((0, rank + 1, guards)),
        weights=np.zeros((0, rank)),
        live=np.zeros(0, np.int64),
        shared=shared,
        basis=functions.basis,
        columns=np.ascontiguousarray(functions.basis.T),
        falling=falling,
        optimistic=optimistic,
        start=functions.start,
        generator=generator,
    )
