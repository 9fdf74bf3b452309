"""Draws from a Gaussian posterior of functions, given that the function never rises.

In the form of `pollwise.rates.gaussian_process`, a function is Φw with Gaussian weights w, and that
it never rises from one point to the next means linear constraints (Φ_{j+1} - Φ_j) · w <= 0. To
draw at will and keep what fits fails where functions are nearly flat: hardly any draw fits. So the
weights walk, from one point that fits to the next: linear elliptical slice sampling (A. Gessner,
O. Kanjilal, P. Hennig, "Integrals over Gaussians under linear domain constraints", AISTATS 2020;
after I. Murray, R. P. Adams, D. J. C. MacKay, "Elliptical slice sampling", AISTATS 2010). A move
draws an ellipse through the present weights, finds where it leaves and enters the constraints in
closed form, and jumps to a point between: no move is ever rejected.

Two things differ from theirs. Of the arcs of the ellipse that fit, the jump stays on that of the
present point: a jump within an arc is as likely as the jump back, so the distribution that is left
unchanged is the same, and the ends of one arc take a maximum and a minimum over the constraints
instead of a sort. And with smooth functions nearly all constraints follow from a few. So the arc is
that of *guards*, constraints at some of the points; a jump that breaks any other constraint is
taken for an end of the arc, and another one is drawn (the shrinking of Murray, Adams and MacKay,
which also leaves the distribution unchanged).

The set of functions that never rise does not depend on what is observed: weights that fit before an
observation fit after it.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from pollwise.rates.gaussian_process import draw_deviations

__all__ = ["Slopes", "falling_weights", "slopes_of", "walk"]

Floats = NDArray[np.float64]

_NOWHERE = 1e300
"""Beyond any crossing."""
_TOUCHING = 1e-300
"""The least distance from a constraint; rounding may have led a step too far."""
_SHORTEST = 1e-12
"""The arc, in radians, that is not shrunk further: the point stays where it is."""
_GUARDS_PER_WEIGHT = 2


class Slopes(NamedTuple):
    """By what a function Φw rises from each point to the next, as columns of the weights w."""

    all: Floats
    guards: Floats
    guarded: NDArray[np.int64]  # the points of the guards


def slopes_of(basis: Floats) -> Slopes:
    """The constraints on the functions of a basis Φ; the guards are denser towards the ends."""
    rises = np.diff(basis, axis=0)
    count = min(len(rises), _GUARDS_PER_WEIGHT * basis.shape[1])
    spread = (1.0 - np.cos(np.linspace(0.0, math.pi, count))) / 2.0
    guarded = np.unique(np.round(spread * (len(rises) - 1)).astype(np.int64))
    return Slopes(
        all=np.ascontiguousarray(rises.T),
        guards=np.ascontiguousarray(rises[guarded].T),
        guarded=guarded,
    )


def falling_weights(basis: Floats) -> Floats:
    """Weights of a function that falls at every point: where a walk can begin.

    The function is the posterior mean after a straight line was seen with little noise.
    """
    rank = basis.shape[1]
    line = np.linspace(0.5, -0.5, len(basis))
    noisy = basis.T @ basis + 1e-6 * np.eye(rank)
    return np.linalg.solve(noisy, basis.T @ line).astype(np.float64)


@numba.njit(cache=True, fastmath=True)
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


@numba.njit(cache=True, fastmath=True)
def _arc(centre: Floats, here: Floats, aside: Floats) -> tuple[float, float]:
    """The angles between which the ellipse keeps to the guards; the present point is at 0.

    A constraint at the angle θ is (h - c) cos θ + b sin θ + c <= 0, with h its value `here`, b that
    of the direction `aside`, and c that of the `centre`. In s = cot(θ/2) its crossings are the
    roots of u s² - 2bs - (2c - h) = 0, with u = -h; towards the present point s is plus or minus
    infinite, so that the nearest crossings are the greatest and the least of all roots.
    """
    greatest, least = -_NOWHERE, _NOWHERE
    for j in range(len(here)):
        u, b = max(-here[j], _TOUCHING), aside[j]
        opposite = 2.0 * centre[j] - here[j]
        discriminant = b * b + u * opposite
        if discriminant > 0.0:
            root = math.sqrt(discriminant)
            q = b + root if b > 0.0 else b - root
            # u may be tiny: so the one root is q/u, the other -opposite/q, without cancellation.
            one, other = q / u, -opposite / q
            greatest = max(greatest, one, other)
            least = min(least, one, other)
    return -2.0 * math.atan2(1.0, -least), 2.0 * math.atan2(1.0, greatest)


@numba.njit(cache=True, fastmath=True)
def _keeps_falling(values: Floats) -> bool:
    greatest = values[0]
    for value in values:
        greatest = max(greatest, value)
    return greatest <= 0.0


@numba.njit(cache=True)
def walk(
    moments: Floats,
    mean: Floats,
    slopes: Slopes,
    moves: int,
    generator: np.random.Generator,
    weights: Floats,
) -> None:
    """Move `weights` so many times; after enough of them they are a new draw from the posterior.

    `moments` and `mean` are those of the posterior without constraints; the function of `weights`
    never rises, before and after.
    """
    rank, guards = slopes.guards.shape
    direction, tried = np.empty(rank), np.empty(rank)
    here, aside, centre = np.empty(guards), np.empty(guards), np.empty(guards)
    rises = np.empty(slopes.all.shape[1])
    for n in range(guards):
        centre[n] = mean[slopes.guarded[n] + 1] - mean[slopes.guarded[n]]
    for _ in range(moves):
        draw_deviations(moments, generator, direction)
        _combine(slopes.guards, weights, here)
        _combine(slopes.guards, direction, aside)
        begin, end = _arc(centre, here, aside)
        while end - begin > _SHORTEST:
            angle = begin + (end - begin) * generator.random()
            cosine, sine = math.cos(angle), math.sin(angle)
            for k in range(rank):
                middle = moments[k, rank]
                tried[k] = middle + (weights[k] - middle) * cosine + direction[k] * sine
            _combine(slopes.all, tried, rises)
            if _keeps_falling(rises):
                weights[:] = tried
                break
            if angle < 0.0:
                begin = angle
            else:
                end = angle
