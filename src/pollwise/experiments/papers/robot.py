"""O'Meara and Patel 2001: a topic robot (`docs/reproduction.md` has the paper in full)."""

from pollwise.experiments.experiment import Curve, Experiment, Measurements, Row
from pollwise.experiments.judging import verdict
from pollwise.experiments.robot_traversals import (
    LEARNER,
    OTHERS,
    OUR_TRAVERSALS,
    OURS,
    TOPICS,
    TRAVERSALS,
    RunsByPolicy,
    TraversalFigure,
    recall_curve,
    recall_rows,
    upper_bound_curve,
)
from pollwise.simulation.scores.summary import Mean

__all__ = ["EXPERIMENTS"]

_SOURCE = "O'Meara, Patel 2001"
_TRAVERSALS_IN_TABLE = (1, 2, 3, 5, 7, 10, 15, 20, TRAVERSALS)
_TRAVERSALS_DRAWN = (1, 7, TRAVERSALS)
_NEAR = 0.9
"""The share of the upper bound that we take for near it."""


def _row(name: str, column: str, mean: Mean) -> Row:
    return Row(name, column, mean.value, mean.stderr)


def _performance(runs: RunsByPolicy) -> Measurements:
    """Performance by traversal, as a share of the upper bound."""
    rows, curves, levels = [], [], {}
    for topic in TOPICS:
        learner = runs[LEARNER, topic]
        means = [learner.share(number) for number in range(1, TRAVERSALS + 1)]
        rows += [
            _row(LEARNER, f"{topic}, no. {number}", means[number - 1])
            for number in _TRAVERSALS_IN_TABLE
        ]
        rows.append(_row(LEARNER, f"{topic}, best", learner.best))
        for number in range(1, OUR_TRAVERSALS + 1):
            rows.append(_row(OURS, f"{topic}, no. {number}", runs[OURS, topic].share(number)))
        for name in OTHERS:
            share = runs[name, topic].share(1)
            rows.append(_row(name, f"{topic}, no. 1", share))
            levels[f"{name}, {topic}"] = share.value
        greedy = runs[OTHERS[0], topic].share(1).value
        passed = [n for n, mean in enumerate(means, start=1) if mean.value > greedy]
        rows.append(Row(LEARNER, f"{topic}, passes greedy", passed[0] if passed else None))
        x = tuple(map(float, range(1, TRAVERSALS + 1)))
        values, errors = zip(*((mean.value, mean.stderr or 0.0) for mean in means), strict=True)
        curves.append(Curve(f"{LEARNER}, {topic}", x, values, errors))
    return Measurements(
        rows,
        curves,
        levels | {"upper bound": 1.0},
        x_label="traversal",
        y_label="performance, of the upper bound",
    )


def _learns_the_index(figure: Measurements) -> str:
    ends = {topic: figure.value(LEARNER, f"{topic}, no. {TRAVERSALS}") for topic in TOPICS}
    near = ", ".join(f"{topic} {end:.1%}" for topic, end in ends.items())
    passed = {topic: figure.cell(LEARNER, f"{topic}, passes greedy").value for topic in TOPICS}
    passing = ", ".join(
        f"{topic} {'never' if number is None else f'in traversal {number}'}"
        for topic, number in passed.items()
    )
    is_near = verdict(min(ends.values()) > _NEAR, f"In the last traversal: {near}.")
    passes = verdict(None not in passed.values(), f"{passing}.")
    return f"Near the upper bound: {is_near} Fringe greedy is passed: {passes}"


def _recall_as_it_learns(runs: RunsByPolicy) -> Measurements:
    """Recall by number of requests, within traversals of the learner."""
    rows: list[Row] = []
    curves = []
    for topic in TOPICS:
        recalls = runs[LEARNER, topic].recalls
        for number in _TRAVERSALS_DRAWN:
            rows += recall_rows(f"traversal {number}", topic, recalls[:, number - 1])
            curves.append(recall_curve(f"traversal {number}", topic, recalls[:, number - 1]))
        curves.append(upper_bound_curve(topic))
    return Measurements(rows, curves, x_label="requests", y_label="recall of the collection")


def _recall_rises(figure: Measurements) -> str:
    recalls = {curve.label: sum(curve.y) for curve in figure.curves}
    first, last = (f"traversal {_TRAVERSALS_DRAWN[at]}" for at in (0, -1))
    rises = all(recalls[f"{last}, {topic}"] > recalls[f"{first}, {topic}"] for topic in TOPICS)
    shown = ", ".join(map(str, _TRAVERSALS_DRAWN))
    return verdict(rises, f"The recall within traversals {shown} is in the table.")


def _recall_at_best(runs: RunsByPolicy) -> Measurements:
    """Recall by number of requests, within the best traversal of each policy."""
    rows: list[Row] = []
    curves = []
    for topic in TOPICS:
        best = {f"{LEARNER}, best": runs[LEARNER, topic].best_recalls}
        for label, recalls in (best | {n: runs[n, topic].recalls[:, 0] for n in OTHERS}).items():
            rows += recall_rows(label, topic, recalls)
            curves.append(recall_curve(label, topic, recalls))
        curves.append(upper_bound_curve(topic))
    return Measurements(
        rows,
        curves,
        x_label="requests",
        y_label="recall of the collection",
        unlisted={topic: runs[LEARNER, topic].best.value for topic in TOPICS},
    )


def _best_is_near(figure: Measurements) -> str:
    shares = figure.unlisted
    text = ", ".join(f"{topic} {share:.1%}" for topic, share in shares.items())
    return verdict(min(shares.values()) > 0.95, f"The best traversal, of the upper bound: {text}.")


EXPERIMENTS = {
    "robot-figure-3": Experiment(
        title="performance over 30 traversals, against fringe greedy and random",
        source=f"{_SOURCE}, figure 3",
        claim=(
            "Over 30 traversals the learned index gets to 96 % of the upper bound, and passes"
            " fringe greedy after 7."
        ),
        trials=15,
        play=TraversalFigure(_performance),
        published={
            **{(LEARNER, f"{topic}, best"): 0.96 for topic in TOPICS},
            **{(LEARNER, f"{topic}, passes greedy"): 7 for topic in TOPICS},
        },
        verdict=_learns_the_index,
    ),
    "robot-figure-4": Experiment(
        title="recall within the first, the 7th and the last of 30 traversals",
        source=f"{_SOURCE}, figure 4",
        claim="What was learned in earlier traversals brings relevant documents earlier.",
        trials=15,
        play=TraversalFigure(_recall_as_it_learns),
        verdict=_recall_rises,
    ),
    "robot-figure-5": Experiment(
        title="recall within the best of 30 traversals, against fringe greedy and random",
        source=f"{_SOURCE}, figure 5",
        claim="The best traversal is near the upper bound all the way.",
        trials=15,
        play=TraversalFigure(_recall_at_best),
        verdict=_best_is_near,
    ),
}
