"""The figures by which runs of policies are compared, and their means over seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.metrics import TALLIED, Polls, detections, ratios, tally
from pollwise.simulation.worlds.world import World
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.units import DAY

__all__ = [
    "CHECKPOINTS",
    "Mean",
    "expected_detections",
    "found_figures",
    "in_days",
    "mean_of",
    "replay_figures",
    "replay_tally",
    "weights_of",
    "zipf_figures",
]

CHECKPOINTS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
_TAIL = 0.2
_TIMES = ("delay", "age")


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
    """Expected detections a poll, by number of polls (each checkpoint, and all polls).

    `found` has those of each poll. `found_per_poll`: over the run so far; `tail_found_per_poll`:
    over its last 20 %; `of_ideal`: the latter as a share of `ideal`.
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
    """The probability of each poll to find a change."""
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


def replay_tally(world: World, polls: Polls, warm_up: float) -> NDArray[np.float64]:
    """The tally of the part of a replay after `warm_up`, a share of its time."""
    begin = world.begin + warm_up * (world.end - world.begin)
    return tally(polls, world.changes, begin=begin, end=world.end)


def replay_figures(world: World, rows: NDArray[np.float64]) -> dict[str, float]:
    """The figures of a replay, from its tally.

    Counts of polls, changes and found changes; captured share of the changes, and of those that
    are no reverts where there are reverts; freshness; mean delay and age in days. Where pages have
    weights, the same figures weighted.
    """
    sums = rows.sum(axis=0)
    counts = dict(zip(TALLIED, sums.tolist(), strict=True))
    figures: dict[str, float] = {name: int(counts[name]) for name in ("polls", "changes", "found")}
    figures |= in_days(ratios(sums))
    weights = weights_of(world)
    if (weights != 1.0).any():
        weighted = in_days(ratios(weights @ rows))
        figures |= {f"weighted_{name}": value for name, value in weighted.items()}
    reverted = world.changes.reverted
    if reverted is None or not reverted.any():
        figures = {name: x for name, x in figures.items() if not name.endswith("novel_captured")}
    return figures


def weights_of(world: World) -> NDArray[np.float64]:
    """The weights of all pages."""
    return np.array([page.weight for page in world.pages])


def in_days(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Figures, or groups of numbers about each, with times in days and names that say so."""
    return {
        f"{name}_days" if name in _TIMES else name: _divided(value, DAY if name in _TIMES else 1.0)
        for name, value in figures.items()
    }


def _divided(value: Any, by: float) -> Any:
    if isinstance(value, Mapping):
        return {name: _divided(part, by) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_divided(part, by) for part in value)
    return float(value) / by
