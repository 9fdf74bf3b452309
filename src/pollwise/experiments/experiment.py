"""What a reproduced table or figure is: where it comes from, how it is run, what comes out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

__all__ = ["POLLS_TO_SHARE", "Curve", "Effort", "Experiment", "Outcome", "Row"]

POLLS_TO_SHARE = "polls to 90 %"
"""The end of the names of columns that say how many polls a learner needs."""


@dataclass(frozen=True)
class Row:
    """A number: of which row and column, with its standard error and the published value.

    `value` None: there is no such number (a learner that never gets as far). `published` None: not
    printed, or not known to us.
    """

    row: str
    column: str
    value: float | None
    stderr: float | None = None
    published: float | None = None


@dataclass(frozen=True)
class Curve:
    """A line to be drawn: its label, x and y, and perhaps the standard errors of y."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    stderr: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Outcome:
    """What an experiment found.

    `finding` says in words whether the claim holds; `curves` is empty for tables. `levels` are
    horizontal lines by their label. `x_label` and `y_label` are those of the axes, of
    which the first is logarithmic, the second if `log_y`.
    """

    rows: list[Row]
    finding: str
    curves: list[Curve] = field(default_factory=list)
    levels: dict[str, float] = field(default_factory=dict)
    x_label: str = "polls"
    y_label: str = "expected reward of a poll"
    log_y: bool = False


@dataclass(frozen=True)
class Effort:
    """How much to do: `trials`, on `cores` cores, telling `report` how far it is."""

    trials: int
    cores: int
    report: Callable[[str], None]


class Experiment(Protocol):
    """A published table or figure. `claim` is what its source says of it, in our words."""

    @property
    def title(self) -> str:
        """What it shows, in a line."""

    @property
    def source(self) -> str:
        """Author, year, table or figure."""

    @property
    def claim(self) -> str:
        """What the source says of it."""

    @property
    def trials(self) -> int:
        """How many trials it takes if not said otherwise."""

    def run(self, effort: Effort) -> Outcome:
        """Do the trials, and judge."""
