"""Runs an experiment by its name: what `pollwise reproduce` computes."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pollwise.checks import require_drawable, require_whole
from pollwise.child_processes import usable_cores
from pollwise.experiments.agreement import Comparison, comparisons, counts
from pollwise.experiments.drawing import draw
from pollwise.experiments.experiment import (
    Claim,
    Effort,
    Experiment,
    Measurements,
    Row,
    Verdict,
)
from pollwise.experiments.registry import experiment_named
from pollwise.experiments.trials import Played

__all__ = ["Reproduction", "reproduce"]

_MOST_TRIALS = 100_000


@dataclass(frozen=True)
class Reproduction:
    """An experiment that was run: for how long, on how many cores; `figure` is the file written.

    `findings` has each claim with its verdict, `compared` each number that is printed.
    """

    name: str
    experiment: Experiment
    measurements: Measurements
    findings: Sequence[tuple[Claim, Verdict]]
    compared: Sequence[Comparison]
    trials: int
    seconds: float
    cores: int
    figure: Path | None

    def summary(self) -> dict[str, Any]:
        """What the list of experiments says of it."""
        return {
            "name": self.name,
            "trials": self.trials,
            "seconds": round(self.seconds, 1),
            "claims": len(self.findings),
            "claims_hold": sum(verdict.holds for _, verdict in self.findings),
            "numbers": counts(self.compared),
        }

    def document(self) -> dict[str, Any]:
        """As one JSON document."""
        nearness = {each.row: each for each in self.compared}
        return {
            **self.summary(),
            "title": self.experiment.title,
            "source": self.experiment.source,
            "findings": [
                {
                    "quote": claim.quote,
                    "line": claim.line,
                    "test": claim.test,
                    "holds": verdict.holds,
                    "seen": verdict.seen,
                }
                for claim, verdict in self.findings
            ],
            "remark": self.experiment.remark,
            "seeds": [0, self.trials - 1],
            "cores": self.cores,
            "figure": None if self.figure is None else str(self.figure),
            "results": [
                {
                    "row": row.row,
                    "column": row.column,
                    "value": row.value,
                    "stderr": row.stderr,
                    **_printed(row, nearness.get(row)),
                }
                for row in self.measurements.rows
            ],
        }


def _printed(row: Row, compared: Comparison | None) -> dict[str, Any]:
    """What is printed, where, and how near our number is."""
    if row.published is None:
        return {"published": None}
    printed = asdict(row.published)
    for derived in ("value", "step"):
        del printed[derived]
    return {
        "published": row.published.value,
        "printed": printed,
        "nearness": None if compared is None else compared.nearness,
        "reason": None if compared is None else compared.reason or None,
    }


def reproduce(
    name: str,
    *,
    trials: int | None,
    folder: Path | None,
    report: Callable[[str], None],
    played: Played | None = None,
) -> Reproduction:
    """Run an experiment on all cores and draw its figure into `folder` (None: no figure).

    `trials` None: the experiment's own number; where nothing is random, there is one trial.
    `played` is what experiments before this one have played; this one adds what it plays.
    `InputError` for an unknown name, a number of trials below 2, without which there are no
    standard errors, or above 100,000, or a folder that cannot be written.
    """
    experiment = experiment_named(name)
    trials = experiment.trials if trials is None else trials
    require_whole("reproduce", "trials", trials, least=min(2, experiment.trials), most=_MOST_TRIALS)
    trials = min(trials, 1) if experiment.trials == 1 else trials
    figure = None if folder is None else folder / f"{name}.png"
    if figure is not None:
        require_drawable(figure, "ask for the numbers alone (--no-figure)")
    cores = usable_cores()
    begun = time.perf_counter()
    measured = experiment.measure(Effort(trials, cores, report, {} if played is None else played))
    seconds = time.perf_counter() - begun
    if figure is not None:
        draw(figure, f"{name}: {experiment.title}", measured)
    return Reproduction(
        name=name,
        experiment=experiment,
        measurements=measured,
        findings=[(claim, claim.judge(measured)) for claim in experiment.claims],
        compared=comparisons(experiment, measured, trials),
        trials=trials,
        seconds=seconds,
        cores=cores,
        figure=figure,
    )
