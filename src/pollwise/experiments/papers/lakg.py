"""Granmo, Oommen, Myrer and Olsen 2006: LAKG (`docs/reproduction.md` has the paper in full)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from pollwise.experiments.experiment import Claim, Effort, Experiment, Measurements
from pollwise.experiments.judging import CLEARLY, above, all_of, claim, grows
from pollwise.experiments.scenario import BAYES_INDEX, LAKG, ConfiguredPolicy, Environment
from pollwise.experiments.score_claims import (
    below_the_optimum,
    in_order,
    near_the_optimum,
    never_at_the_optimum,
    recovers,
)
from pollwise.experiments.score_figure import ScoreFigure, at, share_at, shares

__all__ = [
    "BY_PHASE",
    "ESTIMATORS",
    "EXPERIMENTS",
    "LESS_SKEWED",
    "MOST_DEMANDING",
    "NEAR",
    "OPTIMAL",
    "PHASES",
    "SKEWED",
    "by_the_phase",
    "kinder_if_less_skewed",
    "same_solution",
]

_SOURCE = "Granmo, Oommen, Myrer, Olsen 2006"
_PAGES = 500

Kind = tuple[float, float]
SKEWED = (0.3, 1.5)
LESS_SKEWED = (0.3, 1.0)
MOST_DEMANDING = (0.9, 1.5)
"""α and β of the paper's environments."""

PHASES = (2_500, 10_000, 50_000)
ESTIMATORS = tuple(
    ConfiguredPolicy(f"estimator {polls:,d}", "estimator", {"phase_polls": polls})
    for polls in PHASES
)
"""The paper does not say how long its phases were: 5, 20 and 100 polls of each page."""
BY_PHASE = [each.row for each in reversed(ESTIMATORS)]
_LAKG = tuple(replace(each, options={**each.options, "schedule": "random"}) for each in LAKG)
"""Pages are drawn, as the paper says in section II."""
_BY_RESOLUTION = [each.row for each in _LAKG]
_QUICKEST = _BY_RESOLUTION[0]

_END = 400_000
_EVERY = 80_000
_FAST_MARKS = (10_000, 50_000, 100_000, 200_000, 400_000)
NEAR, OPTIMAL = 0.97, 0.97
"""Shares of the optimum that are near it, and that pass for it where the optimum moves."""


def _environment(kind: Kind, swap_every: int | None = None) -> Environment:
    alpha, beta = kind
    return Environment(
        pages=_PAGES, alpha=alpha, beta=beta, perturbations=None, swap_every=swap_every
    )


def _static(kind: Kind) -> ScoreFigure:
    return ScoreFigure(
        learners={_environment(kind): (*ESTIMATORS, *_LAKG, BAYES_INDEX)},
        marks=(*PHASES, 200_000, _END),
    )


def _dynamic(swap_every: int, marks: Sequence[int], every: int) -> ScoreFigure:
    return ScoreFigure(
        learners={_environment(MOST_DEMANDING, swap_every): (*ESTIMATORS, *_LAKG, BAYES_INDEX)},
        marks=marks,
        every=every,
    )


def _less_skewed(effort: Effort) -> Measurements:
    """Figure 3, and beside figure 2 what share of the optimum the estimators get."""
    shown = _static(LESS_SKEWED)(effort)
    both = (_environment(LESS_SKEWED), _environment(SKEWED))
    return replace(shown, rows=shown.rows + shares(both, ESTIMATORS, max(PHASES), effort))


def same_solution(line: int, polls: int) -> Claim:
    """What both papers on automata say of the two classical policies at 0.3/1.5."""
    return claim(
        "the proportional policy and the optimal policy provide more-or-less the same solution",
        line,
        "The proportional mixture has 99 % of the optimum and is above the uniform one.",
        all_of(
            near_the_optimum(["proportional"], [at(polls)], 0.99),
            above(["proportional"], ["uniform"], [at(polls)]),
        ),
    )


def by_the_phase(line: int, polls: int) -> Claim:
    """What both papers on automata say of the estimators."""
    return claim(
        "performance of the estimator scheme increases steadily with the length of the parameter"
        " estimation phase",
        line,
        f"At the end the estimators are in the order of their phases, each step {CLEARLY}.",
        in_order(BY_PHASE, [at(polls)]),
    )


def kinder_if_less_skewed(quote: str, line: int, of: Callable[[Kind], Environment]) -> Claim:
    """What both papers on automata say of 0.3/1.0; `of` makes their environments."""
    return claim(
        quote,
        line,
        "Uniform and all estimators have a larger share of the optimum than at 0.3/1.5"
        f" after {max(PHASES):,d} polls, {CLEARLY}.",
        grows(["uniform", *BY_PHASE], share_at(of(SKEWED)), share_at(of(LESS_SKEWED))),
    )


_QUICKER = claim(
    "the performance of the LAKG increases significantly quicker compared to the Estimator scheme",
    178,
    "After each number of polls at which a phase of an estimator ends, and after 200,000, the"
    f" quickest LAKG is ahead of all estimators {CLEARLY}.",
    above([_QUICKEST], BY_PHASE, [at(polls) for polls in (*PHASES, 200_000)]),
)
_BY_THE_RESOLUTION = claim(
    "increasing the resolution, N , improves the convergence accuracy at the cost of convergence"
    " speed",
    178,
    f"After {max(PHASES):,d} polls the scores fall with N, after {_END:,d} they rise with N, each"
    f" step {CLEARLY}.",
    all_of(
        in_order(_BY_RESOLUTION, [at(max(PHASES))]),
        in_order(_BY_RESOLUTION[::-1], [at(_END)]),
    ),
)
_ENDS_OF_PERIODS = [n * _EVERY for n in range(1, 6)]

EXPERIMENTS = {
    "lakg-figure-2": Experiment(
        title="LAKG, estimators and classical policies, 500 pages, α = 0.3, β = 1.5",
        source=f"{_SOURCE}, figure 2",
        trials=5,
        play=_static(SKEWED),
        claims=(same_solution(178, _END), by_the_phase(178, _END), _QUICKER, _BY_THE_RESOLUTION),
    ),
    "lakg-figure-3": Experiment(
        title="LAKG, estimators and classical policies, 500 pages, α = 0.3, β = 1.0",
        source=f"{_SOURCE}, figure 3",
        trials=5,
        play=_less_skewed,
        claims=(
            kinder_if_less_skewed(
                "makes the uniform policy as well as the estimator policy more successful",
                185,
                _environment,
            ),
            claim(
                "In spite of this, the LAKG yields a superior performance",
                180,
                f"At the end all LAKG are ahead of all estimators {CLEARLY}.",
                above(_BY_RESOLUTION, BY_PHASE, [at(_END)]),
            ),
        ),
    ),
    "lakg-figure-4": Experiment(
        title="LAKG, estimators and classical policies, 500 pages, α = 0.9, β = 1.5",
        source=f"{_SOURCE}, figure 4",
        trials=5,
        play=_static(MOST_DEMANDING),
        claims=(
            claim(
                "the optimal policy performs significantly better than the proportional policy",
                190,
                "The proportional mixture has less than 97 % of the optimum.",
                below_the_optimum(["proportional"], [at(_END)], NEAR),
            ),
            claim(
                "the LAKG breaches the performance boundary set by the proportional policy, and"
                " converges towards near optimal solutions",
                190,
                f"At the end all LAKG are ahead of the proportional mixture {CLEARLY}, with 97 %"
                " of the optimum but for two standard errors.",
                all_of(
                    above(_BY_RESOLUTION, ["proportional"], [at(_END)]),
                    near_the_optimum(_BY_RESOLUTION, [at(_END)], NEAR),
                ),
            ),
        ),
    ),
    "lakg-figure-5": Experiment(
        title="LAKG, estimators and classical policies, ranks change every 80,000 polls",
        source=f"{_SOURCE}, figure 5",
        trials=10,
        play=_dynamic(_EVERY, _ENDS_OF_PERIODS, 1_000),
        claims=(
            claim(
                "The LAKG finds near-optimal solutions initially, and recovers quickly after"
                " environmental changes",
                197,
                "The quickest LAKG has 97 % of the optimum at the end of every period, but for two"
                " standard errors, and makes good half of what a change costs in a tenth of one.",
                all_of(
                    near_the_optimum([_QUICKEST], [at(polls) for polls in _ENDS_OF_PERIODS], NEAR),
                    recovers(_QUICKEST, _EVERY, _EVERY / 10),
                ),
            ),
            claim(
                "the speed of recovery depends on the resolution of the automata",
                202,
                "The larger N, the more polls until half of what a change costs is made good.",
                *(
                    recovers(coarse, _EVERY, _EVERY, [fine])
                    for coarse, fine in pairwise(_BY_RESOLUTION)
                ),
            ),
        ),
    ),
    "lakg-figure-6": Experiment(
        title="LAKG, estimators and classical policies, ranks change every 1,000 polls",
        source=f"{_SOURCE}, figure 6",
        trials=5,
        play=_dynamic(1_000, _FAST_MARKS, 2_000),
        claims=(
            claim(
                "the LAKG is able to steadily improve the initial solution, but is never allowed to"
                " reach an optimal solution",
                200,
                "Every LAKG is better after 50,000 polls than after 10,000, and after 100,000 than"
                f" after 50,000, {CLEARLY}; at no time one has 97 % of the optimum.",
                all_of(
                    grows(_BY_RESOLUTION, at(10_000), at(50_000)),
                    grows(_BY_RESOLUTION, at(50_000), at(100_000)),
                    never_at_the_optimum(_BY_RESOLUTION, OPTIMAL),
                ),
            ),
            claim(
                "stabilizing on a solution superior to the solutions found by the estimator scheme",
                204,
                f"After 200,000 and after 400,000 polls all LAKG are ahead of all estimators"
                f" {CLEARLY}.",
                above(_BY_RESOLUTION, BY_PHASE, [at(200_000), at(400_000)]),
            ),
        ),
    ),
}
