"""What an experiment plays: environments and learners, as plain values that load quickly."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "BAYES_INDEX",
    "HTRAA_500",
    "LAKG",
    "LAKG_1500",
    "LAKG_2500",
    "LAKG_5000",
    "ConfiguredPolicy",
    "Environment",
]


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Pages by rank (`pollwise.simulation.worlds.ranks`) in a stochastic knapsack.

    `noise` is that of the feedback. `name` is how tables call the pages, by default α/β.
    """

    pages: int
    alpha: float
    beta: float
    noise: float = 0.0
    swap_every: int | None = None
    perturbations: int | None = 0
    name: str = ""

    @property
    def ranks(self) -> dict[str, Any]:
        """The arguments of `RankedPages`."""
        names = ("pages", "alpha", "beta", "swap_every", "perturbations")
        return {name: getattr(self, name) for name in names}

    @property
    def label(self) -> str:
        """As the tables print it."""
        name = self.name or f"{self.alpha:.1f}/{self.beta:.1f}"
        return f"{name} σ={self.noise:g}" if self.noise else name

    def column(self, polls: int) -> str:
        """The name of the column of what is got from so many polls."""
        return f"{self.label} t={polls}"


@dataclass(frozen=True)
class ConfiguredPolicy:
    """A row: its name, the policy's name in the catalogue, and the policy's options.

    `elapsed`: its polls pay for the time since the page's last poll, as real ones do, whatever
    amount it offers (see `pollwise.simulation.worlds.stochastic_knapsack.play`).
    """

    row: str
    policy: str
    options: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    elapsed: bool = False


BAYES_INDEX = ConfiguredPolicy("bayes-index", "bayes-index")
"""Ours, a row of most experiments with learners."""
HTRAA_500 = ConfiguredPolicy("htraa 500", "htraa", {"resolution": 500})
LAKG_1500 = ConfiguredPolicy("lakg 1500/1.3", "lakg", {"resolution": 1500, "exponent": 1.3})
LAKG_2500 = ConfiguredPolicy("lakg 2500/1.3", "lakg", {"resolution": 2500, "exponent": 1.3})
LAKG_5000 = ConfiguredPolicy("lakg 5000/1.2", "lakg", {"resolution": 5000, "exponent": 1.2})
LAKG = (LAKG_1500, LAKG_2500, LAKG_5000)
"""The published configurations, from the coarsest to the finest."""
