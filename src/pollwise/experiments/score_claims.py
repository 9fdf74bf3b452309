"""What papers say of figures of learning: comparisons of scores, and of how fast they rise."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pollwise.experiments.experiment import POLLS_TO_SHARE, Curve, Measurements, Row, Verdict
from pollwise.experiments.judging import Judge, difference, more

__all__ = [
    "below_the_optimum",
    "half_recovery",
    "in_order",
    "near_the_optimum",
    "never_at_the_optimum",
    "recovers",
    "sooner",
]


def in_order(rows: Sequence[str], columns: Sequence[str]) -> Judge:
    """In all `columns`, each row is ahead of the next one by two standard errors or more."""

    def judge(measured: Measurements) -> Verdict:
        holds, texts = True, []
        for column in columns:
            for row, other in pairwise(rows):
                holds &= more(difference(measured, (row, column), (other, column)))
            scores = (_told(measured.cell(row, column)) for row in rows)
            texts.append(f"{column}: " + " > ".join(scores))
        return Verdict(holds, "; ".join(texts))

    return judge


def _of_optimum(
    measured: Measurements, rows: Sequence[str], columns: Sequence[str]
) -> list[tuple[str, float, float]]:
    """Row, share of the optimum, and its standard error, at all places."""
    optimum = measured.levels["optimal"]
    return [
        (
            row,
            measured.value(row, column) / optimum,
            (measured.cell(row, column).stderr or 0.0) / optimum,
        )
        for row in rows
        for column in columns
    ]


def _shares_told(shares: Sequence[tuple[str, float, float]]) -> str:
    told = (f"{row} {share:.1%} ± {error:.1%}" for row, share, error in shares)
    return "of the optimum: " + ", ".join(told)


def near_the_optimum(rows: Sequence[str], columns: Sequence[str], share: float) -> Judge:
    """In all `columns`, `rows` have this share of the optimum, give or take two standard errors."""

    def judge(measured: Measurements) -> Verdict:
        shares = _of_optimum(measured, rows, columns)
        holds = all(found + 2.0 * error >= share for _, found, error in shares)
        return Verdict(holds, _shares_told(shares))

    return judge


def below_the_optimum(rows: Sequence[str], columns: Sequence[str], share: float) -> Judge:
    """In all `columns`, `rows` have less than this share of the optimum, by two standard errors."""

    def judge(measured: Measurements) -> Verdict:
        shares = _of_optimum(measured, rows, columns)
        holds = all(found + 2.0 * error < share for _, found, error in shares)
        return Verdict(holds, _shares_told(shares))

    return judge


def never_at_the_optimum(rows: Sequence[str], share: float) -> Judge:
    """At no point of their curves `rows` have this share of the optimum."""

    def judge(measured: Measurements) -> Verdict:
        optimum = measured.levels["optimal"]
        most = {row: max(_curve(measured, row).y) / optimum for row in rows}
        told = ", ".join(f"{row} {value:.1%}" for row, value in most.items())
        return Verdict(max(most.values()) < share, f"at most, of the optimum: {told}")

    return judge


def sooner(row: str, others: Sequence[str], times: float = 1.0) -> Judge:
    """`row` has 90 % of the optimum more than `times` as soon as each of `others`.

    Who never gets there is counted as if it did at the end of the run.
    """

    def judge(measured: Measurements) -> Verdict:
        polls = {each: measured.cell(each, POLLS_TO_SHARE).value for each in (row, *others)}
        own = polls[row]
        holds = own is not None and all(
            (polls[other] or _curve(measured, other).x[-1]) > times * own for other in others
        )
        told = (f"{each} {'never' if n is None else f'{n:,.0f}'}" for each, n in polls.items())
        return Verdict(holds, "polls to 90 % of the optimum: " + ", ".join(told))

    return judge


def half_recovery(curve: Curve, every: int) -> float | None:
    """After how many polls half of what a change costs is made good, on average over changes.

    There is a change after every `every` polls, and the curve has a point at each of these times
    and one poll later. Linear between points; 0: a change costs nothing; None: half of it is not
    made good before the next change.
    """
    polls, scores = np.array(curve.x), np.array(curve.y)
    changes = np.arange(every, polls[-1], every)
    after = polls[(polls > every) & (polls <= 2 * every)] - every
    before = np.interp(changes, polls, scores)
    losses = np.mean([before - np.interp(changes + n, polls, scores) for n in after], axis=1)
    if losses[0] <= 0.0:
        return 0.0
    reached = np.flatnonzero(losses <= losses[0] / 2)
    if len(reached) == 0:
        return None
    end = int(reached[0])
    return float(np.interp(-losses[0] / 2, -losses[end - 1 : end + 1], after[end - 1 : end + 1]))


def recovers(row: str, every: int, within: float, before: Sequence[str] = ()) -> Judge:
    """`row` makes half of what a change costs good within so many polls, and sooner than `before`.

    A change that costs nothing is none to recover from; who never recovers is later.
    """

    def judge(measured: Measurements) -> Verdict:
        polls = {each: half_recovery(_curve(measured, each), every) for each in (row, *before)}
        own, *others = (math.inf if n is None else n for n in polls.values())
        told = (f"{each} {'never' if n is None else f'{n:,.0f}'}" for each, n in polls.items())
        return Verdict(
            0.0 < own <= within and all(own < other for other in others),
            "polls to half of what a change costs: " + ", ".join(told),
        )

    return judge


def _curve(measured: Measurements, row: str) -> Curve:
    return next(curve for curve in measured.curves if curve.label == row)


def _told(cell: Row) -> str:
    error = "" if cell.stderr is None else f" ± {cell.stderr:.3f}"
    return f"{cell.row} {cell.value:.3f}{error}"
