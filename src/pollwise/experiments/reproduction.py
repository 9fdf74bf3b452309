"""Runs an experiment by its name: what `pollwise reproduce` computes."""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pollwise.checks import require_drawable, require_whole
from pollwise.experiments.drawing import draw
from pollwise.experiments.experiment import Effort, Experiment, Measurements
from pollwise.experiments.registry import experiment_named

__all__ = ["Reproduction", "reproduce"]


@dataclass(frozen=True)
class Reproduction:
    """An experiment that was run: for how long, on how many cores; `figure` is the file written."""

    name: str
    experiment: Experiment
    measurements: Measurements
    finding: str
    trials: int
    seconds: float
    cores: int
    figure: Path | None

    def document(self) -> dict[str, Any]:
        """As one JSON document."""
        return {
            "name": self.name,
            "title": self.experiment.title,
            "source": self.experiment.source,
            "claim": self.experiment.claim,
            "finding": self.finding,
            "trials": self.trials,
            "seeds": [0, self.trials - 1],
            "seconds": round(self.seconds, 3),
            "cores": self.cores,
            "figure": None if self.figure is None else str(self.figure),
            "results": [asdict(row) for row in self.measurements.rows],
        }


def reproduce(
    name: str,
    *,
    trials: int | None,
    folder: Path | None,
    report: Callable[[str], None],
) -> Reproduction:
    """Run an experiment on all cores and draw its figure into `folder` (None: no figure).

    `trials` None: the experiment's own number. `InputError` for an unknown name, fewer than one
    trial, or a folder that cannot be written.
    """
    experiment = experiment_named(name)
    trials = experiment.trials if trials is None else trials
    require_whole("reproduce", "trials", trials, least=1)
    figure = None if folder is None else folder / f"{name}.png"
    if figure is not None:
        require_drawable(figure, "ask for the numbers alone (--no-figure)")
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    begun = time.perf_counter()
    measured = experiment.measure(Effort(trials, cores, report))
    seconds = time.perf_counter() - begun
    if figure is not None:
        draw(figure, f"{name}: {experiment.title}", measured)
    return Reproduction(
        name, experiment, measured, experiment.finding(measured), trials, seconds, cores, figure
    )
