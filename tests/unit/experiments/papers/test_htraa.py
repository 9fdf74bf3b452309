"""The claims of H-TRAA's paper, judged by made-up figures."""

import pytest

from pollwise.experiments import scaling_figure, score_figure
from pollwise.experiments.experiment import POLLS_TO_SHARE
from pollwise.experiments.papers.htraa import EXPERIMENTS
from pollwise.experiments.scaling_figure import GROWTH
from pollwise.experiments.scenario import Environment
from pollwise.experiments.score_figure import at, share_at

from .made_up_figures import (
    HALF,
    PEAK,
    Figures,
    check_that_it_breaks,
    check_that_it_holds,
    check_that_it_is_measured,
    claims_of,
    learned_nothing,
    one_behind_the_proportional,
    one_of,
    table,
)

SHORT, MIDDLE, LONG = ESTIMATORS = [f"estimator {n}" for n in ("2,500", "10,000", "50,000")]
COARSE, FINE = LAKG = ["lakg 1500/1.3", "lakg 2500/1.3"]
HTRAA = "htraa 500"
LEAST, SOME, MOST = PERTURBED = [f"htraa 500, {n}" for n in ("10³", "10⁵", "10⁶")]
DOUBLED_LEAST, DOUBLED_MOST = (f"htraa 60 doubling, {n}" for n in ("10³", "10⁶"))
PENALTY, BOTH, REWARD = ["inaction-penalty", "reward-penalty", "reward-inaction"]

END = at(200_000)
PERIODS = [at(n) for n in (80_000, 160_000, 240_000, 320_000, 400_000)]
FAST = [at(n) for n in (10_000, 50_000, 100_000, 200_000, 400_000)]
SKEWED, LESS_SKEWED = (
    share_at(Environment(pages=500, alpha=0.3, beta=beta)) for beta in (1.5, 1.0)
)


FIGURES: Figures = {
    "htraa-figure-5": (
        table(
            [END, POLLS_TO_SHARE],
            {PENALTY: (0.980, 2_000), BOTH: (0.975, 1_000), REWARD: (0.970, 3_000)},
        ),
        {
            "the most accurate": [
                *one_of([PENALTY], [END], 0.972),
                *one_of([BOTH, REWARD], [END], 0.985),
            ],
            "converges more quickly": [
                *one_of([BOTH], [POLLS_TO_SHARE], 2_500),
                *one_of([PENALTY, REWARD], [POLLS_TO_SHARE], 900),
            ],
            "produce similar results": [
                *one_of([PENALTY, REWARD], [END], 0.987),
                *one_of([BOTH], [END], 0.960),
            ],
        },
    ),
    "htraa-figure-6": (
        {
            **table([END], {"proportional": (0.992,), "uniform": (0.3,)}),
            **table([END], {SHORT: (0.6,), MIDDLE: (0.7,), LONG: (0.8,)}),
            **table(
                [POLLS_TO_SHARE],
                {LEAST: (1_000,), **dict.fromkeys([*LAKG, *ESTIMATORS], (2_100,)), MOST: (3_000,)},
            ),
            **table(
                [at(5_000), at(10_000)],
                {LEAST: (0.5, 0.6), DOUBLED_LEAST: (0.3, 0.4), SOME: (0.4, 0.5), MOST: (0.3, 0.4)},
            ),
            **table(
                [at(50_000), END],
                {
                    LEAST: (0.9, 0.9),
                    SOME: (0.8, 0.9),
                    MOST: (0.7, 0.85),
                    COARSE: (0.8, 0.9),
                    FINE: (0.8, 0.9),
                    DOUBLED_MOST: (0.82, 0.92),
                },
            ),
        },
        {
            "more-or-less the same": [
                *one_of(["proportional"], [END], 0.988),
                *one_of(["uniform"], [END], 0.993),
            ],
            "steadily with the length": [
                *one_of([SHORT, MIDDLE], [END], 0.85),
                *one_of([LONG], [END], 0.65),
            ],
            "increases significantly quicker than the LAKG": [
                *one_of([LEAST], [POLLS_TO_SHARE], 1_100),
                *one_of([*LAKG, *ESTIMATORS], [POLLS_TO_SHARE], 1_900),
            ],
            "the number of perturbations": [
                *one_of([LEAST, SOME], [at(10_000), at(50_000)], 0.2),
                *one_of([MOST], [at(10_000), at(50_000)], 0.95),
            ],
            "both more quickly and more accu-rately": [
                *one_of([COARSE], [POLLS_TO_SHARE], 3_100),
                *one_of([MOST], [POLLS_TO_SHARE], 2_000),
                *one_of(LAKG, [END], 0.8),
                *one_of([MOST], [END], 0.95),
            ],
            "performance equal to the LAKG": [
                *one_of([DOUBLED_MOST], [at(50_000)], 0.83),
                *one_of([DOUBLED_MOST], [END], 0.87),
                *one_of([COARSE], [at(50_000)], 0.79),
                *one_of([COARSE], [END], 0.96),
            ],
            "lost for the less per-turbed": [
                *one_of([LEAST], [at(5_000), at(10_000)], 0.2),
                *one_of([DOUBLED_LEAST], [at(5_000), at(10_000)], 0.7),
            ],
        },
    ),
    "htraa-figure-7": (
        {
            **table(
                [SKEWED, LESS_SKEWED],
                {"uniform": (0.3, 0.4), SHORT: (0.4, 0.6), MIDDLE: (0.5, 0.7), LONG: (0.6, 0.8)},
            ),
            **table(
                [END], {**dict.fromkeys(ESTIMATORS, (0.8,)), **dict.fromkeys(PERTURBED, (0.9,))}
            ),
            **table([at(10_000)], {LEAST: (0.6,), **dict.fromkeys(LAKG, (0.5,))}),
        },
        {
            "makes the uniform policy more": [
                *one_of(["uniform", *ESTIMATORS], [SKEWED], 0.9),
                *one_of(["uniform", *ESTIMATORS], [LESS_SKEWED], 0.1),
            ],
            "superior performance": [
                *one_of(PERTURBED, [END], 0.7),
                *one_of(ESTIMATORS, [END], 0.95),
                *one_of([LEAST], [at(10_000)], 0.4),
                *one_of(LAKG, [at(10_000)], 0.7),
            ],
        },
    ),
    "htraa-figure-8": (
        {
            **table([END], {"proportional": (0.965,), **dict.fromkeys(PERTURBED, (0.975,))}),
            **table(
                [POLLS_TO_SHARE],
                {**dict.fromkeys(PERTURBED, (4_000,)), **dict.fromkeys(LAKG, (5_000,))},
            ),
        },
        {
            "performance boundary": [
                *one_of(PERTURBED, [END], 0.968),  # ahead, but not near the optimum
                *one_behind_the_proportional(PERTURBED, END),
                *one_of(["proportional"], [END], 0.98),
            ],
            "slightly quicker": [
                *one_of(PERTURBED, [POLLS_TO_SHARE], 5_100),
                *one_of(LAKG, [POLLS_TO_SHARE], 3_900),
            ],
        },
    ),
    "htraa-figure-9": (
        {
            **table([HALF], {HTRAA: (7_500,), COARSE: (12_000,), FINE: (12_000,)}),
            **table(PERIODS, {HTRAA: (0.975,) * 5}),
            **table(PERIODS[:1], dict.fromkeys(LAKG, (0.9,))),
        },
        {
            "quickly recovers": [
                *one_of([HTRAA], [HALF], 8_500),
                *one_of([HTRAA], PERIODS, 0.965),
            ],
            "clearly outperforms": [
                *one_of([HTRAA], [HALF], 15_000),
                *one_of(LAKG, [HALF], 7_000),
                *one_of([HTRAA], PERIODS[:1], 0.8),
                *one_of(LAKG, PERIODS[:1], 0.98),
            ],
        },
    ),
    "htraa-figure-10": (
        {
            **table([PEAK], dict.fromkeys([HTRAA, *LAKG], (0.965,))),
            **table(FAST, {HTRAA: (0.5, 0.6, 0.7, 0.8, 0.9)}),
            **table(FAST, dict.fromkeys(LAKG, (0.4, 0.5, 0.6, 0.7, 0.8))),
            **table(FAST[-2:], dict.fromkeys(ESTIMATORS, (0.6, 0.7))),
        },
        {
            "steadily improve the initial": [
                *one_of([HTRAA, *LAKG], [at(10_000), at(50_000)], 0.8),
                *one_of([HTRAA, *LAKG], [at(50_000), at(100_000)], 0.3),
            ],
            "never allowed to reach": [
                *one_of([HTRAA, *LAKG], [PEAK], 0.975),
            ],
            "superior to the solutions": [
                *one_of([HTRAA, *LAKG], FAST[-2:], 0.5),
                *one_of(ESTIMATORS, FAST[-2:], 0.95),
            ],
            "better than the LAKG": [
                *one_of([HTRAA], FAST, 0.35),
                *one_of(LAKG, FAST, 0.95),
            ],
        },
    ),
    "htraa-figure-11": (
        table([GROWTH], {"lakg, initial learning": (0.72,), "lakg, adaptation": (0.32,)}),
        {
            "convergence time of the LAKG": one_of(["lakg, initial learning"], [GROWTH], 0.68),
            "adaptation speed increases": one_of(["lakg, adaptation"], [GROWTH], 0.28),
        },
    ),
    "htraa-figure-12": (
        {
            **table(
                ["32,768 pages"],
                {"htraa, initial learning": (1_000,), "lakg, initial learning": (102_000,)},
            ),
            **table([GROWTH], {"htraa, adaptation": (0.08,)}),
        },
        {
            "orders of magnitude faster": [
                *one_of(["htraa, initial learning"], ["32,768 pages"], 1_030),
                *one_of(["lakg, initial learning"], ["32,768 pages"], 98_000),
            ],
            "impact on adaptation speed": one_of(["htraa, adaptation"], [GROWTH], 0.12),
        },
    ),
}


CLAIMS = claims_of(EXPERIMENTS, FIGURES)


def test_every_claim_has_its_changes():
    assert len(CLAIMS) == sum(len(each.claims) for each in EXPERIMENTS.values())


@pytest.mark.parametrize(("numbers", "claim", "changes"), CLAIMS)
def test_a_claim_holds_and_looks_at_nothing_but_what_can_break_it(numbers, claim, changes):
    check_that_it_holds(numbers, claim, changes)


@pytest.mark.parametrize(("numbers", "claim", "changes"), CLAIMS)
def test_each_change_breaks_its_claim(numbers, claim, changes):
    check_that_it_breaks(numbers, claim, changes)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_claims_look_at_is_measured(name, monkeypatch):
    for module in (score_figure, scaling_figure):
        monkeypatch.setattr(module, "learn", learned_nothing)
    check_that_it_is_measured(FIGURES[name][0], EXPERIMENTS[name])
