"""What an experiment plays: worlds and learners, as plain values that load quickly."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Learner", "World"]


@dataclass(frozen=True, kw_only=True)
class World:
    """Pages by rank (see `pollwise.simulation.worlds.ranks`), in one of two environments.

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
class Learner:
    """A row: its name, the policy's name in the catalogue, and the policy's options."""

    row: str
    policy: str
    options: Mapping[str, float | int | str | bool] = field(default_factory=dict)
