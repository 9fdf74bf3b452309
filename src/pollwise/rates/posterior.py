"""What is known of a page's change rate after polls that only say "changed" or "not changed".

A page keeps the likelihood of each rate of the lattice given its own polls; how often a rate
occurs among all pages is the prior weight of the rate. A poll at
elapsed time τ multiplies the likelihood by e^(-λτ) if nothing changed (or, with doubt ε, by
ε + (1 - ε) e^(-λτ)), by 1 - e^(-λτ) if the page
changed, and by λ e^(-λδ) if its last change is known to have been δ before the poll (Cho and
Garcia-Molina, "Estimating frequency of change", 2003, sections 4 and 5, derive estimators from
these three).

Rates drift. Before each poll the likelihood is diffused a little to the rates beside it: the
filter of a hidden Markov model in which the logarithm of the rate is a random walk, in the form
of a likelihood.
"""

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.rates.lattice import RATE_COUNT, RATES, lattice_row, tabulate, time_step

__all__ = [
    "DIFFUSION",
    "FLOOR",
    "changed_table",
    "forget",
    "learn_doubtful_poll",
    "learn_last_change",
    "learn_poll",
    "unchanged_table",
]

DIFFUSION = 0.001
"""Probability, per poll, that a page's rate has moved to the next lattice rate on a given side."""

# A likelihood never falls below this share of its maximum: no rate is excluded for good, and
# products stay normal 32-bit floats.
FLOOR = np.float32(1e-25)


def changed_table() -> NDArray[np.float32]:
    """The probability of a change, as a table."""
    return tabulate(lambda a: -np.expm1(-a))


def unchanged_table() -> NDArray[np.float32]:
    """The probability of no change, as a table."""
    return tabulate(lambda a: np.exp(-a))


@kernel(allocates=False)
def forget(likelihood: NDArray[np.float32]) -> None:
    """Let the rate drift, as it may have since the poll before (in place)."""
    keep, side = np.float32(1.0 - 2.0 * DIFFUSION), np.float32(DIFFUSION)
    left = likelihood[0]
    for j in range(RATE_COUNT):
        here = likelihood[j]
        right = likelihood[j + 1] if j + 1 < RATE_COUNT else here
        likelihood[j] = keep * here + side * (left + right)
        left = here


@kernel(fastmath={"nnan"}, allocates=False)
def _rescale(likelihood: NDArray[np.float32]) -> None:
    largest = np.float32(0.0)
    for j in range(RATE_COUNT):
        largest = max(largest, likelihood[j])
    scale = np.float32(1.0) / max(largest, FLOOR)
    for j in range(RATE_COUNT):
        likelihood[j] = max(likelihood[j] * scale, FLOOR)


@kernel(allocates=False)
def learn_poll(likelihood: NDArray[np.float32], elapsed: float, table: NDArray[np.float32]) -> None:
    """Take in whether a page changed in `elapsed` seconds; `table` is that of the outcome."""
    values = lattice_row(table, time_step(elapsed))
    for j in range(RATE_COUNT):
        likelihood[j] *= values[j]
    _rescale(likelihood)


@kernel(allocates=False)
def learn_doubtful_poll(
    likelihood: NDArray[np.float32], elapsed: float, table: NDArray[np.float32], doubt: np.float32
) -> None:
    """The same of a poll whose outcome says, with probability `doubt`, nothing of the rate."""
    values = lattice_row(table, time_step(elapsed))
    for j in range(RATE_COUNT):
        likelihood[j] *= values[j] + doubt * (np.float32(1.0) - values[j])
    _rescale(likelihood)


@kernel(allocates=False)
def learn_last_change(
    likelihood: NDArray[np.float32],
    since: float,
    unchanged: NDArray[np.float32],
    untrue: NDArray[np.float32],
) -> None:
    """Take in that a page's last change was `since` seconds before it was polled, as told.

    `untrue` has, for each rate, how likely it is per second that this is told although it is not
    so.
    """
    values = lattice_row(unchanged, time_step(max(since, 1e-6)))
    for j in range(RATE_COUNT):
        likelihood[j] *= (np.float32(RATES[j]) * values[j] + untrue[j]) / np.float32(RATES[-1])
    _rescale(likelihood)
