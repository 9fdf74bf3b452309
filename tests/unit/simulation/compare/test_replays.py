"""Replays side by side: the figures are those of single runs; what can be replayed at all."""

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.objectives import objective
from pollwise.policies.catalogue import WATCHING
from pollwise.policies.deadline.uniform import Uniform
from pollwise.scheduler.budgets import parse_budget
from pollwise.simulation.compare.replays import read_history, replay_policies
from pollwise.simulation.loop import BudgetPerPage, simulate
from pollwise.simulation.recorded.items import ItemReplay
from pollwise.simulation.recorded.replay import Replay
from pollwise.simulation.scores.summary import replay_figures, replay_tally
from pollwise.types import Budget

DAY = 86_400.0


def history(seed: int = 3) -> Replay:
    rng = np.random.default_rng(seed)
    changes = {f"{n}": np.cumsum(rng.exponential((n + 1) * DAY, 200)).tolist() for n in range(10)}
    return Replay({name: [t for t in times if t < 100 * DAY] for name, times in changes.items()})


def replay(world, names, *, objectives=("detection",), budgets=("0.2/day/page",), **options):
    return replay_policies(
        world,
        [WATCHING.choose(name) for name in names],
        objectives=[objective(name) for name in objectives],
        budgets=[parse_budget(text) for text in budgets],
        warm_up=0.15,
        report=options.get("report", lambda line: None),
    )


class TestReplay:
    @pytest.mark.parametrize(
        ("text", "budget"), [("2/day", Budget(2 / DAY)), ("0.2/day/page", BudgetPerPage(0.2 / DAY))]
    )
    def test_figures_are_those_of_a_single_run(self, text, budget):
        world, lines = history(), []
        [result] = replay(world, ["uniform"], budgets=[text], report=lines.append)
        polls = simulate(Uniform(), world, seed=0, budget=budget)
        figures = replay_figures(world, replay_tally(world, polls, 0.15))
        assert result == {"policy": "uniform", "objective": None, "budget": text, **figures}
        assert result["polls"] == pytest.approx(0.85 * 2 * 100, rel=0.05)
        assert lines == [f"uniform, {text}"]

    def test_who_knows_more_sees_more(self):
        """On the mean over some histories: a single one has a few hundred changes."""
        names = ["whittle", "bayes-index", "fixed"]
        histories = [replay(history(seed), names, budgets=["0.3/day/page"]) for seed in range(10)]
        captured = {
            name: np.mean([results[place]["captured"] for results in histories])
            for place, name in enumerate(names)
        }
        assert captured["fixed"] < captured["bayes-index"] <= captured["whittle"] + 0.01

    def test_every_budget_and_objective_where_a_policy_takes_one(self):
        lines: list[str] = []
        results = replay(
            history(),
            ["uniform", "whittle"],
            objectives=["freshness", "delay"],
            budgets=["0.1/day/page", "3/day"],
            report=lines.append,
        )
        rows = [(row["policy"], row["objective"], row["budget"]) for row in results]
        assert rows == [
            (policy, aim, budget)
            for budget in ("0.1/day/page", "3/day")
            for policy, aim in (("uniform", None), ("whittle", "freshness"), ("whittle", "delay"))
        ]
        assert lines[:2] == ["uniform, 0.1/day/page", "whittle for freshness, 0.1/day/page"]
        by_row = dict(zip(rows, results, strict=True))
        # At the smaller budget, where the two aims pull apart most.
        fresh, quick = (by_row["whittle", aim, "0.1/day/page"] for aim in ("freshness", "delay"))
        assert fresh["freshness"] > quick["freshness"]
        assert fresh["delay_days"] > quick["delay_days"]

    def test_differences_are_to_the_first_of_the_budget(self):
        first, other, third, fourth = replay(
            history(), ["uniform", "whittle"], budgets=["0.1/day/page", "0.3/day/page"]
        )
        assert "against" not in first
        assert "against" not in third
        for one, two in ((first, other), (third, fourth)):
            against = two["against"]
            assert (against["policy"], against["objective"]) == ("uniform", None)
            for name in ("captured", "freshness", "delay_days", "age_days"):
                found = against[name]
                assert found["difference"] == pytest.approx(two[name] - one[name])
                wide, narrow = found["interval_95"], found["interval_80"]
                assert wide[0] <= narrow[0] <= found["difference"] <= narrow[1] <= wide[1]

    def test_weights_count_for_policies_and_figures(self, tmp_path):
        rows = [f"{page},{day * DAY:.0f}" for page in "ab" for day in range(1, 100)]
        (tmp_path / "t.csv").write_text("\n".join(["page,changed_at", *rows]))
        pages = "page,first_seen,died_at,weight\na,0,,9\nb,0,,1\n"
        (tmp_path / "t.pages.csv").write_text(pages)
        plain = replay(Replay.read(tmp_path / "t.csv"), ["whittle"])
        weighted = replay(Replay.read(tmp_path / "t.csv", weighted=True), ["whittle"])
        assert "weighted_captured" not in plain[0]
        assert weighted[0]["weighted_captured"] > 1.5 * weighted[0]["captured"]
        assert weighted[0]["weighted_delay_days"] < weighted[0]["delay_days"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("2/second/page", "budget 172800/day/page is more than one poll a second"),
            ("11/second", "more than one poll a second for every page.*at most 864000/day$"),
            ("0.9/second/page", r"makes 3\.6e\+08 polls .* at most a 4th"),
        ],
    )
    def test_a_budget_that_cannot_be_used_up(self, text, message):
        world = history()
        if "makes" in message:
            world = Replay({"a": [0.0, 2e8], "b": [1e8]})
        with pytest.raises(InputError, match=message):
            replay(world, ["uniform"], budgets=[text], report=pytest.fail)

    def test_what_cannot_be_run_is_said_before_anything_is(self):
        with pytest.raises(InputError, match="resolution"):
            replay(history(), ["uniform", "lakg:resolution=-1"], report=pytest.fail)


class TestHistories:
    def read(self, path, **asked):
        usual = {"weighted": False, "ignore_reverts": False, "last_changed": False}
        return read_history(path, **{"objectives": ["delay"], "half_life": None, **usual, **asked})

    def test_pages(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("page,changed_at\na,1\na,2\n")
        assert isinstance(self.read(path), Replay)
        with pytest.raises(
            InputError, match=r"t\.csv: the objective ephemeral needs a trace of it"
        ):
            self.read(path, objectives=["delay", "ephemeral"])

    @pytest.mark.parametrize(
        ("name", "text", "asked"),
        [
            ("t.csv", "page,changed_at\na,5\n", {}),
            (
                "t.items.csv",
                "source,item,published_at,first_seen,gone_at,weight\na,x,5,5,,1\n",
                {"objectives": ["ephemeral"], "half_life": 60.0},
            ),
        ],
    )
    def test_a_history_without_duration(self, tmp_path, name, text, asked):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(InputError, match=rf"/{name}: the history lasts no time"):
            self.read(path, **asked)

    def test_items(self, tmp_path):
        path = tmp_path / "t.items.csv"
        path.write_text(
            "source,item,published_at,first_seen,gone_at,weight\n"
            "a,x,1,2,,1\na,y,3,4,,1\nb,z,5,6,7,1\n"
        )
        world = self.read(path, objectives=["ephemeral"], half_life=60.0)
        assert isinstance(world, ItemReplay)
        [result] = replay_policies(
            world,
            [WATCHING.choose("uniform")],
            objectives=[objective("ephemeral", decay=0.01)],
            budgets=[parse_budget("1/second")],
            warm_up=0.0,
            report=lambda line: None,
        )
        assert {"polls", "value_captured", "items_captured"} <= result.keys()
        for asked in ({"half_life": 60.0}, {"objectives": ["ephemeral", "delay"], "half_life": 1}):
            with pytest.raises(InputError, match=r"t\.items\.csv: a trace of items"):
                self.read(path, **asked)
        with pytest.raises(InputError, match="--weighted is for traces of pages"):
            self.read(path, objectives=["ephemeral"], half_life=60.0, weighted=True)
