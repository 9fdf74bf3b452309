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
    """Pages by rank (see `pollwise.simulation.worlds.ranks`), in one of two kinds of world.

    The abstract one (`pollwise.simulation.worlds.stochastic_knapsack`) pays for the amount that a
    page is offered; in real web polling (`polling`) a poll pays if the page has changed since the
    poll before. `noise` belongs to the abstract one.
    """

    pages: int
    alpha: float
    beta: float
    noise: float = 0.0
    swap_every: int | None = None
    perturbations: int | None = 0
    polling: bool = False

    @property
    def ranks(self) -> dict[str, Any]:
        """The arguments of `RankedPages`."""
        names = ("pages", "alpha", "beta", "swap_every", "perturbations")
        return {name: getattr(self, name) for name in names}

    @property
    def label(self) -> str:
        """As the tables print it: α/β."""
        return f"{self.alpha:.1f}/{self.beta:.1f}"


@dataclass(frozen=True)
class ConfiguredPolicy:
    """A row: its name, the policy's name in the catalogue, and the policy's options."""

    row: str
    policy: str
    options: Mapping[str, float | int | str | bool] = field(default_factory=dict)


BAYES_INDEX = ConfiguredPolicy("bayes-index", "bayes-index")
"""Ours, a row of every experiment with learners."""
HTRAA_500 = ConfiguredPolicy("htraa 500", "htraa", {"resolution": 500})
LAKG_1500 = ConfiguredPolicy("lakg 1500/1.3", "lakg", {"resolution": 1500, "exponent": 1.3})
LAKG_2500 = ConfiguredPolicy("lakg 2500/1.3", "lakg", {"resolution": 2500, "exponent": 1.3})
LAKG_5000 = ConfiguredPolicy("lakg 5000/1.2", "lakg", {"resolution": 5000, "exponent": 1.2})
LAKG = (LAKG_1500, LAKG_2500, LAKG_5000)
"""The published configurations, from the coarsest to the finest."""
