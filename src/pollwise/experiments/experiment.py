"""What a reproduced table or figure is: where it comes from, what is run, whether it holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

__all__ = ["POLLS_TO_SHARE", "Curve", "Effort", "Experiment", "Measurements", "Row"]

POLLS_TO_SHARE = "polls to 90 %"
"""How the names of columns end that say how many polls a learner needs."""


@dataclass(frozen=True)
class Row:
    """A number of a table, with its standard error and the published value.

    `value` None: there is none (a learner that never gets that far). `published` None: not
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
class Measurements:
    """The numbers of an experiment, and how to draw them.

    `curves` is empty for tables. `levels` are horizontal lines by their label. `x_label` and
    `y_label` name the axes; x is logarithmic, with `log_y` y is too. `unlisted` are numbers that
    the verdict needs and the table does not show.
    """

    rows: list[Row]
    curves: list[Curve] = field(default_factory=list)
    levels: Mapping[str, float] = field(default_factory=dict)
    x_label: str = "polls"
    y_label: str = "expected reward of a poll"
    log_y: bool = False
    unlisted: Mapping[str, float] = field(default_factory=dict)

    def cell(self, row: str, column: str) -> Row:
        """The number in this place of the table; `KeyError` if there is none."""
        return {(each.row, each.column): each for each in self.rows}[row, column]

    def value(self, row: str, column: str) -> float:
        """The value in this place, where there must be one; else `ValueError`."""
        value = self.cell(row, column).value
        if value is None:
            raise ValueError(f"no value in row {row!r}, column {column!r}")
        return value


@dataclass(frozen=True)
class Effort:
    """How much to do: `trials`, on `cores` cores, telling `report` how far it is."""

    trials: int
    cores: int
    report: Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A published table or figure: what it says, what is run, and whether it holds.

    `title` says in a line what it shows, `source` is author, year, table or figure, and `claim` is
    what the source says of it. `play` measures, by default with `trials` trials.
    `published` has the printed values by row and column of our table. `verdict` judges the
    measurements and says "Holds" or "Does not hold", and what was seen (see
    `pollwise.experiments.judging`). `remark` is what else to know about the source.
    """

    title: str
    source: str
    claim: str
    trials: int = 1
    play: Callable[[Effort], Measurements]
    published: Mapping[tuple[str, str], float] = field(default_factory=dict)
    verdict: Callable[[Measurements], str]
    remark: str = ""

    def measure(self, effort: Effort) -> Measurements:
        """Do the trials, and put the printed values beside ours."""
        measured = self.play(effort)
        rows = [
            replace(row, published=self.published.get((row.row, row.column)))
            for row in measured.rows
        ]
        return replace(measured, rows=rows)

    def finding(self, measured: Measurements) -> str:
        """The verdict and the remark."""
        return " ".join(filter(None, (self.verdict(measured), self.remark)))
