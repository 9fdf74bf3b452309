"""Several policies on several seeds of one world, and what the figures mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.metrics import Polls, detections, score
from pollwise.simulation.world import World
from pollwise.simulation.zipf import Zipf

__all__ = [
    "CHECKPOINTS",
    "Mean",
    "expected_detections",
    "found_figures",
    "mean_of",
    "replay_figures",
    "zipf_figures",
]

CHECKPOINTS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
_TAIL = 0.2
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a figure over seeds, and its standard error (None for one seed)."""

    value: float
    stderr: float | None


def mean_of(values: Sequence[float]) -> Mean:
    """Mean and standard error of a figure over seeds.

    >>> mean_of([1.0, 3.0])
    Mean(value=2.0, stderr=1.0)
    """
    array = np.asarray(values, np.float64)
    spread = float(array.std(ddof=1) / math.sqrt(len(array))) if len(array) > 1 else None
    return Mean(float(array.mean()), spread)


def found_figures(found: NDArray[np.float64], ideal: float) -> dict[int, dict[str, float]]:
    """By number of polls (the checkpoints and all): expected detections a poll.

    `found` has those of each poll. `found_per_poll` over the run so far, `tail_found_per_poll`
    over its last 20 %, `of_ideal` the latter as a share of `ideal`.
    """
    figures = {}
    for count in sorted({*(n for n in CHECKPOINTS if n < len(found)), len(found)}):
        tail = float(found[min(round((1 - _TAIL) * count), count - 1) : count].mean())
        figures[count] = {
            "found_per_poll": float(found[:count].mean()),
            "tail_found_per_poll": tail,
            "of_ideal": tail / ideal,
        }
    return figures


def zipf_figures(world: Zipf, polls: Polls) -> dict[int, dict[str, float]]:
    """`found_figures` of the polls of a world, as shares of 1 - Πq."""
    return found_figures(expected_detections(world, polls), world.ideal)


def expected_detections(world: Zipf, polls: Polls) -> NDArray[np.float64]:
    """Of each poll, the probability that it finds a change."""
    seen_at = np.array([page.seen_at for page in world.pages], np.float64)
    order = np.argsort(polls.page_ids, kind="stable")
    pages, times = polls.page_ids[order], polls.times[order]
    first = np.append(True, pages[1:] != pages[:-1])
    before = np.where(first, seen_at[pages], np.append(0.0, times[:-1]))
    found = np.empty(len(polls))
    found[order] = detections(
        world.cumulative_hazard(pages, before), world.cumulative_hazard(pages, times)
    )
    return found


def replay_figures(world: World, polls: Polls, warm_up: float) -> dict[str, float]:
    """Of the part of a replay after `warm_up` (a share of its time): polls, captured share of
    the changes, freshness, and mean delay in days.
    """
    begin = world.begin + warm_up * (world.end - world.begin)
    result = score(polls, world.changes, begin=begin, end=world.end)
    return {
        "polls": result.polls,
        "captured": result.captured,
        "freshness": result.freshness,
        "delay_days": result.delay / _DAY,
    }
