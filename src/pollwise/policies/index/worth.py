"""What surges and ticks are worth, by objective: the parts of the index beyond Poisson changes.

Both follow from the index of a cycle, G(τ) - τ G'(τ), see `pollwise.objectives`.

A *surge* comes while a page is waiting. Let S = e^(-λτ) be the probability that the copy is still
good, and J the seconds that the surge counts like: S falls by S (1 - e^(-λJ)) at once. Right after
it, G and G' are those of a cycle in which a surge comes at τ. For freshness, G' = S, so the index
gains τ S (1 - e^(-λJ)); for delay, where A' counts the changes that wait, it gains τ λJ. For
detection, G, the chance to find a change, gains S (1 - e^(-λJ)). G' = λS falls too, which would
make it 1 + λτ times as much; this is left out, as it found no more on recorded histories.

For age what came just now has cost nothing yet, and what counts is when it came: a surge, as if it
had been spread evenly since the copy was made. Then λ was (τ + J)/τ times as high, and the index
W_λ(τ) becomes (τ/(τ + J))² W_λ(τ + J). A signal of probability r that came at s adds at least
r S (τ² - s²)/2: from s on a copy that was still good has aged.

By the *clock* a page changes once a day at most, at its tick, with probability
ρ = 1 - q = 1 - e^(-λ day). A poll comes right after a tick. At the price p, polling now and at
the next tick are equally good if (G_n - p)/n = (G_(n+1) - p)/(n + 1), G_n being the worth of a
cycle of n days. So the index right after the nth tick is G_n - n (G_(n+1) - G_n):

=========  =========================  ==========================
objective  G_n, or cost A_n           index
=========  =========================  ==========================
detection  1 - q^n                    1 - q^n - n q^n ρ
freshness  day (1 - q^n)/ρ            day [(1 - q^n)/ρ - n q^n]
delay      day ρ n (n - 1)/2          day ρ n (n + 1)/2
age        D_1 + ... + D_(n-1)        n D_n - A_n
=========  =========================  ==========================

D_n = day² [n - (1 - q^n)/ρ + (1 - q^n)/2] is what the day after the nth tick costs in age: its mean
at the tick, and the half day by which a copy that is out of date ages meanwhile.

The chance of a day passes in the *window* before the tick. Except for detection, the index in the
window is that of a page with the rate λ day/window, for which `page_index` takes the table of
rates, and after it that of the tick.

For detection a poll later in the day is as good. For the others it gains only what is left of
the day: with x the worth of the day if the poll waits for the next tick, the price at which that is
no better is max over m of G_m - m x, a convex function of x that falls to 0 at the end of the day.
The index falls in a straight line instead, which is the same at both ends of the day, and all day
long after the first tick, but for age: there it should fall like 1 - x² in the course x of the day.
"""

import numpy as np
from numpy.typing import NDArray

from pollwise.objectives import Age, Delay, Detection, Freshness, Objective
from pollwise.policies.index.state import (
    AGING_SURGE,
    CLOCK_DAYS,
    NO_SURGE,
    SEEN_SURGE,
    STALE_SURGE,
    WAITING_SURGE,
)
from pollwise.rates.lattice import RATES
from pollwise.units import DAY

__all__ = ["clock_table", "surge_kind"]

_SURGES = {
    Detection: SEEN_SURGE,
    Freshness: STALE_SURGE,
    Delay: WAITING_SURGE,
    Age: AGING_SURGE,
}


def surge_kind(objective: Objective) -> int:
    """What a surge does to the index; nothing where that is not worked out."""
    return _SURGES.get(type(objective), NO_SURGE)


def clock_table(objective: Objective) -> tuple[NDArray[np.float64], bool]:
    """The index by ticks since the copy and rate, and whether it falls as the day goes on.

    All zero where that is not worked out: then no page is polled by the clock.
    """
    ticks = CLOCK_DAYS[:, None]
    chance = -np.expm1(-RATES * DAY)[None, :]
    unchanged = np.exp(-RATES * DAY * ticks)
    changed = -np.expm1(-RATES * DAY * ticks)
    kind = type(objective)
    if kind is Detection:
        return changed - ticks * unchanged * chance, False
    if kind is Freshness:
        return DAY * (changed / chance - ticks * unchanged), True
    if kind is Delay:
        return DAY * chance * ticks * (ticks + 1) / 2, True
    if kind is Age:
        day_after = ticks - changed / chance + changed / 2
        # The sum of what the days before it cost.
        before = ticks * (ticks - 1) / 2 + (ticks - changed / chance) * (1 / 2 - 1 / chance)
        return DAY**2 * (ticks * day_after - before), True
    return np.zeros((len(CLOCK_DAYS), len(RATES))), False
