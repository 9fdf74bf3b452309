"""Granmo, Oommen, Myrer and Olsen 2007: LAKG (`docs/reproduction.md` has the paper in full)."""

from collections.abc import Sequence

from pollwise.experiments.experiment import Experiment, Measurements
from pollwise.experiments.judging import (
    coarser_is_sooner,
    end_scores,
    last_decade_scores,
    near_the_optimum,
    race,
    scores_in_words,
    verdict,
)
from pollwise.experiments.scenario import (
    BAYES_INDEX,
    LAKG,
    LAKG_1500,
    LAKG_2500,
    ConfiguredPolicy,
    Environment,
)
from pollwise.experiments.score_figure import ScoreFigure

__all__ = ["EXPERIMENTS"]

_SOURCE = "Granmo, Oommen, Myrer, Olsen 2007"
_RESOLUTION = (
    "The resolution determines the precision; given a resolution, the mixture is consistently"
    " improved until it is near the optimum."
)
_ESTIMATORS = tuple(
    ConfiguredPolicy(f"estimator {polls:,d}", "estimator", {"phase_polls": polls})
    for polls in (1_000, 10_000, 50_000)
)


def _beats_estimators(figure: Measurements) -> str:
    ends = end_scores(figure)
    best = max(ends[each.row] for each in _ESTIMATORS)
    return verdict(
        ends[LAKG_1500.row] > best, f"At the end: {scores_in_words(ends)}. {race(figure)}"
    )


def _stays_near_the_optimum(figure: Measurements) -> str:
    ends = last_decade_scores(figure)
    return verdict(
        ends[LAKG_1500.row] > 0.9 * figure.levels["optimal"],
        f"The mean scores in the last decade of polls: {scores_in_words(ends)}. {race(figure)}",
    )


def _figure(
    learners: Sequence[ConfiguredPolicy],
    marks: Sequence[int] = (10_000, 50_000, 100_000, 400_000),
    *,
    alpha: float = 0.9,
    beta: float = 1.5,
    swap_every: int | None = None,
    polling: bool = False,
) -> ScoreFigure:
    """Of 500 pages whose ranks are drawn at random; ours is added to the learners."""
    environment = Environment(
        pages=500,
        alpha=alpha,
        beta=beta,
        perturbations=None,
        swap_every=swap_every,
        polling=polling,
    )
    return ScoreFigure(environment=environment, learners=(*learners, BAYES_INDEX), marks=marks)


EXPERIMENTS = {
    "lakg-figure-2": Experiment(
        title="LAKG's resolutions, static, 500 pages 0.9/1.5",
        source=f"{_SOURCE}, figure 2",
        claim=_RESOLUTION,
        trials=20,
        play=_figure(LAKG),
        verdict=coarser_is_sooner(LAKG, early=50_000),
    ),
    "lakg-figure-3": Experiment(
        title="LAKG against estimators with phases of several lengths, 500 pages 0.9/1.5",
        source=f"{_SOURCE}, figure 3",
        claim="LAKG is superior to what is based on traditional parameter estimation.",
        trials=20,
        play=_figure((*_ESTIMATORS, LAKG_1500), (10_000, 50_000, 200_000)),
        verdict=_beats_estimators,
    ),
    "lakg-figure-4": Experiment(
        title="LAKG's resolutions, static, 500 pages 0.3/1.0",
        source=f"{_SOURCE}, figure 4",
        claim=_RESOLUTION,
        trials=20,
        play=_figure(LAKG, alpha=0.3, beta=1.0),
        verdict=coarser_is_sooner(LAKG, early=50_000),
    ),
    "lakg-figure-5": Experiment(
        title="LAKG where two pages swap ranks every 10,000 polls, 500 pages 0.9/1.5",
        source=f"{_SOURCE}, figure 5",
        claim="A near-optimal mixture is found even where the environment switches.",
        trials=10,
        play=_figure((LAKG_1500, LAKG_2500), (50_000, 100_000, 400_000), swap_every=10_000),
        verdict=_stays_near_the_optimum,
    ),
    "lakg-figure-6": Experiment(
        title="LAKG in real web polling, 500 pages 0.9/1.5",
        source=f"{_SOURCE}, figure 6",
        claim=(
            "The scheme learns online to poll so that the number of changes found is near the most."
        ),
        trials=10,
        play=_figure(LAKG, polling=True),
        verdict=near_the_optimum(LAKG),
    ),
}
