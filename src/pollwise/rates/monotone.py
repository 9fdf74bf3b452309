"""Draws from a Gaussian posterior of functions, given that the function never rises.

In `pollwise.rates.gaussian_process` a function is Φw with Gaussian weights w; it never rises if it
meets the linear constraints (Φ_{j+1} - Φ_j) · w <= 0. Rejection sampling fails where functions are
nearly flat, as hardly any draw fits. So each draw is moved on from the one before by exact
Hamiltonian Monte Carlo (A. Pakman, L. Paninski, "Exact Hamiltonian Monte Carlo for truncated
multivariate Gaussians", Journal of Computational and Graphical Statistics 23(2), 2014). Whitened,
the weights are a particle that gets a random velocity, swings on an ellipse, and is reflected where
it hits a constraint, both in closed form. A quarter period without a hit leads to a new draw that
is independent of the old one.

One thing differs: for smooth functions nearly all constraints follow from a few, so only these, the
*guards*, reflect. A particle that ends beyond one of the others goes back to its start. Since the
way back has the same guards, this is a Metropolis step, and the distribution is exact.

The constraints do not depend on observations: weights that fit before an observation fit after it.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError
from pollwise.kernel_cache import kernel
from pollwise.rates.gaussian_process import value_at

__all__ = ["Slopes", "draw_falling", "falling_weights", "slopes_of", "whiten_guards"]

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


class Slopes(NamedTuple):
    """The rise of a function Φw from each point to the next, as linear forms of the weights w."""

    all: Floats  # a row for each point but the last
    guards: Floats  # those of the guards, as columns
    guarded: NDArray[np.int64]  # the points of the guards, from the first to the last
    margins: Floats  # a column for each pair of neighbouring guards, see `_never_rises`


def slopes_of(basis: Floats) -> Slopes:
    """The constraints on the functions of a basis Φ; the guards are denser towards the ends."""
    rises = np.diff(basis, axis=0)
    count = min(len(rises), _GUARDS_PER_WEIGHT * basis.shape[1])
    spread = (1.0 - np.cos(np.linspace(0.0, math.pi, count))) / 2.0
    guarded = np.unique(np.round(spread * (len(rises) - 1)).astype(np.int64))
    between = [
        np.interp(np.arange(len(rises)), guarded, rises[guarded, k]) for k in range(rises.shape[1])
    ]
    apart = np.abs(rises - np.column_stack(between))
    return Slopes(
        all=rises,
        guards=np.ascontiguousarray(rises[guarded].T),
        guarded=guarded,
        margins=np.ascontiguousarray(np.maximum.reduceat(apart, guarded[:-1]).T)
        if len(guarded) > 1
        else np.empty((rises.shape[1], 0)),
    )


def falling_weights(basis: Floats) -> Floats:
    """Weights of a function that falls at every point: where draws can begin.

    The function is the posterior mean after a straight line was seen with little noise.
    `InputError` if the length scale is so long that the basis has constant functions only.
    """
    variance = (basis * basis).sum(axis=1).max()
    line = math.sqrt(variance) * np.linspace(0.5, -0.5, len(basis))
    noisy = basis.T @ basis + _LITTLE_NOISE * variance * np.eye(basis.shape[1])
    weights = np.linalg.solve(noisy, basis.T @ line).astype(np.float64)
    if not (np.diff(basis, axis=0) @ weights < 0.0).all():
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
def whiten_guards(slopes: Slopes, moments: Floats, forms: Floats) -> None:
    """Set `forms` to the guards in whitened weights z, w = m + Az: the part of Az, then of m."""
    rank, guards = slopes.guards.shape
    for j in range(guards):
        for k in range(rank + 1):
            form = 0.0
            for i in range(min(k + 1, rank)):
                form += slopes.guards[i, j] * moments[i, k]
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
def _never_rises(slopes: Slopes, weights: Floats) -> bool:
    """Whether all constraints are kept.

    Between two guards, a rise is at most the greater of theirs plus the most that it can differ
    from the line between them; the points between are checked only where that bound is above 0.
    """
    guards, bounds = np.empty(len(slopes.guarded)), np.empty(slopes.margins.shape[1])
    _combine(slopes.guards, weights, guards)
    for value in guards:
        if value > 0.0:
            return False
    _combine(slopes.margins, np.abs(weights), bounds)
    for n in range(len(bounds)):
        if bounds[n] + max(guards[n], guards[n + 1]) > 0.0:
            for point in range(slopes.guarded[n] + 1, slopes.guarded[n + 1]):
                if value_at(slopes.all[point], weights) > 0.0:
                    return False
    return True


@kernel
def draw_falling(
    root: Floats,
    moments: Floats,
    forms: Floats,
    slopes: Slopes,
    generator: np.random.Generator,
    weights: Floats,
) -> None:
    """Move `weights` on to the next draw from the posterior; their function never rises.

    `root` and `moments` are those of the posterior without constraints, `forms` is set by
    `whiten_guards`. Where the data leave some room, successive draws are nearly independent.
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
        moved[k] = moments[k, rank]
        for j in range(k, rank):
            moved[k] += moments[k, j] * place[j]
    if _never_rises(slopes, moved):
        weights[:] = moved
