"""Granmo and Oommen 2010: H-TRAA (`docs/reproduction.md` has the paper in full)."""

import math
from collections.abc import Callable
from dataclasses import replace

from pollwise.experiments.experiment import Curve, Effort, Experiment, Measurements, Row
from pollwise.experiments.judging import ahead_in_the_end, faster, near_the_optimum, verdict
from pollwise.experiments.learning import checkpoints_to, learn
from pollwise.experiments.scenario import (
    BAYES_INDEX,
    HTRAA_500,
    LAKG_1500,
    LAKG_2500,
    ConfiguredPolicy,
    Environment,
)
from pollwise.experiments.score_figure import ScoreFigure

__all__ = ["EXPERIMENTS", "exponent_of_growth"]

_SOURCE = "Granmo, Oommen 2010"
_ADAPTS = "H-TRAA adapts to changes of the environment, and does so faster than LAKG."
_MARKS = (1_000, 10_000, 50_000, 100_000, 200_000)

_RULES = tuple(
    ConfiguredPolicy(f"htraa {rule}", "htraa", {"resolution": 500, "update": rule})
    for rule in ("reward-inaction", "inaction-penalty", "reward-penalty")
)

_SIZES = (8, 64, 512, 4_096, 32_768)
_POLLS = {8: 20_000, 64: 40_000, 512: 60_000, 4_096: 150_000, 32_768: 300_000}
_LAKG_POLLS_PER_PAGE = 150
_EXPONENT = 1.3
_PARTS_OF_UNIFORM = 25
"""LAKG's least amount is the uniform one over this: what all pages have at least is lost."""
_GROWTH = "exponent of growth"


def _against_lakg(
    marks: tuple[int, ...], *, perturbations: int = 0, swap_every: int | None = None
) -> ScoreFigure:
    return ScoreFigure(
        environment=Environment(
            pages=500, alpha=0.9, beta=1.5, perturbations=perturbations, swap_every=swap_every
        ),
        learners=(HTRAA_500, LAKG_1500, LAKG_2500, BAYES_INDEX),
        marks=marks,
    )


def _perturbed(number: int, printed: str, perturbations: int) -> Experiment:
    """A figure about pages that are not in the order of their ranks."""
    return Experiment(
        title=f"H-TRAA against LAKG, static, 500 pages 0.9/1.5, {printed} perturbations",
        source=f"{_SOURCE}, figure {number}",
        claim="H-TRAA stays faster than LAKG when the pages are not in the order of their ranks.",
        trials=20,
        play=_against_lakg(_MARKS, perturbations=perturbations),
        verdict=faster(HTRAA_500, LAKG_1500),
    )


def _lakg(pages: int) -> ConfiguredPolicy:
    """LAKG with a resolution that fits so many pages."""
    resolution = math.ceil((_PARTS_OF_UNIFORM * pages) ** (1 / _EXPONENT))
    return ConfiguredPolicy("lakg", "lakg", {"resolution": resolution, "exponent": _EXPONENT})


def _growth(effort: Effort) -> Measurements:
    """The polls to 90 % of the optimum by number of pages."""
    needed: dict[str, dict[int, int | None]] = {}
    for pages in _SIZES:
        environment = Environment(pages=pages, alpha=0.9, beta=1.5)
        named = replace(effort, report=_prefixed(effort.report, f"{pages:,d} pages: "))
        quick = checkpoints_to(_POLLS[pages])
        slow = checkpoints_to(max(_POLLS[8], _LAKG_POLLS_PER_PAGE * pages))
        for learners, checkpoints in (
            ([HTRAA_500, BAYES_INDEX], quick),
            ([_lakg(pages)], slow),
        ):
            (learned,) = learn([environment], learners, checkpoints, named)
            for learner in learners:
                polls = learned.polls_to_share(learner.row)
                needed.setdefault(learner.row, {})[pages] = polls
    rows = [
        Row(row, f"{pages:,d} pages", polls)
        for row, by_size in needed.items()
        for pages, polls in by_size.items()
    ]
    rows += [Row(row, _GROWTH, exponent_of_growth(by_size)) for row, by_size in needed.items()]
    return Measurements(
        rows,
        [_curve(row, by_size) for row, by_size in needed.items()],
        x_label="pages",
        y_label="polls to 90 % of the optimum",
        log_y=True,
    )


def _prefixed(report: Callable[[str], None], prefix: str) -> Callable[[str], None]:
    return lambda text: report(prefix + text)


def exponent_of_growth(by_size: dict[int, int | None]) -> float | None:
    """The slope in logarithms from 64 pages to the most for which there is a number.

    `by_size` has the polls needed by number of pages; None if fewer than two sizes have one.
    """
    reached = {pages: polls for pages, polls in by_size.items() if polls and pages >= 64}
    if len(reached) < 2:
        return None
    least, most = min(reached), max(reached)
    return math.log(reached[most] / reached[least]) / math.log(most / least)


def _curve(row: str, by_size: dict[int, int | None]) -> Curve:
    reached = [(float(pages), float(polls)) for pages, polls in by_size.items() if polls]
    return Curve(row, tuple(x for x, _ in reached), tuple(y for _, y in reached))


def _scales_sublinearly(figure: Measurements) -> str:
    growth = {row.row: row.value for row in figure.rows if row.column == _GROWTH}
    told = ", ".join(f"{r} {'-' if v is None else f'{v:.2f}'}" for r, v in growth.items())
    htraa, lakg = growth[HTRAA_500.row], growth["lakg"]
    return verdict(
        htraa is not None and htraa < 1.0 and lakg is not None and lakg > 0.9,
        f"From 64 pages on, polls grow with the pages to the power of: {told}.",
    )


EXPERIMENTS = {
    "htraa-figure-5": Experiment(
        title="H-TRAA's update rules, 500 pages 0.9/1.5 in the order of ranks",
        source=f"{_SOURCE}, figure 5",
        claim="TRAA and H-TRAA converge to the optimum.",
        trials=20,
        play=ScoreFigure(
            environment=Environment(pages=500, alpha=0.9, beta=1.5),
            learners=(*_RULES, BAYES_INDEX),
            marks=(1_000, 10_000, 50_000, 100_000),
        ),
        verdict=near_the_optimum(_RULES),
    ),
    "htraa-figure-6": Experiment(
        title="H-TRAA against LAKG, static, 500 pages 0.9/1.5 in the order of ranks",
        source=f"{_SOURCE}, figure 6",
        claim="H-TRAA converges orders of magnitude faster than LAKG.",
        trials=20,
        play=_against_lakg(_MARKS),
        verdict=faster(HTRAA_500, LAKG_1500, times=10.0),
    ),
    "htraa-figure-7": _perturbed(7, "10³", 1_000),
    "htraa-figure-8": _perturbed(8, "10⁵", 100_000),
    "htraa-figure-9": _perturbed(9, "10⁶", 1_000_000),
    "htraa-figure-10": Experiment(
        title="H-TRAA against LAKG, dynamic, r = 80,000, 500 pages 0.9/1.5",
        source=f"{_SOURCE}, figure 10",
        claim=_ADAPTS,
        trials=5,
        play=_against_lakg((10_000, 100_000, 800_000), swap_every=80_000),
        verdict=faster(HTRAA_500, LAKG_1500),
    ),
    "htraa-figure-11": Experiment(
        title="H-TRAA against LAKG, dynamic, r = 1,000, 500 pages 0.9/1.5",
        source=f"{_SOURCE}, figure 11",
        claim=_ADAPTS,
        trials=5,
        play=_against_lakg((10_000, 100_000, 400_000), swap_every=1_000),
        verdict=ahead_in_the_end(HTRAA_500, LAKG_1500),
    ),
    "htraa-figure-12": Experiment(
        title="polls to 90 % of the optimum, 8 to 32,768 pages 0.9/1.5 in the order of ranks",
        source=f"{_SOURCE}, figure 12",
        claim="In contrast to LAKG, H-TRAA scales sublinearly.",
        trials=5,
        play=_growth,
        verdict=_scales_sublinearly,
    ),
}
