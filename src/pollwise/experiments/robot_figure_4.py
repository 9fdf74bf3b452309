"""How the recall of the robot grows within a traversal, as it learns."""

from pollwise.experiments import sources
from pollwise.experiments.experiment import Outcome, Row
from pollwise.experiments.judging import verdict
from pollwise.experiments.robot_traversals import (
    LEARNER,
    TOPICS,
    TRAVERSALS,
    Play,
    RobotExperiment,
    recall_curve,
    recall_rows,
    upper_bound_curve,
)

__all__ = ["EXPERIMENT"]

_SHOWN = (1, 7, TRAVERSALS)


def _judge(play: Play) -> Outcome:
    rows: list[Row] = []
    curves = []
    rises = True
    for topic in TOPICS:
        recalls = play[LEARNER, topic].recalls
        for number in _SHOWN:
            rows += recall_rows(f"traversal {number}", topic, recalls[:, number - 1])
            curves.append(recall_curve(f"traversal {number}", topic, recalls[:, number - 1]))
        rises &= bool(recalls[:, _SHOWN[-1] - 1].mean() > recalls[:, 0].mean())
        curves.append(upper_bound_curve(topic))
    text = f"The recall within traversals {', '.join(map(str, _SHOWN))} is in the table."
    return Outcome(
        rows, verdict(rises, text), curves, x_label="requests", y_label="recall of the collection"
    )


EXPERIMENT = RobotExperiment(
    title="recall within the first, the 7th and the last of 30 traversals",
    source=f"{sources.ROBOT}, figure 4",
    claim="What was learned in earlier traversals brings relevant documents earlier.",
    judge=_judge,
)
