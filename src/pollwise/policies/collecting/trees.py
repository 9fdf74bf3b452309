"""Gradient boosting of regression trees, small and quick: compiled kernels.

J. H. Friedman: Greedy function approximation: a gradient boosting machine, Annals of Statistics
29, 2001, for squared loss, with histograms of binned features and leaves shrunk as in ridge
regression. All trees have the same depth.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel

__all__ = ["DEPTH", "Trees", "boosted", "no_trees", "predict"]

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Flags = NDArray[np.bool_]

DEPTH = 5
_BINS = 64
_TREES = 50
_RATE = 0.1
_RIDGE = 3.0
"""Added to the weight of a leaf; a leaf has at least this weight."""
_SHARE_OF_FEATURES = 0.7
_SAMPLED = 4000
"""Rows from which the limits of bins are taken."""


class Trees(NamedTuple):
    """The feature (-1: none) and limit of each node, and the leaf values, by tree."""

    features: NDArray[np.int32]
    limits: Floats32
    leaves: Floats32


def no_trees() -> Trees:
    """Predicts 0."""
    return Trees(
        np.zeros((0, 2**DEPTH - 1), np.int32),
        np.zeros((0, 2**DEPTH - 1), np.float32),
        np.zeros((0, 2**DEPTH), np.float32),
    )


def boosted(
    rows: Floats32,
    residuals: Floats,
    weights: Floats,
    generator: np.random.Generator,
) -> Trees:
    """Trees whose sum is close to the residuals of the rows."""
    sampled = rows[generator.integers(len(rows), size=min(_SAMPLED, len(rows)))]
    limits = np.full((rows.shape[1], _BINS - 1), np.inf, np.float32)
    for feature, column in enumerate(sampled.T):
        values = np.unique(column)
        if len(values) > _BINS:
            values = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)[1:-1]))
        elif len(values) > 1:
            values = (values[1:] + values[:-1]) / 2
        else:
            continue
        limits[feature, : len(values)] = values
    used = generator.random((_TREES, rows.shape[1])) < _SHARE_OF_FEATURES
    return Trees(*_grow(_binned(rows, limits), residuals.copy(), weights, limits, used))


@kernel
def _binned(rows: Floats32, limits: Floats32) -> NDArray[np.uint8]:
    bins = np.empty(rows.shape, np.uint8)
    for row in range(rows.shape[0]):
        for feature in range(rows.shape[1]):
            bins[row, feature] = np.searchsorted(limits[feature], rows[row, feature])
    return bins


@kernel
def _best_split(sums: Floats, weights: Floats, used: Flags) -> tuple[int, int]:
    """The feature and the bin that lower the squared loss most; -1: no split is allowed."""
    total = sums[0].sum()
    weight = weights[0].sum()
    best, chosen, last = 1e-9 + total * total / (weight + _RIDGE), -1, 0
    for feature in range(len(sums)):
        if not used[feature]:
            continue
        below, lighter = 0.0, 0.0
        for limit in range(_BINS - 1):
            below += sums[feature, limit]
            lighter += weights[feature, limit]
            if lighter < _RIDGE:
                continue
            if weight - lighter < _RIDGE:
                break
            above = total - below
            fit = below * below / (lighter + _RIDGE) + above * above / (weight - lighter + _RIDGE)
            if fit > best:
                best, chosen, last = fit, feature, limit
    return chosen, last


@kernel
def _grow(
    bins: NDArray[np.uint8], residuals: Floats, weights: Floats, limits: Floats32, used: Flags
) -> tuple[NDArray[np.int32], Floats32, Floats32]:
    """Trees one after the other, each fitted to what those before it left."""
    trees, inner, leaves = len(used), 2**DEPTH - 1, 2**DEPTH
    rows, columns = bins.shape
    features = np.full((trees, inner), -1, np.int32)
    chosen = np.zeros((trees, inner), np.float32)
    values = np.zeros((trees, leaves), np.float32)
    last = np.zeros(inner, np.int64)
    node = np.zeros(rows, np.int64)
    sums = np.zeros((leaves, columns, _BINS))
    masses = np.zeros((leaves, columns, _BINS))
    for tree in range(trees):
        node[:] = 0
        for depth in range(DEPTH):
            begin = 2**depth - 1
            sums[: begin + 1] = 0
            masses[: begin + 1] = 0
            for row in range(rows):
                at = node[row]
                pull = residuals[row] * weights[row]
                for column in range(columns):
                    sums[at, column, bins[row, column]] += pull
                    masses[at, column, bins[row, column]] += weights[row]
            for at in range(begin + 1):
                feature, limit = _best_split(sums[at], masses[at], used[tree])
                features[tree, begin + at] = feature
                last[begin + at] = limit
                if feature >= 0:
                    chosen[tree, begin + at] = limits[feature, limit]
            for row in range(rows):
                spot = begin + node[row]
                feature = features[tree, spot]
                right = feature >= 0 and bins[row, feature] > last[spot]
                node[row] = 2 * node[row] + right
        pulls = np.zeros(leaves)
        mass = np.zeros(leaves)
        for row in range(rows):
            pulls[node[row]] += residuals[row] * weights[row]
            mass[node[row]] += weights[row]
        values[tree] = _RATE * pulls / (mass + _RIDGE)
        for row in range(rows):
            residuals[row] -= values[tree, node[row]]
    return features, chosen, values


@kernel
def predict(trees: Trees, row: Floats32) -> float:
    """The sum of what the trees say of a row."""
    total = 0.0
    for tree in range(len(trees.features)):
        at = 0
        for depth in range(DEPTH):
            spot = 2**depth - 1 + at
            feature = trees.features[tree, spot]
            at = 2 * at + (feature >= 0 and row[feature] > trees.limits[tree, spot])
        total += trees.leaves[tree, at]
    return total
