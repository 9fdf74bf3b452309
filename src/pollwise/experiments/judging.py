"""Whether what a paper claims of its figures holds in ours: by the shape, in words."""

from collections.abc import Callable, Mapping, Sequence

from pollwise.experiments.learning import Learned, classical_scores
from pollwise.experiments.scenario import Learner

__all__ = [
    "ahead_in_the_end",
    "coarser_is_sooner",
    "faster",
    "near_the_optimum",
    "scores_in_words",
    "verdict",
]

Judge = Callable[[Learned], str]


def verdict(holds: bool, text: str) -> str:
    """Whether a claim holds, and what was seen."""
    return f"{'Holds' if holds else 'Does not hold'}. {text}"


def scores_in_words(scores: Mapping[str, float]) -> str:
    """Scores by row."""
    return ", ".join(f"{row} {score:.3f}" for row, score in scores.items())


def near_the_optimum(learners: Sequence[Learner], near: float = 0.97) -> Judge:
    """At the end all `learners` have at least this share of the optimum."""

    def judge(learned: Learned) -> str:
        ends = {row: learned.mean_scores(row)[-1] for row in learned.samples}
        optimum = classical_scores(learned.world)["optimal"]
        return verdict(
            min(ends[each.row] for each in learners) > near * optimum,
            f"At the end: {scores_in_words(ends)}, of {optimum:.3f}. {learned.race()}",
        )

    return judge


def coarser_is_sooner(learners: Sequence[Learner], early: int) -> Judge:
    """After `early` polls the first learners lead; at the end all are near the optimum."""
    near = near_the_optimum(learners)

    def judge(learned: Learned) -> str:
        scores = {each.row: learned.score(each.row, early).value for each in learners}
        in_order = list(scores.values()) == sorted(scores.values(), reverse=True)
        text = f"After {early:,d} polls: {scores_in_words(scores)}."
        return f"{near(learned)} {verdict(in_order, text)}"

    return judge


def faster(one: Learner, other: Learner, times: float = 1.0) -> Judge:
    """`one` reaches 90 % of the optimum so many `times` as fast as `other`."""

    def judge(learned: Learned) -> str:
        soon, late = (learned.polls_to_share(each.row) for each in (one, other))
        holds = soon is not None and (late is None or late > times * soon)
        ends = {row: learned.mean_scores(row)[-1] for row in learned.samples}
        times_as_fast = f" That is {late / soon:.1f} times as fast." if soon and late else ""
        return verdict(
            holds, f"{learned.race()}{times_as_fast} At the end: {scores_in_words(ends)}."
        )

    return judge


def ahead_in_the_end(one: Learner, other: Learner) -> Judge:
    """Over the last decade of polls, `one` has the higher mean score."""

    def judge(learned: Learned) -> str:
        ends = {row: learned.last_decade(row) for row in learned.samples}
        return verdict(
            ends[one.row] > ends[other.row],
            f"The mean scores in the last decade of polls: {scores_in_words(ends)}."
            f" {learned.race()}",
        )

    return judge
