"""O'Meara and Patel 2001: a topic robot (`docs/reproduction.md` has the paper in full)."""

import numpy as np
from numpy.typing import NDArray

from pollwise.experiments.experiment import (
    Claim,
    Curve,
    Experiment,
    Measurements,
    Row,
    Verdict,
)
from pollwise.experiments.judging import difference
from pollwise.experiments.printed import printed_in
from pollwise.experiments.robot_traversals import (
    GREEDY,
    LEARNER,
    RANDOM,
    TOPICS,
    TRAVERSALS,
    Runs,
    RunsByPolicy,
    TraversalFigure,
    passed_over,
    recorded_graph,
)
from pollwise.simulation.scores.summary import Mean, mean_of

__all__ = ["EXPERIMENTS"]

_SOURCE = "O'Meara, Patel 2001"
_PASSES = "passes fringe greedy"
_BEGINNING = 700
"""Requests that figures 4 and 5 show."""
_NEAR = 0.95
"""The share of the upper bound that we take for near it."""
_NAMES = {LEARNER: "request controller", GREEDY: "fringe greedy", RANDOM: "random"}
_LAST = TRAVERSALS[LEARNER]
_AFTER_ALL = f"{_NAMES[LEARNER]}, {_LAST} traversals"
_IN_TABLE = (1, 2, 3, 5, 7, 10, 15, 20)
_PERFORMANCE, _PASSED_OVER = "performance, % of the bound", "passed over, %"


def _percent(name: str, column: str, mean: Mean) -> Row:
    error = None if mean.stderr is None else 100.0 * mean.stderr
    return Row(name, column, 100.0 * mean.value, error)


def _performance(runs: RunsByPolicy) -> Measurements:
    """Performance by traversal, in percent of the upper bound."""
    rows, curves, levels = [], [], {"upper bound": 100.0}
    for topic in TOPICS:
        learner = runs[LEARNER, topic]
        means = [learner.share(number) for number in range(1, _LAST + 1)]
        for number in _IN_TABLE:
            name = f"{_NAMES[LEARNER]}, traversal {number}"
            rows.append(_percent(name, topic, means[number - 1]))
        rows.append(_percent(_AFTER_ALL, topic, means[-1]))
        greedy, chance = runs[GREEDY, topic].share(1), runs[RANDOM, topic].average
        rows.append(_percent(_NAMES[GREEDY], topic, greedy))
        rows.append(_percent(_NAMES[RANDOM], topic, chance))
        passed = [n for n, mean in enumerate(means) if mean.value > greedy.value]
        rows.append(Row(_PASSES, topic, passed[0] if passed else None))
        for policy, mean in ((GREEDY, greedy), (RANDOM, chance)):
            levels[f"{_NAMES[policy]}, {topic}"] = 100.0 * mean.value
        x = tuple(map(float, range(1, _LAST + 1)))
        values, errors = zip(
            *((100.0 * mean.value, 100.0 * (mean.stderr or 0.0)) for mean in means), strict=True
        )
        curves.append(Curve(f"{_NAMES[LEARNER]}, {topic}", x, values, errors))
    return Measurements(
        rows,
        curves,
        levels,
        x_label="traversal",
        y_label="performance, % of the upper bound",
        log_x=False,
    )


def _gets_as_near(figure: Measurements) -> Verdict:
    printed = printed_in("robot", "figure 3")[_AFTER_ALL, "of the upper bound"]
    rows = [figure.cell(_AFTER_ALL, topic) for topic in TOPICS]
    least = printed.value - printed.step / 2
    holds = all((row.value or 0.0) + 2.0 * (row.stderr or 0.0) >= least for row in rows)
    return Verdict(holds, _in_words(rows))


def _in_words(rows: list[Row]) -> str:
    return ", ".join(f"{row.column} {row.value:.1f} ± {row.stderr or 0.0:.1f} %" for row in rows)


def _passes_greedy(figure: Measurements) -> Verdict:
    at_most = printed_in("robot", "text")[_PASSES, "traversals"].value
    rows = [figure.cell(_PASSES, topic) for topic in TOPICS]
    holds = all(row.value is not None and row.value <= at_most for row in rows)
    seen = [
        f"{row.column} {'never' if row.value is None else f'after {row.value:.0f}'}" for row in rows
    ]
    return Verdict(holds, ", ".join(seen))


def _begins_below_random(figure: Measurements) -> Verdict:
    first = f"{_NAMES[LEARNER]}, traversal 1"
    leads = {topic: difference(figure, (_NAMES[RANDOM], topic), (first, topic)) for topic in TOPICS}
    holds = all(lead > 2.0 * error for lead, error in leads.values())
    texts = [f"{topic} {-lead:+.1f} ± {error:.1f}" for topic, (lead, error) in leads.items()]
    return Verdict(holds, f"the first traversal, over random: {', '.join(texts)} percent points")


def _beginning(runs: RunsByPolicy) -> Measurements:
    """The relevance of the documents that were requested first.

    Drawn is the first policy, beside the upper bound; the rows have all.
    """
    rows = []
    for (policy, topic), played in runs.items():
        name = _NAMES[policy]
        rows.append(_percent(name, f"{topic}, {_PERFORMANCE}", played.share(TRAVERSALS[policy])))
        rows.append(_percent(name, f"{topic}, {_PASSED_OVER}", _passed_over(played, topic)))
    drawn, topic = next(iter(runs))
    relevance = recorded_graph(topic).relevance
    first_trial = relevance[runs[drawn, topic].requested[0]]
    return Measurements(
        rows,
        [_points("upper bound", -np.sort(-relevance)), _points(_NAMES[drawn], first_trial)],
        x_label="request",
        y_label=f"relevance of the document: {topic}",
        log_x=False,
        points=True,
    )


def _points(label: str, relevance: NDArray[np.float64]) -> Curve:
    shown = relevance[:_BEGINNING].tolist()
    return Curve(label, tuple(float(n) for n in range(1, len(shown) + 1)), tuple(shown))


def _passed_over(runs: Runs, topic: str) -> Mean:
    graph = recorded_graph(topic)
    trials = [passed_over(graph, row[:_BEGINNING].tolist()) for row in runs.requested]
    return mean_of([float(np.mean(each)) for each in trials])


def _near_though_passing_over(figure: Measurements) -> Verdict:
    name = _NAMES[LEARNER]
    near = [figure.cell(name, f"{topic}, {_PERFORMANCE}") for topic in TOPICS]
    passing = [figure.cell(name, f"{topic}, {_PASSED_OVER}") for topic in TOPICS]
    holds = all(
        (row.value or 0.0) + 2.0 * (row.stderr or 0.0) >= 100.0 * _NEAR for row in near
    ) and all((row.value or 0.0) > 2.0 * (row.stderr or 0.0) for row in passing)
    return Verdict(holds, f"{_in_words(near)}; {_in_words(passing)}")


def _greedy_fails(figure: Measurements) -> Verdict:
    rows = [figure.cell(_NAMES[GREEDY], f"{topic}, {_PERFORMANCE}") for topic in TOPICS]
    holds = all((row.value or 0.0) + 2.0 * (row.stderr or 0.0) < 100.0 * _NEAR for row in rows)
    return Verdict(holds, _in_words(rows))


def _better_by_low_scores(figure: Measurements) -> Verdict:
    holds, texts = True, []
    for topic in TOPICS:
        for column in (_PERFORMANCE, _PASSED_OVER):
            one, other = ((_NAMES[each], f"{topic}, {column}") for each in (LEARNER, GREEDY))
            lead, error = difference(figure, one, other)
            holds &= lead > 2.0 * error
            texts.append(f"{topic}, {column}: {lead:+.1f} ± {error:.1f}")
    return Verdict(holds, f"request controller over fringe greedy: {'; '.join(texts)}")


_NEVER = (
    "nearly every relevant page of this graph is linked to from another one, so fringe greedy,"
    " which sees one link ahead, is at the upper bound"
)
_GRAPH = (
    "The paper's pages and its topic filter are not to be had; this is the graph of Wikispeedia,"
    " 4,056 pages instead of 140,000."
)

EXPERIMENTS = {
    "robot-figure-3": Experiment(
        title="performance results for different scheduling algorithms",
        source=f"{_SOURCE}, figure 3",
        claims=(
            Claim(
                quote="a performance that was 96 percent of the upper-bound performance",
                line=227,
                test="traversal 30 gets 95.5 % or more in each topic, but for 2 standard errors",
                judge=_gets_as_near,
            ),
            Claim(
                quote="required only seven traversals before it exceeded the fringe greedy",
                line=227,
                test="the mean of a traversal is above that of fringe greedy after 7 or fewer",
                judge=_passes_greedy,
            ),
            Claim(
                quote="worse than the average random performance for the initial traversals",
                line=227,
                test="the first traversal is below random by more than 2 standard errors",
                judge=_begins_below_random,
            ),
        ),
        trials=5,
        play=TraversalFigure((LEARNER, GREEDY, RANDOM), _performance),
        published={
            (row, topic): number
            for topic in TOPICS
            for row, number in (
                (_AFTER_ALL, printed_in("robot", "figure 3")[_AFTER_ALL, "of the upper bound"]),
                (_PASSES, printed_in("robot", "text")[_PASSES, "traversals"]),
            )
        },
        reasons={_PASSES: _NEVER, _AFTER_ALL: "another graph and other topics"},
        remark=f"{_GRAPH} Random is the mean of 20 schedules in each trial, instead of 200,000.",
    ),
    "robot-figure-4": Experiment(
        title="relevance of the first 700 documents, upper bound and request controller",
        source=f"{_SOURCE}, figure 4",
        claims=(
            Claim(
                quote="achieving near-upper-bound performance by not always requesting documents"
                " with the highest relevance score first",
                line=231,
                test="traversal 30 gets 95 % or more, but for 2 standard errors, and some of its"
                " first 700 requests pass over a more relevant document of the fringe",
                judge=_near_though_passing_over,
            ),
        ),
        trials=5,
        play=TraversalFigure((LEARNER,), _beginning),
        remark=f"{_GRAPH} Drawn is traversal 30 of the first trial.",
    ),
    "robot-figure-5": Experiment(
        title="relevance of the first 700 documents, upper bound and fringe greedy",
        source=f"{_SOURCE}, figure 5",
        claims=(
            Claim(
                quote="failing to achieve near upper bound performance by always requesting"
                " documents with the highest relevance score first",
                line=257,
                test="fringe greedy gets less than 95 % by more than 2 standard errors",
                judge=_greedy_fails,
            ),
            Claim(
                quote="better performance than the fringe greedy algorithm by requesting some"
                " pages with low scores sooner",
                line=235,
                test="traversal 30 performs better, and more of its first 700 requests pass over a"
                " more relevant document of the fringe, both by more than 2 standard errors",
                judge=_better_by_low_scores,
            ),
        ),
        trials=5,
        play=TraversalFigure((GREEDY, LEARNER), _beginning),
        remark=_GRAPH,
    ),
}
