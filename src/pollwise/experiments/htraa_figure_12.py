"""How the polls that a learner needs grow with the number of pages."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from pollwise.experiments import sources
from pollwise.experiments.experiment import Curve, Effort, Outcome, Row
from pollwise.experiments.judging import verdict
from pollwise.experiments.learners import BAYES_INDEX, HTRAA_500
from pollwise.experiments.learning import checkpoints_to, learn
from pollwise.experiments.scenario import Learner, World

__all__ = ["EXPERIMENT"]

_SIZES = (8, 64, 512, 4_096, 32_768)
_POLLS = {8: 20_000, 64: 40_000, 512: 60_000, 4_096: 150_000, 32_768: 300_000}
_LAKG_POLLS_PER_PAGE = 150
_EXPONENT = 1.3
_PARTS_OF_UNIFORM = 25
"""LAKG's least amount is this part of the uniform one: what all pages have at least is lost."""


def _lakg(pages: int) -> Learner:
    """LAKG with a resolution that fits so many pages."""
    resolution = math.ceil((_PARTS_OF_UNIFORM * pages) ** (1 / _EXPONENT))
    return Learner("lakg", "lakg", {"resolution": resolution, "exponent": _EXPONENT})


@dataclass(frozen=True)
class _Scaling:
    title: str = "polls to 90 % of the optimum, 8 to 32,768 pages 0.9/1.5 in the order of ranks"
    source: str = f"{sources.HTRAA}, figure 12"
    claim: str = "In contrast to LAKG, H-TRAA scales sublinearly."
    trials: int = 5

    def run(self, effort: Effort) -> Outcome:
        """Measure, and fit the exponent of growth between the extremes."""
        needed: dict[str, dict[int, int | None]] = {}
        for pages in _SIZES:
            world = World(pages=pages, alpha=0.9, beta=1.5)
            named = replace(effort, report=_prefixed(effort.report, f"{pages:,d} pages: "))
            quick = checkpoints_to(_POLLS[pages])
            slow = checkpoints_to(max(_POLLS[8], _LAKG_POLLS_PER_PAGE * pages))
            for learners, checkpoints in (
                ([HTRAA_500, BAYES_INDEX], quick),
                ([_lakg(pages)], slow),
            ):
                (learned,) = learn([world], learners, checkpoints, named)
                for learner in learners:
                    polls = learned.polls_to_share(learner.row)
                    needed.setdefault(learner.row, {})[pages] = polls
        rows = [
            Row(row, f"{pages:,d} pages", polls)
            for row, by_size in needed.items()
            for pages, polls in by_size.items()
        ]
        growth = {row: _exponent(by_size) for row, by_size in needed.items()}
        rows += [Row(row, "exponent of growth", value) for row, value in growth.items()]
        told = ", ".join(f"{r} {'-' if v is None else f'{v:.2f}'}" for r, v in growth.items())
        htraa, lakg = growth[HTRAA_500.row], growth["lakg"]
        return Outcome(
            rows,
            verdict(
                htraa is not None and htraa < 1.0 and lakg is not None and lakg > 0.9,
                f"From 64 pages on, polls grow with the pages to the power of: {told}.",
            ),
            [_curve(row, by_size) for row, by_size in needed.items()],
            x_label="pages",
            y_label="polls to 90 % of the optimum",
            log_y=True,
        )


def _prefixed(report: Callable[[str], None], prefix: str) -> Callable[[str], None]:
    return lambda text: report(prefix + text)


def _exponent(by_size: dict[int, int | None]) -> float | None:
    """The slope in logarithms from 64 pages to the most for which there is a number."""
    reached = {pages: polls for pages, polls in by_size.items() if polls and pages >= 64}
    if len(reached) < 2:
        return None
    least, most = min(reached), max(reached)
    return math.log(reached[most] / reached[least]) / math.log(most / least)


def _curve(row: str, by_size: dict[int, int | None]) -> Curve:
    reached = [(float(pages), float(polls)) for pages, polls in by_size.items() if polls]
    return Curve(row, tuple(x for x, _ in reached), tuple(y for _, y in reached))


EXPERIMENT = _Scaling()
