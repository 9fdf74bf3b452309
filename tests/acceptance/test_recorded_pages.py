"""The learner on recorded changes of real pages, in the excerpts that lie beside the tests."""

from pathlib import Path

import pytest

from pollwise.objectives import objective
from pollwise.policies.catalogue import WATCHING
from pollwise.scheduler.budgets import parse_budget
from pollwise.simulation.compare.replays import replay_policies
from pollwise.simulation.recorded.replay import Replay

DATA = Path(__file__).parents[1] / "data"


def figures(trace: str, figure: str, aim: str, **options) -> dict[str, float]:
    """By policy, at 0.2 polls a day and page."""
    results = replay_policies(
        Replay.read(DATA / trace, **options),
        [WATCHING.choose(name) for name in ("uniform", "bayes-index", "whittle")],
        objectives=[objective(aim)],
        budgets=[parse_budget("0.2/day/page")],
        warm_up=0.15,
        report=lambda line: None,
    )
    return {result["policy"]: result[figure] for result in results}


@pytest.mark.parametrize(
    ("trace", "pages", "changes", "sites", "reverts"),
    [("policies.csv", 42, 1112, 40, 0.049), ("peps.csv", 37, 1080, 1, 0.002)],
)
def test_what_is_in_them(trace, pages, changes, sites, reverts):
    world = Replay.read(DATA / trace)
    assert len(world.pages) == pages
    assert len(world.changes.times) == changes
    assert len({page.site for page in world.pages}) == sites
    assert world.changes.reverted.mean() == pytest.approx(reverts, abs=0.001)


@pytest.mark.parametrize("trace", ["policies.csv", "peps.csv"])
@pytest.mark.parametrize("ignore_reverts", [False, True])
def test_most_of_what_known_rates_gain_is_learned(trace, ignore_reverts):
    fresh = figures(trace, "freshness", "freshness", ignore_reverts=ignore_reverts)
    gained = fresh["bayes-index"] - fresh["uniform"]
    assert gained > 0.6 * (fresh["whittle"] - fresh["uniform"]) > 0
    seen = figures(trace, "captured", "detection", ignore_reverts=ignore_reverts)
    assert seen["bayes-index"] > 0.95 * seen["whittle"] > seen["uniform"]
