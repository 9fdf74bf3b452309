"""Draws from a Gaussian posterior of functions, given that they never rise or stay above the mean.

In `pollwise.rates.gaussian_process` a function is Φw with Gaussian weights w of mean m. It never
rises if (Φ_{j+1} - Φ_j) · w <= 0 at all points j, and it is *optimistic*, never below the posterior
mean, if -Φ_j · (w - m) <= 0. Rejection sampling draws until these linear constraints are met. It
fails where functions are nearly flat, as hardly any draw fits. So each draw is moved on from the
one before by exact Hamiltonian Monte Carlo (A. Pakman, L. Paninski, "Exact Hamiltonian Monte Carlo
for truncated multivariate Gaussians", Journal of Computational and Graphical Statistics 23(2),
2014). Whitened, the weights are a particle that gets a random velocity, swings on an ellipse, and
is reflected where it hits a constraint, both in closed form. A quarter period without a hit leads
to a new draw that is independent of the old one.

One thing differs: for smooth functions nearly all constraints follow from a few, so only these, the
*guards*, reflect. A particle that ends beyond one of the others goes back to its start. Since the
way back has the same guards, this is a Metropolis step, and the distribution is exact.

What may be drawn must fit what is observed next, too. Whether a function falls does not depend on
observations, and whether it is optimistic only by the mean: so `follow_mean` moves the weights as
the mean moves, and adds as much of a falling function above 0 as makes them fall again.

Source of the two criteria: S. Glimsdal, "Efficient Gaussian process based optimistic knapsack
sampling with applications to stochastic resource allocation", master thesis, University of Agder,
2013, equations 6.1 and 6.2, and section 6.1.5 for both at once.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError
from pollwise.kernel_cache import kernel
from pollwise.rates.gaussian_process import value_at

__all__ = [
    "Constraints",
    "draw_limited",
    "follow_mean",
    "never_below_mean",
    "never_rising",
    "starting_weights",
    "whiten_guards",
    "without_constraints",
]

Floats = NDArray[np.float64]

_QUARTER = math.pi / 2.0
_NOWHERE = 1e300
"""Beyond any crossing."""
_TOUCHING = 1e-200
"""The least distance from a constraint, which rounding may have crossed."""
_MOST_HITS = 10_000
"""A particle that is reflected more often stays at its start, so that every draw ends. Thirty are
many: so many are needed where all falling functions are 13 standard deviations away."""
_GUARDS_PER_WEIGHT = 3
_LITTLE_NOISE = 1e-6
"""Relative to the variance of the functions."""
_CLEAR = 1.01
"""How much more of a falling function is added than makes a function fall."""


class Constraints(NamedTuple):
    """Linear forms of the weights, one for each of neighbouring points: none may be above 0."""

    all: Floats  # a row for each point
    guards: Floats  # those of the guards, as columns
    guarded: NDArray[np.int64]  # the points of the guards, from the first to the last
    margins: Floats  # a column for each pair of neighbouring guards, see `_keeps`


def never_rising(basis: Floats) -> Constraints:
    """The rises of a function Φw from each point to the next: w is to keep them (6.2)."""
    return _constraints(np.diff(basis, axis=0))


def never_below_mean(basis: Floats) -> Constraints:
    """How far a function is below the mean: w - m is to keep them (6.1)."""
    return _constraints(-basis)


def without_constraints(basis: Floats) -> Constraints:
    """No constraints on the weights of this basis."""
    rank = basis.shape[1]
    no_form = np.empty((rank, 0))
    return Constraints(np.empty((0, rank)), no_form, np.empty(0, np.int64), no_form)


def _constraints(forms: Floats) -> Constraints:
    """The constraints by these forms; the guards are denser towards the ends."""
    count = min(len(forms), _GUARDS_PER_WEIGHT * forms.shape[1])
    spread = (1.0 - np.cos(np.linspace(0.0, math.pi, count))) / 2.0
    guarded = np.unique(np.round(spread * (len(forms) - 1)).astype(np.int64))
    between = [
        np.interp(np.arange(len(forms)), guarded, forms[guarded, k]) for k in range(forms.shape[1])
    ]
    apart = np.abs(forms - np.column_stack(between))
    return Constraints(
        all=forms,
        guards=np.ascontiguousarray(forms[guarded].T),
        guarded=guarded,
        margins=np.ascontiguousarray(np.maximum.reduceat(apart, guarded[:-1]).T)
        if len(guarded) > 1
        else np.empty((forms.shape[1], 0)),
    )


def starting_weights(basis: Floats, *, falling: bool) -> Floats:
    """Weights of a function above 0, where draws can begin; if `falling`, it falls at every point.

    The function is the posterior mean after a straight line was seen with little noise.
    `InputError` if the length scale is so long that the basis has constant functions only.
    """
    variance = (basis * basis).sum(axis=1).max()
    line = math.sqrt(variance) * np.linspace(1.5 if falling else 1.0, 1.0, len(basis))
    noisy = basis.T @ basis + _LITTLE_NOISE * variance * np.eye(basis.shape[1])
    weights = np.linalg.solve(noisy, basis.T @ line).astype(np.float64)
    if falling and not (np.diff(basis, axis=0) @ weights < 0.0).all():
        raise InputError(
            f"monotone: the basis of {basis.shape[1]} functions on {len(basis)} points has none"
            " that falls at every point; give a shorter length scale"
        )
    return weights


@kernel(fastmath=True)
def _combine(columns: Floats, weights: Floats, values: Floats) -> None:
    """Set `values` to columnsᵀ times weights."""
    rank, count = columns.shape
    values[:] = 0.0
    for k in range(0, rank - 1, 2):
        first, second = weights[k], weights[k + 1]
        for j in range(count):
            values[j] += columns[k, j] * first + columns[k + 1, j] * second
    if rank % 2:
        for j in range(count):
            values[j] += columns[rank - 1, j] * weights[rank - 1]


@kernel
def whiten_guards(
    falling: Constraints, optimistic: Constraints, moments: Floats, forms: Floats
) -> None:
    """Set `forms` to the guards in whitened weights z, w = m + Az: the part of Az, then of m.

    The guards of `falling`, which limit w, come first, then those of `optimistic`, which limit
    w - m and so have no part of m.
    """
    rank, falls = falling.guards.shape
    for j in range(forms.shape[1]):
        by_mean = j >= falls
        guards, column = (optimistic.guards, j - falls) if by_mean else (falling.guards, j)
        for k in range(rank + 1):
            form = 0.0
            if k < rank or not by_mean:
                for i in range(min(k + 1, rank)):
                    form += guards[i, column] * moments[i, k]
            forms[k, j] = form


@kernel(fastmath=True)
def _first_hit(centre: Floats, here: Floats, aside: Floats) -> tuple[float, int]:
    """The angle at which the particle first hits a guard, and which one; -1: none.

    At the angle θ, the value of a guard is (h - c) cos θ + b sin θ + c, with h its value `here`, b
    that of the velocity `aside`, and c that of the `centre`; it must not be above 0. In s =
    cot(θ/2), which falls from infinity as θ rises from 0, it is 0 at the roots of
    u s² - 2bs - (2c - h) = 0, with u = -h. So the first hit is the greatest of all roots.
    """
    greatest, guard = -_NOWHERE, -1
    for j in range(len(here)):
        u, b = max(-here[j], _TOUCHING), aside[j]
        opposite = 2.0 * centre[j] - here[j]
        discriminant = b * b + u * opposite
        if discriminant > 0.0:
            root = math.sqrt(discriminant)
            q = b + root if b > 0.0 else b - root
            # u may be tiny: so the one root is q/u, the other -opposite/q, without cancellation.
            latest = max(q / u, -opposite / q)
            if latest > greatest:
                greatest, guard = latest, j
    return 2.0 * math.atan2(1.0, greatest), guard


@kernel
def _swing(forms: Floats, place: Floats, velocity: Floats) -> bool:
    """Let the particle swing for a quarter of a period; False if that took too many hits."""
    rank, guards = len(place), forms.shape[1]
    here, aside = np.empty(guards), np.empty(guards)
    left = _QUARTER
    for _ in range(_MOST_HITS):
        _combine(forms[:rank], place, here)
        _combine(forms[:rank], velocity, aside)
        for j in range(guards):
            here[j] += forms[rank, j]
        angle, guard = _first_hit(forms[rank], here, aside)
        arrived = guard < 0 or angle >= left
        angle = left if arrived else angle
        cosine, sine = math.cos(angle), math.sin(angle)
        for k in range(rank):
            before = place[k]
            place[k] = before * cosine + velocity[k] * sine
            velocity[k] = velocity[k] * cosine - before * sine
        if arrived:
            return True
        left -= angle
        across = length = 0.0
        for k in range(rank):
            across += forms[k, guard] * velocity[k]
            length += forms[k, guard] * forms[k, guard]
        for k in range(rank):
            velocity[k] -= 2.0 * across / length * forms[k, guard]
    return False


@kernel(fastmath=True)
def _keeps(constraints: Constraints, weights: Floats) -> bool:
    """Whether no form is above 0.

    Between two guards, a form is at most the greater of theirs plus the most that it can differ
    from the line between them; the points between are checked only where that bound is above 0.
    """
    guards = np.empty(len(constraints.guarded))
    bounds = np.empty(constraints.margins.shape[1])
    _combine(constraints.guards, weights, guards)
    for value in guards:
        if value > 0.0:
            return False
    _combine(constraints.margins, np.abs(weights), bounds)
    for n in range(len(bounds)):
        if bounds[n] + max(guards[n], guards[n + 1]) > 0.0:
            for point in range(constraints.guarded[n] + 1, constraints.guarded[n + 1]):
                if value_at(constraints.all[point], weights) > 0.0:
                    return False
    return True


@kernel
def draw_limited(
    root: Floats,
    moments: Floats,
    forms: Floats,
    falling: Constraints,
    optimistic: Constraints,
    generator: np.random.Generator,
    weights: Floats,
) -> None:
    """Move `weights` w, which must keep the constraints, on to the next draw, which keeps them.

    `falling` limits w and `optimistic` w - m. `root` and `moments` are those of the posterior
    without constraints, `forms` is set by `whiten_guards`. Where the data leave some room,
    successive draws are nearly independent; with both constraints and a mean that rises, their
    correlation is about 0.6.
    """
    rank = len(weights)
    place, velocity, moved = np.zeros(rank), np.empty(rank), np.empty(rank)
    for k in range(rank):
        for j in range(k, rank):
            place[k] += root[k, j] * (weights[j] - moments[j, rank])
        velocity[k] = generator.standard_normal()
    if not _swing(forms, place, velocity):
        return
    for k in range(rank):
        moved[k] = 0.0
        for j in range(k, rank):
            moved[k] += moments[k, j] * place[j]
    if not _keeps(optimistic, moved):
        return
    for k in range(rank):
        moved[k] += moments[k, rank]
    if _keeps(falling, moved):
        weights[:] = moved


@kernel
def follow_mean(falling: Constraints, start: Floats, move: Floats, weights: Floats) -> bool:
    """Let `weights` w keep the constraints as the mean moves by `move`; whether w left its place.

    So w - m is as before, plus as much of the function of `start`, which falls and is above 0, as
    makes w fall. That is a place to draw on from, no draw.
    """
    for k in range(len(weights)):
        weights[k] += move[k]
    share = 0.0
    for rise in falling.all:
        share = max(share, value_at(rise, weights) / -value_at(rise, start))
    if share == 0.0:
        return False
    for k in range(len(weights)):
        weights[k] += _CLEAR * share * start[k]
    return True
