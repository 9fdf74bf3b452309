"""The claims of LAKG's paper, judged by made-up figures."""

import pytest

from pollwise.experiments import score_figure
from pollwise.experiments.papers.lakg import EXPERIMENTS
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
COARSE, FINER, FINEST = LAKG = ["lakg 1500/1.3", "lakg 2500/1.3", "lakg 5000/1.2"]

STATIC = [at(n) for n in (2_500, 10_000, 50_000, 200_000, 400_000)]
END = STATIC[-1]
PERIODS = [at(n) for n in (80_000, 160_000, 240_000, 320_000, 400_000)]
FAST = [at(n) for n in (10_000, 50_000, 100_000, 200_000, 400_000)]
SKEWED, LESS_SKEWED = (
    share_at(Environment(pages=500, alpha=0.3, beta=beta)) for beta in (1.5, 1.0)
)


FIGURES: Figures = {
    "lakg-figure-2": (
        table(
            STATIC,
            {
                "proportional": (0.992, 0.992, 0.992, 0.992, 0.992),
                "uniform": (0.3, 0.3, 0.3, 0.3, 0.3),
                SHORT: (0.2, 0.4, 0.5, 0.6, 0.6),
                MIDDLE: (0.2, 0.4, 0.5, 0.6, 0.7),
                LONG: (0.2, 0.4, 0.5, 0.6, 0.8),
                COARSE: (0.3, 0.5, 0.8, 0.8, 0.8),
                FINER: (0.3, 0.4, 0.7, 0.8, 0.9),
                FINEST: (0.3, 0.3, 0.6, 0.8, 0.95),
            },
        ),
        {
            "more-or-less the same solution": [
                *one_of(["proportional"], [END], 0.988),
                *one_of(["uniform"], [END], 0.993),
            ],
            "steadily with the length of the parameter": [
                *one_of([SHORT, MIDDLE], [END], 0.85),
                *one_of([LONG], [END], 0.65),
            ],
            "increases significantly quicker": [
                *one_of([COARSE], STATIC[:4], 0.1),
                *one_of(ESTIMATORS, STATIC[:4], 0.9),
            ],
            "improves the convergence accuracy": [
                *one_of([COARSE, FINER], [at(50_000)], 0.1),
                *one_of([FINEST], [at(50_000)], 0.9),
                *one_of([FINER, FINEST], [END], 0.1),
                *one_of([COARSE], [END], 0.99),
            ],
        },
    ),
    "lakg-figure-3": (
        {
            **table(
                [SKEWED, LESS_SKEWED],
                {"uniform": (0.3, 0.4), SHORT: (0.4, 0.6), MIDDLE: (0.5, 0.7), LONG: (0.6, 0.8)},
            ),
            **table(
                [END],
                {
                    **dict.fromkeys(ESTIMATORS, (0.8,)),
                    **dict.fromkeys(LAKG, (0.9,)),
                },
            ),
        },
        {
            "makes the uniform policy as well as the estimator": [
                *one_of(["uniform", *ESTIMATORS], [SKEWED], 0.9),
                *one_of(["uniform", *ESTIMATORS], [LESS_SKEWED], 0.1),
            ],
            "superior performance": [
                *one_of(LAKG, [END], 0.7),
                *one_of(ESTIMATORS, [END], 0.95),
            ],
        },
    ),
    "lakg-figure-4": (
        table([END], {"proportional": (0.965,), **dict.fromkeys(LAKG, (0.975,))}),
        {
            "significantly better than the proportional": [
                *one_of(["proportional"], [END], 0.975),
            ],
            "breaches the performance boundary": [
                *one_of(LAKG, [END], 0.968),  # ahead, but not near the optimum
                *one_behind_the_proportional(LAKG, END),
                *one_of(["proportional"], [END], 0.98),
            ],
        },
    ),
    "lakg-figure-5": (
        {
            **table(PERIODS, {COARSE: (0.975,) * 5}),
            **table([HALF], {COARSE: (7_500,), FINER: (12_000,), FINEST: (20_000,)}),
        },
        {
            "finds near-optimal solutions initially": [
                *one_of([COARSE], PERIODS, 0.965),
                *one_of([COARSE], [HALF], 8_500),
            ],
            "depends on the resolution": [
                *one_of([COARSE], [HALF], 15_000),
                *one_of([FINER], [HALF], 25_000),
                *one_of([FINEST], [HALF], 10_000),
            ],
        },
    ),
    "lakg-figure-6": (
        {
            **table([PEAK], dict.fromkeys(LAKG, (0.965,))),
            **table(FAST, dict.fromkeys(LAKG, (0.4, 0.5, 0.6, 0.7, 0.8))),
            **table(FAST[-2:], dict.fromkeys(ESTIMATORS, (0.6, 0.7))),
        },
        {
            "never allowed to reach": [
                *one_of(LAKG, [at(10_000), at(50_000)], 0.8),
                *one_of(LAKG, [at(50_000), at(100_000)], 0.3),
                *one_of(LAKG, [PEAK], 0.975),
            ],
            "superior to the solutions found by": [
                *one_of(LAKG, FAST[-2:], 0.5),
                *one_of(ESTIMATORS, FAST[-2:], 0.9),
            ],
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
    monkeypatch.setattr(score_figure, "learn", learned_nothing)
    check_that_it_is_measured(FIGURES[name][0], EXPERIMENTS[name])
