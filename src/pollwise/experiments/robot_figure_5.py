"""How the recall grows within the best traversal of the robot, and in those of others."""

from pollwise.experiments import sources
from pollwise.experiments.experiment import Outcome, Row
from pollwise.experiments.judging import verdict
from pollwise.experiments.robot_traversals import (
    LEARNER,
    OTHERS,
    TOPICS,
    Play,
    RobotExperiment,
    recall_curve,
    recall_rows,
    upper_bound_curve,
)

__all__ = ["EXPERIMENT"]


def _judge(play: Play) -> Outcome:
    rows: list[Row] = []
    curves, shares = [], []
    for topic in TOPICS:
        best = {f"{LEARNER}, best": play[LEARNER, topic].best_recalls}
        for label, recalls in (best | {n: play[n, topic].recalls[:, 0] for n in OTHERS}).items():
            rows += recall_rows(label, topic, recalls)
            curves.append(recall_curve(label, topic, recalls))
        curves.append(upper_bound_curve(topic))
        shares.append(play[LEARNER, topic].best.value)
    text = ", ".join(f"{topic} {share:.1%}" for topic, share in zip(TOPICS, shares, strict=True))
    return Outcome(
        rows,
        verdict(min(shares) > 0.95, f"The best traversal, of the upper bound: {text}."),
        curves,
        x_label="requests",
        y_label="recall of the collection",
    )


EXPERIMENT = RobotExperiment(
    title="recall within the best of 30 traversals, against fringe greedy and random",
    source=f"{sources.ROBOT}, figure 5",
    claim="The best traversal is near the upper bound all the way.",
    judge=_judge,
)
