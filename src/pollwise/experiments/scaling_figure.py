"""A figure of scaling: how long a learner takes to learn, and to adapt, by number of pages."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from pollwise.experiments.experiment import Effort, Measurements, Row, Verdict
from pollwise.experiments.judging import Judge
from pollwise.experiments.learning import Learned, checkpoints_to, learn
from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.experiments.score_claims import half_recovery
from pollwise.experiments.score_figure import curve_of

__all__ = [
    "ADAPTATION",
    "LEARNING",
    "ScalingFigure",
    "exponent_of_growth",
    "grows_with_pages",
    "much_sooner",
]

LEARNING = "initial learning"
ADAPTATION = "adaptation"
GROWTH = "exponent of growth"


def _column(pages: int) -> str:
    return f"{pages:,d} pages"


@dataclass(frozen=True)
class ScalingFigure:
    """Measures the polls that learners need with so many pages, at α = 0.9 and β = 1.5.

    `learners` makes the learners for a number of pages. `polls` says after how many polls two
    pages swap ranks, once, by the number of pages; a run is twice as long. `initial learning` is
    up to 90 % of the optimum, `adaptation` is until half of what the swap costs is made good, on
    average over the trials.
    """

    learners: Callable[[int], ConfiguredPolicy]
    polls: Mapping[int, int]

    def __call__(self, effort: Effort) -> Measurements:
        """Do the trials; each number of pages is a curve."""
        times: dict[str, dict[int, float | None]] = {LEARNING: {}, ADAPTATION: {}}
        curves = []
        name = ""
        for pages, polls in self.polls.items():
            learner = self.learners(pages)
            name = learner.row
            named = replace(effort, report=_prefixed(effort.report, f"{name}, {_column(pages)}: "))
            environment = Environment(pages=pages, alpha=0.9, beta=1.5, swap_every=polls)
            after = np.geomspace(1, polls, 25).round().astype(int) + polls
            checkpoints = tuple(sorted({*checkpoints_to(polls), *after.tolist()}))
            (learned,) = learn([environment], [learner], checkpoints, named)
            curve = curve_of(learned, learner.row, f"{name}, {_column(pages)}")
            curves.append(curve)
            times[LEARNING][pages] = _learning(learned, learner.row, polls)
            times[ADAPTATION][pages] = half_recovery(curve, polls)
        rows = [
            Row(f"{name}, {what}", _column(pages), needed)
            for what, by_size in times.items()
            for pages, needed in by_size.items()
        ]
        rows += [
            Row(f"{name}, {what}", GROWTH, exponent_of_growth(by_size))
            for what, by_size in times.items()
        ]
        return Measurements(rows, curves)


def _learning(learned: Learned, row: str, before: int) -> float | None:
    """Polls to 90 % of the optimum, if that is before the swap."""
    learning = [n for n in learned.checkpoints if n <= before]
    scores = {
        row: replace(learned.samples[row], scores=learned.samples[row].scores[:, : len(learning)])
    }
    return Learned(learned.environment, tuple(learning), scores).polls_to_share(row)


def _prefixed(report: Callable[[str], None], prefix: str) -> Callable[[str], None]:
    return lambda text: report(prefix + text)


def exponent_of_growth(by_size: Mapping[int, float | None]) -> float | None:
    """The slope in logarithms from the fewest pages to the most.

    `by_size` has the polls needed by number of pages; None unless all are above 0.
    """
    least, most = min(by_size), max(by_size)
    first, last = by_size[least], by_size[most]
    if least == most or not first or not last or not all(by_size.values()):
        return None
    return math.log(last / first) / math.log(most / least)


def grows_with_pages(row: str, least: float = -math.inf, most: float = math.inf) -> Judge:
    """The polls of a row grow with the pages to a power from `least` to `most`."""

    def judge(measured: Measurements) -> Verdict:
        power = measured.cell(row, GROWTH).value
        told = "-" if power is None else f"{power:.2f}"
        return Verdict(
            power is not None and least <= power <= most, f"{row}: pages to the power of {told}"
        )

    return judge


def much_sooner(row: str, other: str, pages: int, times: float) -> Judge:
    """With so many pages `row` needs `times` fewer polls than `other`, or better.

    If `other` never gets there, that says nothing.
    """

    def judge(measured: Measurements) -> Verdict:
        own, theirs = (measured.cell(each, _column(pages)).value for each in (row, other))
        told = ", ".join(
            f"{each} {'never' if n is None else f'{n:,.0f}'}"
            for each, n in ((row, own), (other, theirs))
        )
        factor = theirs / own if own and theirs else 0.0
        return Verdict(factor >= times, f"{_column(pages)}: {told}, {factor:.0f} times as fast")

    return judge
