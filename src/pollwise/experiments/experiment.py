"""What a reproduced table or figure is: where it comes from, what is run, whether it agrees."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pollwise.experiments.printed import Printed
from pollwise.experiments.trials import Played

__all__ = [
    "POLLS_TO_SHARE",
    "Claim",
    "Curve",
    "Effort",
    "Experiment",
    "Measurements",
    "Row",
    "Verdict",
]

POLLS_TO_SHARE = "polls to 90 %"
"""How the names of columns end that say how many polls a learner needs."""


@dataclass(frozen=True)
class Row:
    """A number of a table, with its standard error and what is printed in its place.

    `value` None: there is none (a learner that never gets that far). `published` None: the paper
    prints none.
    """

    row: str
    column: str
    value: float | None
    stderr: float | None = None
    published: Printed | None = None


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

    `curves` is empty for tables; with `points` they are drawn as points. `levels` are horizontal
    lines by their label. `x_label` and `y_label` name the axes, `log_x` says whether x is
    logarithmic.
    """

    rows: list[Row]
    curves: list[Curve] = field(default_factory=list)
    levels: Mapping[str, float] = field(default_factory=dict)
    x_label: str = "polls"
    y_label: str = "expected reward of a poll"
    log_x: bool = True
    points: bool = False

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
    """How much to do: `trials`, on `cores` cores, telling `report` how far it is.

    `played` is what was played before, which several tables have in common.
    """

    trials: int
    cores: int
    report: Callable[[str], None]
    played: Played = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, and what was seen: numbers with their standard errors, in words."""

    holds: bool
    seen: str


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper says of an item: a few words of it, and the line of its plain text.

    `test` says in a sentence how it is tested; `judge` does it.
    """

    quote: str
    line: int
    test: str
    judge: Callable[[Measurements], Verdict]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A published table or figure: what it shows, what is run, what the paper says of it.

    `title` is its subject as printed, `source` is author, year, table or figure, `claims` is what
    the source says of it. `play` measures, by default with `trials` trials.
    `published` has the printed numbers by row and column of our table; `printed_trials` is the
    number of trials that they are means of (None: they are exact). `reasons` says why printed
    numbers do not come out, by row of our table, or by row and column. `remark` is what else to
    know about the item. `copied`: the printed numbers are what is put in, so that they are not
    compared.
    """

    title: str
    source: str
    claims: Sequence[Claim] = ()
    trials: int = 1
    play: Callable[[Effort], Measurements]
    published: Mapping[tuple[str, str], Printed] = field(default_factory=dict)
    printed_trials: int | None = None
    reasons: Mapping[str | tuple[str, str], str] = field(default_factory=dict)
    remark: str = ""
    copied: bool = False

    def measure(self, effort: Effort) -> Measurements:
        """Do the trials, and put the printed numbers beside ours."""
        measured = self.play(effort)
        rows = [
            replace(row, published=self.published.get((row.row, row.column)))
            for row in measured.rows
        ]
        return replace(measured, rows=rows)

    def joint_error(self, row: Row, trials: int) -> float:
        """The standard error of the difference between our number and the printed one.

        The paper's trials are taken to scatter as ours do.
        """
        theirs = trials / self.printed_trials if self.printed_trials else 0.0
        return (row.stderr or 0.0) * math.sqrt(1.0 + theirs)

    def reason(self, row: Row) -> str:
        """Why the printed number does not come out."""
        given = self.reasons.get((row.row, row.column), self.reasons.get(row.row))
        return given or "not found"
