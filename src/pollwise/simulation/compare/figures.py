"""What all comparisons share: entries of figures, means over seeds, and reports of progress."""

from collections.abc import Callable, Sequence
from typing import Any

from pollwise.simulation.scores.summary import mean_of

__all__ = ["Figures", "Report", "means_of_seeds"]

Report = Callable[[str], None]
"""Is told what is being computed."""

Figures = dict[str, Any]
"""An entry of a JSON document: figures by name."""


def means_of_seeds(seeds: Sequence[dict[str, float]]) -> Figures:
    """The mean of each figure over the seeds, and its standard error where there are several."""
    means = {name: mean_of([figures[name] for figures in seeds]) for name in seeds[0]}
    result: Figures = {name: mean.value for name, mean in means.items()}
    if len(seeds) > 1:
        result["stderr"] = {name: mean.stderr for name, mean in means.items()}
    return result
