"""How the interest in an item of each source fades."""

import numpy as np

from pollwise.experiments import sources
from pollwise.experiments.ephemeral_sources import SOURCES, EphemeralExperiment
from pollwise.experiments.experiment import Curve, Effort, Outcome, Row
from pollwise.experiments.judging import verdict

__all__ = ["EXPERIMENT"]

_AGES = (1, 2, 5, 10)


def _fading(effort: Effort) -> Outcome:
    times = np.linspace(0.1, 10.0, 100)
    rows, curves = [], []
    for number, each in enumerate(SOURCES, start=1):
        name = f"source {number}"
        rows += [
            Row(name, f"age {age}", float(each.value * np.exp(-each.decay * age))) for age in _AGES
        ]
        fading = each.value * np.exp(-each.decay * times)
        curves.append(Curve(name, tuple(times.tolist()), tuple(fading.tolist())))
    one, two, *others = SOURCES
    holds = one.decay > two.decay and min(one.value, two.value) > max(o.value for o in others)
    text = "Sources 1 and 2 begin highest, and 1 fades faster than 2: so they are set."
    return Outcome(
        rows, verdict(holds, text), curves, x_label="age in epochs", y_label="value of an item"
    )


EXPERIMENT = EphemeralExperiment(
    title="how items of the four sources lose their value",
    source=f"{sources.EPHEMERAL}, figure 1",
    claim="The sources differ in initial interest and in how fast it fades.",
    play=_fading,
)
