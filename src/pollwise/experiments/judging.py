"""Whether our measurements bear out what a paper claims: judged by their shape, in words."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pollwise.experiments.experiment import POLLS_TO_SHARE, Curve, Measurements
from pollwise.experiments.learning import CLASSICAL
from pollwise.experiments.scenario import ConfiguredPolicy

__all__ = [
    "ahead_in_the_end",
    "coarser_is_sooner",
    "end_scores",
    "faster",
    "last_decade_scores",
    "leads_the_table",
    "near_the_optimum",
    "race",
    "scores_in_words",
    "verdict",
]

Judge = Callable[[Measurements], str]


def verdict(holds: bool, text: str) -> str:
    """Whether a claim holds, and what was seen."""
    return f"{'Holds' if holds else 'Does not hold'}. {text}"


def scores_in_words(scores: Mapping[str, float]) -> str:
    """Scores by row."""
    return ", ".join(f"{row} {score:.3f}" for row, score in scores.items())


def end_scores(figure: Measurements) -> dict[str, float]:
    """The scores after the last poll, by row."""
    return {curve.label: curve.y[-1] for curve in figure.curves}


def last_decade_scores(figure: Measurements) -> dict[str, float]:
    """By row, the mean score over the last nine tenths of the polls, on a logarithmic axis."""
    return {curve.label: _last_decade(curve) for curve in figure.curves}


def _last_decade(curve: Curve) -> float:
    polls = np.array(curve.x)
    late = polls >= polls[-1] / 10
    logs, scores = np.log(polls[late]), np.array(curve.y)[late]
    return float(np.trapezoid(scores, logs) / (logs[-1] - logs[0]))


def race(figure: Measurements) -> str:
    """Who reaches 90 % of the optimum when, in words."""
    parts = [
        f"{row.row} {_reached(row.value)}" for row in figure.rows if row.column == POLLS_TO_SHARE
    ]
    return "90 % of the optimum: " + ", ".join(parts) + "."


def _reached(polls: float | None) -> str:
    return "not within the run" if polls is None else f"after {polls:,.0f} polls"


def near_the_optimum(learners: Sequence[ConfiguredPolicy], near: float = 0.97) -> Judge:
    """At the end all `learners` have at least this share of the optimum."""

    def judge(figure: Measurements) -> str:
        ends, optimum = end_scores(figure), figure.levels["optimal"]
        return verdict(
            min(ends[each.row] for each in learners) > near * optimum,
            f"At the end: {scores_in_words(ends)}, of {optimum:.3f}. {race(figure)}",
        )

    return judge


def coarser_is_sooner(learners: Sequence[ConfiguredPolicy], early: int) -> Judge:
    """After `early` polls the first learners lead; at the end all are near the optimum."""
    near = near_the_optimum(learners)

    def judge(figure: Measurements) -> str:
        scores = {each.row: figure.value(each.row, f"{early} polls") for each in learners}
        in_order = list(scores.values()) == sorted(scores.values(), reverse=True)
        text = f"After {early:,d} polls: {scores_in_words(scores)}."
        return f"{near(figure)} {verdict(in_order, text)}"

    return judge


def faster(one: ConfiguredPolicy, other: ConfiguredPolicy, times: float = 1.0) -> Judge:
    """`one` reaches 90 % of the optimum more than `times` as fast as `other`."""

    def judge(figure: Measurements) -> str:
        soon, late = (figure.cell(each.row, POLLS_TO_SHARE).value for each in (one, other))
        holds = soon is not None and (late is None or late > times * soon)
        times_as_fast = f" That is {late / soon:.1f} times as fast." if soon and late else ""
        ends = scores_in_words(end_scores(figure))
        return verdict(holds, f"{race(figure)}{times_as_fast} At the end: {ends}.")

    return judge


def ahead_in_the_end(one: ConfiguredPolicy, other: ConfiguredPolicy) -> Judge:
    """Over the last decade of polls, `one` has the higher mean score."""

    def judge(figure: Measurements) -> str:
        ends = last_decade_scores(figure)
        return verdict(
            ends[one.row] > ends[other.row],
            f"The mean scores in the last decade of polls: {scores_in_words(ends)}. {race(figure)}",
        )

    return judge


def leads_the_table(leader: str, rivals: Sequence[str], columns: Sequence[str]) -> Judge:
    """In all `columns` the leader is ahead of all rivals by more than two standard errors.

    The text also says who gets the most, and how far we are from the printed values.
    """

    def judge(table: Measurements) -> str:
        led = {
            column: all(_leads(table, leader, rival, column) for rival in rivals)
            for column in columns
        }
        texts = [
            f"{leader} ahead of {', '.join(rivals)} by more than two standard errors: "
            + ", ".join(f"{column} {'yes' if leads else 'no'}" for column, leads in led.items())
        ]
        texts += [f"most at {column}: {_best_of(table, column)}" for column in columns]
        texts += [
            f"{row.row}, {row.column}: {row.value / row.published - 1:+.1%} against the printed"
            " value"
            for row in table.rows
            if row.value and row.published
        ]
        return verdict(all(led.values()), "; ".join(texts) + ".")

    return judge


def _leads(table: Measurements, leader: str, rival: str, column: str) -> bool:
    one, other = table.cell(leader, column), table.cell(rival, column)
    error = math.hypot(one.stderr or 0.0, other.stderr or 0.0)
    return (one.value or 0.0) - (other.value or 0.0) > 2 * error


def _best_of(table: Measurements, column: str) -> str:
    """The three learners with the highest values."""
    learners = [
        (row.value or 0.0, row.row)
        for row in table.rows
        if row.column == column and row.row not in CLASSICAL
    ]
    return ", ".join(f"{row} {value:.1f}" for value, row in sorted(learners)[::-1][:3])
