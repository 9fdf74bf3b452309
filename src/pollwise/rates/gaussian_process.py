"""Gaussian process regression on a finite index set, at a constant cost per observation.

An unknown function p is given a prior of mean 0 and a covariance k; it is observed at single points
with Gaussian noise. `regress` is the plain regression, whose cost grows with the cube of the number
of observations. The compiled functions learn one observation at a time instead, as S. Glimsdal's
FAST update does ("Efficient Gaussian process based optimistic knapsack sampling with applications
to stochastic resource allocation", master thesis, University of Agder, 2013): on a finite index
set, the posterior mean and covariance at its points are all there is to know.

They go one step further. A smooth covariance has few eigenvalues above the rounding error (eight
for k = exp(-(x - y)²/2) on [0, 1]), so p = Φw, with a *basis* Φ of as many columns and weights w
that are independent standard normal a priori. What is kept is the *root* of the posterior: an upper
triangular R and a vector d, side by side in one array, such that w = R⁻¹(d + z) with z standard
normal. An observation adds a row below R and d, which Givens rotations turn to zero (the square
root information filter: G. J. Bierman, "Factorization Methods for Discrete Sequential Estimation",
1977); so the posterior stays positive definite, however much is observed.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require_positive
from pollwise.kernel_cache import kernel

__all__ = [
    "SquaredExponential",
    "draw_weights",
    "learn",
    "low_rank_basis",
    "prior_root",
    "regress",
    "solve",
    "tabulate_deviation",
    "tabulate_mean",
    "value_at",
]

Floats = NDArray[np.float64]

_NEGLIGIBLE = 1e-13
"""Directions with less than this share of the prior variance are left out of a basis."""
_ROUNDING = 1e-15


@dataclass(frozen=True, slots=True)
class SquaredExponential:
    """k(x, y) = s exp(-(x - y)² / (2 l²)): length scale l and signal variance s, both above 0.

    Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, chapter 2.

    >>> SquaredExponential(length_scale=2.0).covariance(np.zeros(1), np.array([0.0, 2.0])).round(4)
    array([[1.    , 0.6065]])
    """

    length_scale: float = 1.0
    signal_variance: float = 1.0

    def __post_init__(self) -> None:
        for name in ("length_scale", "signal_variance"):
            require_positive("squared exponential", name, getattr(self, name))

    def covariance(self, x: Floats, y: Floats) -> Floats:
        """The matrix of k(x_i, y_j)."""
        distance = (x[:, None] - y[None, :]) / self.length_scale
        return self.signal_variance * np.exp(-0.5 * distance**2)


def regress(
    kernel: SquaredExponential,
    noise_variance: float,
    observed_at: Floats,
    values: Floats,
    points: Floats,
) -> tuple[Floats, Floats]:
    """Posterior mean and covariance at `points`, of the function without its noise.

    Source: Rasmussen and Williams, 2006, equations 2.23 and 2.24.
    """
    noisy = kernel.covariance(observed_at, observed_at)
    noisy += noise_variance * np.eye(len(observed_at))
    across = kernel.covariance(observed_at, points)
    gain = np.linalg.solve(noisy, across).T
    return gain @ values, kernel.covariance(points, points) - gain @ across


def low_rank_basis(kernel: SquaredExponential, points: Floats) -> Floats:
    """Φ, a row for each point, such that ΦΦᵀ is the covariance of the points.

    Exact to about 1e-13 of the signal variance: the covariance is factorised by Cholesky's method
    with pivots until nothing is left of it, and turned to its principal axes, largest first.
    """
    remaining = np.full(len(points), kernel.signal_variance)
    columns = np.empty((len(points), 0))
    while columns.shape[1] < len(points):
        pivot = int(np.argmax(remaining))
        if remaining[pivot] <= _ROUNDING * kernel.signal_variance:
            break
        column = kernel.covariance(points, points[pivot : pivot + 1])[:, 0]
        column = (column - columns @ columns[pivot]) / math.sqrt(remaining[pivot])
        remaining = remaining - column**2
        remaining[pivot] = 0.0
        columns = np.column_stack([columns, column])
    axes, scales, _ = np.linalg.svd(columns, full_matrices=False)
    kept = scales**2 > _NEGLIGIBLE * len(points) * kernel.signal_variance
    basis = axes[:, kept] * scales[kept]
    # Of the two directions of an axis, take the one that is positive at the last point.
    return np.ascontiguousarray(np.where(basis[-1] < 0.0, -basis, basis))


def prior_root(rank: int) -> Floats:
    """The root of the prior of `rank` weights: R = I and d = 0."""
    return np.eye(rank, rank + 1)


@kernel
def learn(root: Floats, features: Floats, value: float, noise_deviation: float) -> None:
    """Take in an observation `value` of features · w, with noise of that standard deviation."""
    rank = len(features)
    row = np.empty(rank + 1)
    for k in range(rank):
        row[k] = features[k] / noise_deviation
    row[rank] = value / noise_deviation
    for k in range(rank):
        length = math.hypot(root[k, k], row[k])
        cosine, sine = root[k, k] / length, row[k] / length
        root[k, k] = length
        for j in range(k + 1, rank + 1):
            kept = root[k, j]
            root[k, j] = cosine * kept + sine * row[j]
            row[j] = cosine * row[j] - sine * kept


@kernel
def solve(root: Floats, moments: Floats) -> None:
    """Set `moments` to those of the posterior: A = R⁻¹ and the mean m = R⁻¹d, side by side.

    AAᵀ is the covariance of the weights, and m + Az a draw.
    """
    rank = len(root)
    for k in range(rank):
        for j in range(rank):
            moments[k, j] = 1.0 if j == k else 0.0
        moments[k, rank] = root[k, rank]
    for k in range(rank - 1, -1, -1):
        for column in range(k, rank + 1):
            value = moments[k, column]
            for j in range(k + 1, rank):
                value -= root[k, j] * moments[j, column]
            moments[k, column] = value / root[k, k]


@kernel
def draw_weights(moments: Floats, generator: np.random.Generator, weights: Floats) -> None:
    """Set `weights` to a draw from the posterior."""
    rank = len(weights)
    for k in range(rank):
        weights[k] = generator.standard_normal()
    for k in range(rank):
        value = moments[k, rank]
        for j in range(k, rank):
            value += moments[k, j] * weights[j]
        weights[k] = value


@kernel(fastmath=True)
def value_at(features: Floats, weights: Floats) -> float:
    """The value of a function at the point whose row of Φ is `features`."""
    value = 0.0
    for k in range(len(weights)):
        value += features[k] * weights[k]
    return value


@kernel(fastmath=True)
def tabulate_mean(columns: Floats, moments: Floats, values: Floats) -> None:
    """Set `values` to the posterior means at the points; `columns` is Φ transposed."""
    rank = len(moments)
    values[:] = 0.0
    for k in range(rank):
        weight = moments[k, rank]
        for j in range(len(values)):
            values[j] += columns[k, j] * weight


@kernel(fastmath=True)
def tabulate_deviation(columns: Floats, moments: Floats, values: Floats) -> None:
    """Set `values` to the posterior standard deviations; `columns` is Φ transposed."""
    rank, count = columns.shape
    whitened = np.empty(count)
    values[:] = 0.0
    for k in range(rank):
        whitened[:] = 0.0
        for i in range(k + 1):
            factor = moments[i, k]
            for j in range(count):
                whitened[j] += columns[i, j] * factor
        for j in range(count):
            values[j] += whitened[j] * whitened[j]
    for j in range(count):
        values[j] = math.sqrt(values[j])
