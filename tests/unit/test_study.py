"""Policies side by side: the figures are those of single runs, and their spread over seeds."""

from typing import ClassVar

import numpy as np
import pytest

from pollwise.budgets import parse_budget
from pollwise.errors import InputError
from pollwise.objectives import Detection
from pollwise.policies.bayes_index import BayesianIndex
from pollwise.policies.catalogue import parse_policies
from pollwise.policies.lakg import LAKG
from pollwise.policies.uniform import Uniform
from pollwise.simulation.loop import BudgetPerPage, simulate
from pollwise.simulation.replay import Replay
from pollwise.simulation.stochastic_knapsack import play
from pollwise.simulation.summary import replay_figures, zipf_figures
from pollwise.simulation.zipf import Zipf
from pollwise.study import made_world, replay_policies, simulate_policies
from pollwise.types import Budget

DAY = 86_400.0


def zipf() -> Zipf:
    return Zipf(pages=20, alpha=0.5, beta=1.0)


def study(names, seeds=3, polls=1200, report=lambda line: None):
    return simulate_policies(
        zipf(),
        parse_policies(names),
        objective=Detection(),
        polls=polls,
        seeds=seeds,
        report=report,
    )


def history() -> Replay:
    rng = np.random.default_rng(3)
    changes = {f"{n}": np.cumsum(rng.exponential((n + 1) * DAY, 200)).tolist() for n in range(10)}
    return Replay({name: [t for t in times if t < 100 * DAY] for name, times in changes.items()})


class TestSimulate:
    def test_figures_are_means_over_seeds(self):
        [result] = study(["bayes-index"])
        world = zipf()
        single = [
            zipf_figures(world, simulate(BayesianIndex(), world, polls=1200, seed=seed))
            for seed in range(3)
        ]
        assert [row["polls"] for row in result["checkpoints"]] == [1000, 1200]
        for row in result["checkpoints"]:
            for name in ("found_per_poll", "tail_found_per_poll", "of_ideal"):
                values = [figures[row["polls"]][name] for figures in single]
                assert row[name] == pytest.approx(np.mean(values))
                assert row["stderr"][name] == pytest.approx(np.std(values, ddof=1) / 3**0.5)

    def test_the_last_checkpoint_is_the_result(self):
        for result in study(["uniform", "whittle"]):
            last = result["checkpoints"][-1]
            assert {key: result[key] for key in last} == last

    def test_one_seed_has_no_spread(self):
        [result] = study(["uniform"], seeds=1)
        assert "stderr" not in result

    def test_a_policy_gets_the_same_figures_alone_and_among_others(self):
        together = {result["policy"]: result for result in study(["uniform", "whittle", "optimal"])}
        assert list(together) == ["uniform", "whittle", "optimal"]
        for name, result in together.items():
            assert study([name]) == [result]

    def test_who_knows_more_finds_more(self):
        figures = {r["policy"]: r["of_ideal"] for r in study(["whittle", "bayes-index", "uniform"])}
        assert figures["uniform"] < figures["bayes-index"] < figures["whittle"] <= 1.0

    def test_it_reports_what_it_is_at(self):
        lines: list[str] = []
        study(["uniform"], seeds=2, report=lines.append)
        assert lines == ["uniform, seed 1 of 2", "uniform, seed 2 of 2"]

    def test_an_unknown_policy_is_an_input_error(self):
        with pytest.raises(InputError, match="no such policy: 'best'"):
            study(["best"])


class TestWorlds:
    RANKS: ClassVar = {
        "pages": 20,
        "alpha": 0.5,
        "beta": 1.0,
        "swap_every": None,
        "perturbations": 0,
    }

    def test_the_abstract_knapsack(self):
        world = made_world("knapsack", noise=0.1, **self.RANKS)
        [result] = simulate_policies(
            world,
            parse_policies(["lakg:resolution=300"]),
            objective=Detection(),
            polls=1000,
            seeds=1,
            report=lambda line: None,
        )
        played = play(LAKG(resolution=300), world, polls=1000, seed=0)
        assert result["policy"] == "lakg:resolution=300"
        assert result["found_per_poll"] == pytest.approx(played.expected.mean())
        assert result["of_ideal"] == pytest.approx(played.expected[800:].mean() / world.ideal)

    def test_what_is_no_world(self):
        with pytest.raises(InputError, match="no such world: 'web'; choose zipf or knapsack"):
            made_world("web", noise=0.0, **self.RANKS)
        with pytest.raises(InputError, match=r"noise=0\.1 is for the world knapsack"):
            made_world("zipf", noise=0.1, **self.RANKS)


class TestReplay:
    @pytest.mark.parametrize(
        ("text", "budget"), [("2/day", Budget(2 / DAY)), ("0.2/day/page", BudgetPerPage(0.2 / DAY))]
    )
    def test_figures_are_those_of_a_single_run(self, text, budget):
        world, lines = history(), []
        [result] = replay_policies(
            world,
            parse_policies(["uniform"]),
            objective=Detection(),
            budget=parse_budget(text),
            warm_up=0.15,
            report=lines.append,
        )
        polls = simulate(Uniform(), world, seed=0, budget=budget)
        assert result == {"policy": "uniform", **replay_figures(world, polls, 0.15)}
        assert result["polls"] == pytest.approx(0.85 * 2 * 100, rel=0.05)
        assert lines == ["uniform"]

    def test_who_knows_more_sees_more(self):
        results = replay_policies(
            history(),
            parse_policies(["whittle", "bayes-index", "fixed"]),
            objective=Detection(),
            budget=parse_budget("0.3/day/page"),
            warm_up=0.15,
            report=lambda line: None,
        )
        captured = {result["policy"]: result["captured"] for result in results}
        assert captured["fixed"] < captured["bayes-index"] <= captured["whittle"] + 0.01
