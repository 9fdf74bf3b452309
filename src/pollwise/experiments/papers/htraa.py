"""Granmo and Oommen 2011: H-TRAA (`docs/reproduction.md` has the paper in full)."""

import math
from collections.abc import Sequence
from dataclasses import replace

from pollwise.experiments.experiment import Effort, Experiment, Measurements
from pollwise.experiments.judging import CLEARLY, above, alike, all_of, claim, grows
from pollwise.experiments.papers.lakg import (
    BY_PHASE,
    ESTIMATORS,
    LESS_SKEWED,
    MOST_DEMANDING,
    NEAR,
    OPTIMAL,
    PHASES,
    SKEWED,
    by_the_phase,
    kinder_if_less_skewed,
    same_solution,
)
from pollwise.experiments.scaling_figure import (
    ADAPTATION,
    LEARNING,
    ScalingFigure,
    grows_with_pages,
    much_sooner,
)
from pollwise.experiments.scenario import (
    BAYES_INDEX,
    HTRAA_500,
    LAKG_1500,
    LAKG_2500,
    ConfiguredPolicy,
    Environment,
)
from pollwise.experiments.score_claims import (
    in_order,
    near_the_optimum,
    never_at_the_optimum,
    recovers,
    sooner,
)
from pollwise.experiments.score_figure import ScoreFigure, at, shares

__all__ = ["EXPERIMENTS"]

_SOURCE = "Granmo, Oommen 2011"
_END = 200_000
_MARKS = (5_000, 10_000, 50_000, _END)
_LAKG = [LAKG_1500.row, LAKG_2500.row]

_RULES = tuple(
    ConfiguredPolicy(rule, "htraa", {"resolution": 500, "update": rule})
    for rule in ("inaction-penalty", "reward-penalty", "reward-inaction")
)
_ACCURATE, _QUICK, _INFERIOR = (each.row for each in _RULES)

_PERTURBATIONS = {"10³": 1_000, "10⁵": 100_000, "10⁶": 1_000_000}
_LEAST, _, _MOST = (f"htraa 500, {printed}" for printed in _PERTURBATIONS)
_DOUBLING = {"resolution": 60, "growth": 2.0}
"""The resolution of each automaton is twice that of its children (4.3.3; the text is damaged)."""
_LEAST_DOUBLED, _MOST_DOUBLED = (f"htraa 60 doubling, {printed}" for printed in ("10³", "10⁶"))


def _environment(
    kind: tuple[float, float], perturbations: int = 0, swap_every: int | None = None
) -> Environment:
    alpha, beta = kind
    return Environment(
        pages=500, alpha=alpha, beta=beta, perturbations=perturbations, swap_every=swap_every
    )


def _perturbed(kind: tuple[float, float], doubled: Sequence[str] = ()) -> ScoreFigure:
    """H-TRAA by the number of perturbations, and who does not depend on the order of pages.

    `doubled`: the numbers of perturbations for which resolutions that double are shown, too.
    """
    learners: dict[Environment, Sequence[ConfiguredPolicy]] = {}
    for printed, number in _PERTURBATIONS.items():
        rows = [ConfiguredPolicy(f"htraa 500, {printed}", "htraa", HTRAA_500.options)]
        if printed in doubled:
            rows.append(ConfiguredPolicy(f"htraa 60 doubling, {printed}", "htraa", _DOUBLING))
        learners[_environment(kind, number)] = rows
    learners[_environment(kind)] = (LAKG_1500, LAKG_2500, *ESTIMATORS, BAYES_INDEX)
    return ScoreFigure(learners=learners, marks=_MARKS)


def _dynamic(swap_every: int, marks: Sequence[int], every: int) -> ScoreFigure:
    environment = _environment(MOST_DEMANDING, swap_every=swap_every)
    return ScoreFigure(
        learners={environment: (HTRAA_500, LAKG_1500, LAKG_2500, *ESTIMATORS, BAYES_INDEX)},
        marks=marks,
        every=every,
    )


def _less_skewed(effort: Effort) -> Measurements:
    """Figure 7, and beside figure 6 what share of the optimum the estimators get."""
    shown = _perturbed(LESS_SKEWED)(effort)
    both = (_environment(LESS_SKEWED), _environment(SKEWED))
    return replace(shown, rows=shown.rows + shares(both, ESTIMATORS, max(PHASES), effort))


_EXPONENT = 1.3
_PARTS_OF_UNIFORM = 25
"""LAKG's least amount is the uniform one over this: what all pages have at least is lost."""
_SIZES = (64, 512, 4_096, 32_768)
_TO_LEARN = dict(zip(_SIZES, (20_000, 30_000, 60_000, 120_000), strict=True))
_LAKG_POLLS_PER_PAGE = 150


def _htraa(pages: int) -> ConfiguredPolicy:
    return ConfiguredPolicy("htraa", "htraa", {"resolution": 500})


def _lakg(pages: int) -> ConfiguredPolicy:
    """LAKG with a resolution that fits so many pages."""
    resolution = math.ceil((_PARTS_OF_UNIFORM * pages) ** (1 / _EXPONENT))
    return ConfiguredPolicy("lakg", "lakg", {"resolution": resolution, "exponent": _EXPONENT})


_SCALING_OF_LAKG = ScalingFigure(_lakg, {pages: _LAKG_POLLS_PER_PAGE * pages for pages in _SIZES})
_SCALING_OF_HTRAA = ScalingFigure(_htraa, _TO_LEARN)


_OUR_SCALES = (
    "What the text does not say is ours: the numbers of pages, one swap of ranks in the middle of a"
    " run, pages in the order of their ranks (which helps H-TRAA), and LAKG's resolution, which"
    " grows with the pages so that its least amount stays well below the mean one. LAKG learns for"
    " 150 polls a page before the swap."
)


def _both(effort: Effort) -> Measurements:
    """Figure 12, and the times of LAKG beside it."""
    lakg, htraa = _SCALING_OF_LAKG(effort), _SCALING_OF_HTRAA(effort)
    return replace(htraa, rows=htraa.rows + lakg.rows)


_PERIOD, _SHORT_PERIOD = 80_000, 1_000
_ENDS_OF_PERIODS = [n * _PERIOD for n in range(1, 6)]
_SHORT_MARKS = (10_000, 50_000, 100_000, 200_000, 400_000)

EXPERIMENTS = {
    "htraa-figure-5": Experiment(
        title="H-TRAA's three updating rules, 500 pages, α = 0.9, β = 1.5",
        source=f"{_SOURCE}, figure 5",
        trials=10,
        play=ScoreFigure(
            learners={_environment(MOST_DEMANDING): (*_RULES, BAYES_INDEX)},
            marks=(1_000, *_MARKS),
        ),
        claims=(
            claim(
                "the inaction-penalty updating is the most accurate of the three approaches",
                152,
                f"At the end it is ahead of the two others {CLEARLY}.",
                above([_ACCURATE], [_QUICK, _INFERIOR], [at(_END)]),
            ),
            claim(
                "the reward-penalty updating converges more quickly, since the state is updated"
                " both on rewards and on penalties",
                152,
                "It is the first to have 90 % of the optimum.",
                sooner(_QUICK, [_ACCURATE, _INFERIOR]),
            ),
            claim(
                "the two other approaches produce similar results",
                152,
                "At the end both are within 1 % of reward-penalty, but for two standard errors.",
                alike(_ACCURATE, _QUICK, [at(_END)], 0.01),
                alike(_INFERIOR, _QUICK, [at(_END)], 0.01),
            ),
        ),
    ),
    "htraa-figure-6": Experiment(
        title="H-TRAA, perturbed 10³, 10⁵ and 10⁶ times, and others, α = 0.3, β = 1.5",
        source=f"{_SOURCE}, figure 6",
        trials=5,
        play=_perturbed(SKEWED, doubled=("10³", "10⁶")),
        claims=(
            same_solution(153, _END),
            by_the_phase(153, _END),
            claim(
                "the performance of the H-TRAA increases significantly quicker than the LAKG and"
                " the estimator schemes",
                153,
                "With 10³ perturbations it has 90 % of the optimum more than twice as soon as all"
                " LAKG and estimators.",
                sooner(_LEAST, [*_LAKG, *BY_PHASE], times=2.0),
            ),
            claim(
                "when increasing the number of perturbations, the performance of the H-TRAA is"
                " reduced",
                153,
                "After 10,000 and 50,000 polls the scores fall with the number of perturbations,"
                f" each step {CLEARLY}.",
                in_order(
                    [f"htraa 500, {printed}" for printed in _PERTURBATIONS],
                    [at(10_000), at(50_000)],
                ),
            ),
            claim(
                "LAKG turns out to converge both more quickly and more accu-rately than the H-TRAA",
                154,
                "LAKG [1500, 1.3] has 90 % of the optimum sooner than H-TRAA with 10⁶"
                f" perturbations, and all LAKG are above it at the end {CLEARLY}.",
                all_of(sooner(_LAKG[0], [_MOST]), above(_LAKG, [_MOST], [at(_END)])),
            ),
            claim(
                "the H-TRAA provides performance equal to the LAKG if each as the resolution"
                " applied by any of its children",
                154,
                "With 10⁶ perturbations and resolutions that double from level to level, its score"
                " differs from that of LAKG [1500, 1.3] by 3 % at most, after 50,000 polls and at"
                " the end. (The text is damaged; that resolutions double is our reading.)",
                alike(_MOST_DOUBLED, _LAKG[0], [at(50_000), at(_END)], 0.03),
            ),
            claim(
                "the performance advantage of the H-TRAA is lost for the less per-turbed cases",
                154,
                "With 10³ perturbations, after 5,000 and 10,000 polls, resolutions that double are"
                f" behind equal ones {CLEARLY}.",
                in_order([_LEAST, _LEAST_DOUBLED], [at(5_000), at(10_000)]),
            ),
        ),
    ),
    "htraa-figure-7": Experiment(
        title="H-TRAA, perturbed 10³, 10⁵ and 10⁶ times, and others, α = 0.3, β = 1.0",
        source=f"{_SOURCE}, figure 7",
        trials=5,
        play=_less_skewed,
        claims=(
            kinder_if_less_skewed(
                "a less skewed web page update distribution function makes the uniform policy more"
                " successful",
                158,
                _environment,
            ),
            claim(
                "In spite of this, the H-TRAA yields a superior performance",
                158,
                "At the end H-TRAA is ahead of all estimators with any number of perturbations, and"
                f" after 10,000 polls of LAKG with 10³, {CLEARLY}.",
                all_of(
                    above(
                        [f"htraa 500, {printed}" for printed in _PERTURBATIONS],
                        BY_PHASE,
                        [at(_END)],
                    ),
                    above([_LEAST], _LAKG, [at(10_000)]),
                ),
            ),
        ),
    ),
    "htraa-figure-8": Experiment(
        title="H-TRAA, perturbed 10³, 10⁵ and 10⁶ times, and others, α = 0.9, β = 1.5",
        source=f"{_SOURCE}, figure 8",
        trials=5,
        play=_perturbed(MOST_DEMANDING),
        claims=(
            claim(
                "performance boundary set by the proportional policy, and con-verges towards"
                " near-optimal solutions",
                159,
                "At the end H-TRAA is ahead of the proportional mixture with any number of"
                f" perturbations {CLEARLY}, and has 97 % of the optimum.",
                all_of(
                    above(
                        [f"htraa 500, {printed}" for printed in _PERTURBATIONS],
                        ["proportional"],
                        [at(_END)],
                    ),
                    near_the_optimum(
                        [f"htraa 500, {printed}" for printed in _PERTURBATIONS], [at(_END)], NEAR
                    ),
                ),
            ),
            claim(
                "The H-TRAA converges slightly quicker compared to the LAKG",
                159,
                "With any number of perturbations it has 90 % of the optimum sooner than all LAKG.",
                all_of(
                    *(sooner(f"htraa 500, {printed}", _LAKG) for printed in _PERTURBATIONS),
                ),
            ),
        ),
    ),
    "htraa-figure-9": Experiment(
        title="H-TRAA and others, α = 0.9, β = 1.5, ranks change every 80,000 polls",
        source=f"{_SOURCE}, figure 9",
        trials=10,
        play=_dynamic(_PERIOD, _ENDS_OF_PERIODS, 1_000),
        claims=(
            claim(
                "the H-TRAA quickly recovers after the environment has changed, and then moves"
                " towards a new near-optimal solution",
                162,
                "Half of what a change costs is made good in a tenth of a period; at the end of"
                " every period it has 97 % of the optimum, but for two standard errors.",
                all_of(
                    recovers(HTRAA_500.row, _PERIOD, _PERIOD / 10),
                    near_the_optimum(
                        [HTRAA_500.row], [at(polls) for polls in _ENDS_OF_PERIODS], NEAR
                    ),
                ),
            ),
            claim(
                "Also, the H-TRAA clearly outperforms the LAKG",
                162,
                "It recovers sooner than all LAKG, and is ahead of them at the end of the first"
                f" period {CLEARLY}.",
                all_of(
                    recovers(HTRAA_500.row, _PERIOD, _PERIOD, _LAKG),
                    above([HTRAA_500.row], _LAKG, [at(_PERIOD)]),
                ),
            ),
        ),
    ),
    "htraa-figure-10": Experiment(
        title="H-TRAA and others, α = 0.9, β = 1.5, ranks change every 1,000 polls",
        source=f"{_SOURCE}, figure 10",
        trials=5,
        play=_dynamic(_SHORT_PERIOD, _SHORT_MARKS, 2_000),
        claims=(
            claim(
                "the automata still quickly and steadily improve the initial solution",
                165,
                "H-TRAA and LAKG are better after 50,000 polls than after 10,000, and after 100,000"
                f" than after 50,000, {CLEARLY}.",
                grows([HTRAA_500.row, *_LAKG], at(10_000), at(50_000)),
                grows([HTRAA_500.row, *_LAKG], at(50_000), at(100_000)),
            ),
            claim(
                "are obviously never allowed to reach an optimal solution",
                165,
                "At no time H-TRAA or LAKG has 97 % of the optimum.",
                never_at_the_optimum([HTRAA_500.row, *_LAKG], OPTIMAL),
            ),
            claim(
                "stabilizing on a solution superior to the solutions found by",
                165,
                "After 200,000 and after 400,000 polls H-TRAA and LAKG are ahead of all estimators"
                f" {CLEARLY}.",
                above([HTRAA_500.row, *_LAKG], BY_PHASE, [at(200_000), at(400_000)]),
            ),
            claim(
                "Again, the H-TRAA performs better than the LAKG",
                165,
                f"After each of {', '.join(f'{n:,d}' for n in _SHORT_MARKS)} polls it is ahead of"
                f" all LAKG {CLEARLY}.",
                above([HTRAA_500.row], _LAKG, [at(polls) for polls in _SHORT_MARKS]),
            ),
        ),
    ),
    "htraa-figure-11": Experiment(
        title="scaling of LAKG, 64 to 32,768 pages, α = 0.9, β = 1.5",
        source=f"{_SOURCE}, figure 11",
        trials=5,
        play=_SCALING_OF_LAKG,
        claims=(
            claim(
                "extending the number of materials significantly increases the convergence time of"
                " the LAKG",
                168,
                "Polls to 90 % of the optimum grow with the pages to the power of 0.7 or more.",
                grows_with_pages(f"lakg, {LEARNING}", least=0.7),
            ),
            claim(
                "the adaptation speed increases with the number of materials too",
                168,
                "Polls to half of what a change costs grow with the pages to the power of 0.3 or"
                " more.",
                grows_with_pages(f"lakg, {ADAPTATION}", least=0.3),
            ),
        ),
        remark=_OUR_SCALES,
    ),
    "htraa-figure-12": Experiment(
        title="scaling of H-TRAA, 64 to 32,768 pages in the order of ranks, α = 0.9, β = 1.5",
        source=f"{_SOURCE}, figure 12",
        trials=5,
        play=_both,
        claims=(
            claim(
                "the initial learning phase is orders of magnitude faster than what can be achieved"
                " with the LAKG",
                170,
                "With 32,768 pages H-TRAA has 90 % of the optimum 100 times as soon as LAKG, or"
                " sooner.",
                much_sooner(f"htraa, {LEARNING}", f"lakg, {LEARNING}", max(_SIZES), 100.0),
            ),
            claim(
                "the impact on adaptation speed is negligible",
                170,
                "Polls to half of what a change costs grow with the pages to the power of 0.1 or"
                " less.",
                grows_with_pages(f"htraa, {ADAPTATION}", most=0.1),
            ),
        ),
        remark=_OUR_SCALES,
    ),
}
