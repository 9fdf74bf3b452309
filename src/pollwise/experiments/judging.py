"""Whether our measurements bear out what a paper claims: comparisons that several papers need."""

import math
from collections.abc import Callable, Sequence

from pollwise.experiments.experiment import Claim, Measurements, Verdict

__all__ = [
    "CLEARLY",
    "Judge",
    "above",
    "alike",
    "all_of",
    "claim",
    "difference",
    "grows",
    "lesser_losses",
    "more",
    "nearer",
    "signed",
    "unmoved",
]

Judge = Callable[[Measurements], Verdict]
Lead = tuple[float, float]
"""How much more there is in one place than in another, and its standard error."""

CLEARLY = "by two standard errors or more"
"""How texts of tests say what `more` asks for."""


def claim(quote: str, line: int, test: str, *judges: Judge) -> Claim:
    """A claim that holds if all judges say so."""
    return Claim(quote=quote, line=line, test=test, judge=all_of(*judges))


def difference(measured: Measurements, one: tuple[str, str], other: tuple[str, str]) -> Lead:
    """How much more there is in one place (row, column) than in another."""
    error = math.hypot(*(measured.cell(*place).stderr or 0.0 for place in (one, other)))
    return measured.value(*one) - measured.value(*other), error


def more(lead: Lead) -> bool:
    """Whether there is more, by two standard errors or more; nothing is no lead."""
    return lead[0] > 0.0 and lead[0] >= 2.0 * lead[1]


def signed(lead: Lead) -> str:
    """A lead in words, with two digits of its standard error.

    >>> signed((1.2345, 0.0312))
    '+1.234 ± 0.031'
    """
    size = lead[1] or abs(lead[0]) / 100
    digits = max(0, 1 - math.floor(math.log10(size))) if size else 0
    return f"{lead[0]:+.{digits}f} ± {lead[1]:.{digits}f}"


def above(rows: Sequence[str], others: Sequence[str], columns: Sequence[str]) -> Judge:
    """In all `columns`, each of `rows` is above each of `others` by two standard errors or more.

    The text has the smallest lead in each column.
    """

    def judge(measured: Measurements) -> Verdict:
        holds, texts = True, []
        for column in columns:
            leads = [
                (difference(measured, (row, column), (other, column)), row, other)
                for row in rows
                for other in others
            ]
            holds &= all(more(lead) for lead, *_ in leads)
            lead, row, other = min(leads)
            texts.append(f"{column}: {row} {signed(lead)} to {other}")
        return Verdict(holds, "; ".join(texts))

    return judge


def alike(row: str, other: str, columns: Sequence[str], share: float) -> Judge:
    """In all `columns`, `row` is within this share of `other`, give or take two standard errors."""

    def judge(measured: Measurements) -> Verdict:
        holds, texts = True, []
        for column in columns:
            lead, error = difference(measured, (row, column), (other, column))
            level = measured.value(other, column)
            holds &= abs(lead) - 2.0 * error <= share * level
            texts.append(f"{column}: {row} {lead / level:+.1%} ± {error / level:.1%} to {other}")
        return Verdict(holds, "; ".join(texts))

    return judge


def nearer(row: str, other: str, near: str, far: str) -> Judge:
    """`row` and `other` are nearer to each other in one column than in another one."""

    def judge(measured: Measurements) -> Verdict:
        one, two = (difference(measured, (row, each), (other, each)) for each in (near, far))
        gap = abs(two[0]) - abs(one[0]), math.hypot(one[1], two[1])
        return Verdict(
            more(gap), f"{row} {signed(one)} to {other} at {near}, {signed(two)} at {far}"
        )

    return judge


def unmoved(row: str, columns: Sequence[str], share: float) -> Judge:
    """All `columns` have the same in this row, within this share."""

    def judge(measured: Measurements) -> Verdict:
        values = [measured.value(row, column) for column in columns]
        return Verdict(
            max(values) <= (1.0 + share) * min(values),
            f"{row}: " + ", ".join(f"{value:.1f}" for value in values),
        )

    return judge


def grows(rows: Sequence[str], before: str, after: str) -> Judge:
    """Each of `rows` has more in one column than in another, by two standard errors or more."""

    def judge(measured: Measurements) -> Verdict:
        gains = {row: difference(measured, (row, after), (row, before)) for row in rows}
        told = (f"{row} {signed(gain)}" for row, gain in gains.items())
        return Verdict(
            all(map(more, gains.values())), f"from {before} to {after}: " + ", ".join(told)
        )

    return judge


def lesser_losses(rows: Sequence[str], other: str, before: str, after: str) -> Judge:
    """From one column to another, each of `rows` loses less than `other`, by two errors or more."""

    def judge(measured: Measurements) -> Verdict:
        losses = {row: difference(measured, (row, before), (row, after)) for row in (*rows, other)}
        most, error = losses[other]
        holds = all(
            more((most - losses[row][0], math.hypot(losses[row][1], error))) for row in rows
        )
        told = (f"{row} {signed(loss)}" for row, loss in losses.items())
        return Verdict(holds, "lost: " + ", ".join(told))

    return judge


def all_of(*judges: Judge) -> Judge:
    """Holds if all of these do."""

    def judge(measured: Measurements) -> Verdict:
        verdicts = [each(measured) for each in judges]
        return Verdict(
            all(verdict.holds for verdict in verdicts),
            "; ".join(verdict.seen for verdict in verdicts),
        )

    return judge
