"""What surges and ticks are worth, by objective: the parts of the index that are not Poisson's.

Both follow from the index of a cycle, G(τ) - τ G'(τ), see `pollwise.objectives`.

A *surge* at a time at which a page is waiting changes G' from then on, and hardly G: with S the
probability that the copy is still good, and J the seconds that the surge counts like, S falls by
S (1 - e^(-λJ)). For detection that much is won at once; for freshness the index gains τ times as
much; for delay, λJ more changes wait, and the index gains τ times as many.

By the *clock* a page changes once a day at most, with probability ρ = 1 - q = 1 - e^(-λ·day). The
index right after the nth tick is n A(n + 1) - (n + 1) ... of the discrete cycles, as derived for
detection in `objectives.discrete_detection_index`: with G_n the worth of a cycle of n days,
G_n - n (G_(n+1) - G_n):

=========  =========================  ==========================
objective  G_n, or cost A_n           index
=========  =========================  ==========================
detection  1 - q^n                    1 - q^n - n q^n ρ
freshness  day (1 - q^n)/ρ            day [(1 - q^n)/ρ - n q^n]
delay      day ρ n (n - 1)/2          day ρ n (n + 1)/2
=========  =========================  ==========================
"""

import numpy as np
from numpy.typing import NDArray

from pollwise.objectives import Delay, Detection, Freshness, Objective
from pollwise.policies.index_state import (
    CLOCK_TICKS,
    DAY,
    NO_SURGE,
    SEEN_SURGE,
    STALE_SURGE,
    WAITING_SURGE,
)
from pollwise.rates.lattice import RATES

__all__ = ["clock_table", "surge_kind"]

_SURGES = {Detection: SEEN_SURGE, Freshness: STALE_SURGE, Delay: WAITING_SURGE}


def surge_kind(objective: Objective) -> int:
    """What a surge does to the index; nothing where that is not worked out."""
    return _SURGES.get(type(objective), NO_SURGE)


def clock_table(objective: Objective) -> tuple[NDArray[np.float64], bool]:
    """The index by ticks since the copy and rate, and whether it falls as the day goes on.

    All zero where that is not worked out: then no page is polled by the clock.
    """
    ticks = np.arange(CLOCK_TICKS + 1)[:, None]
    chance = -np.expm1(-RATES * DAY)[None, :]
    unchanged = np.exp(-RATES * DAY * ticks)
    kind = type(objective)
    if kind is Detection:
        return -np.expm1(-RATES * DAY * ticks) - ticks * unchanged * chance, False
    if kind is Freshness:
        return DAY * (-np.expm1(-RATES * DAY * ticks) / chance - ticks * unchanged), True
    if kind is Delay:
        return DAY * chance * ticks * (ticks + 1) / 2, False
    return np.zeros((CLOCK_TICKS + 1, len(RATES))), False
