"""Policies side by side: the figures are those of single runs, and their spread over seeds."""

from typing import ClassVar

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.objectives import Detection
from pollwise.policies.automata.lakg import LAKG
from pollwise.policies.catalogue import WATCHING
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.simulation.compare.simulations import made_world, simulate_policies
from pollwise.simulation.loop import simulate
from pollwise.simulation.scores.summary import zipf_figures
from pollwise.simulation.worlds.stochastic_knapsack import play
from pollwise.simulation.worlds.zipf import Zipf


def zipf() -> Zipf:
    return Zipf(pages=20, alpha=0.5, beta=1.0)


def study(names, seeds=3, polls=1200, report=lambda line: None):
    return simulate_policies(
        zipf(),
        [WATCHING.choose(name) for name in names],
        objective=Detection(),
        polls=polls,
        seeds=seeds,
        report=report,
    )


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
            [WATCHING.choose("lakg:resolution=300")],
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
        with pytest.raises(
            InputError, match="no such world: 'web'; choose zipf, knapsack or graph"
        ):
            made_world("web", noise=0.0, **self.RANKS)
        with pytest.raises(InputError, match=r"noise=0\.1 is for the world knapsack"):
            made_world("zipf", noise=0.1, **self.RANKS)
