"""What is measured of a collection, held against a plain account."""

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.policies.collecting.balance import Balance, FixedShares
from pollwise.policies.collecting.oracles import RandomOrder
from pollwise.policies.collecting.robot import Robot
from pollwise.simulation.collecting_run import collect_run
from pollwise.simulation.worlds.changing_graph import ChangingGraph
from pollwise.simulation.worlds.graph import Graph
from pollwise.types import Outcome


def lists(relevant: int = 3) -> Graph:
    """A start page, 15 lists of 12 pages each; the pages of some lists are relevant."""
    sources = [0] * 15 + [1 + n // 12 for n in range(180)]
    paths = ["", *(f"list{n}" for n in range(15)), *(f"d{n // 12}/{n}" for n in range(180))]
    relevance = [0.0] * 16 + [0.6 if n // 12 < relevant else 0.0 for n in range(180)]
    return Graph(
        ["a"] * 196, paths, sources, list(range(1, 196)), [f"to {path}" for path in paths[1:]],
        {"it": relevance},
    )  # fmt: skip


class Account(RandomOrder):
    """Notes down what was polled when, and what came of it."""

    def __init__(self) -> None:
        super().__init__(generator=np.random.default_rng(0))
        self.polls: list[tuple[int, float, Outcome]] = []

    def observe(self, observations):
        self.polls += [(o.page_id, o.polled_at, o.outcome) for o in observations]
        super().observe(observations)


def test_recall_and_freshness_are_those_of_a_plain_account():
    graph, length = lists(), 400
    account = Account()
    run = collect_run(ChangingGraph(graph, change_load=1.0, seed=3), account, length)
    world = ChangingGraph(graph, change_load=1.0, seed=3)
    copies: dict[int, float] = {}
    total = graph.relevance.sum()
    for step, (document, now, outcome) in enumerate(account.polls):
        world.advance(now)
        if not world.exists(document):
            copies.pop(document, None)
            assert outcome == Outcome.GONE
        else:
            current = document in copies and copies[document] >= world.modified_at(document)
            assert outcome == (Outcome.UNCHANGED if current else Outcome.CHANGED)
            copies[document] = now
        worth = {d: graph.relevance[world.spot(d)] for d in copies}
        held = sum(worth.values())
        fresh = sum(
            w for d, w in worth.items() if world.exists(d) and copies[d] >= world.modified_at(d)
        )
        assert run.recall[step] == pytest.approx(fresh / total)
        assert run.freshness[step] == pytest.approx(fresh / held if held else 1.0)
        assert run.quality[step] == pytest.approx(fresh / max(total, held))
    assert {outcome for *_, outcome in account.polls} >= {Outcome.GONE, Outcome.CHANGED}
    assert np.array_equal(run.quality, np.minimum(run.recall, run.freshness))


def quality(balance: type[Balance], load: float) -> float:
    runs = []
    for seed in range(2):
        robot = Robot(generator=np.random.default_rng(seed), balance=balance)
        world = ChangingGraph(lists(), change_load=load, seed=seed)
        runs.append(collect_run(world, robot, 1500).quality.mean())
    return float(np.mean(runs))


@pytest.mark.parametrize("load", [0.3, 1.0])
def test_one_queue_is_better_than_fixed_shares(load):
    assert quality(Balance, load) > quality(FixedShares, load)


def test_there_must_be_a_request():
    with pytest.raises(InputError, match="requests=0"):
        collect_run(ChangingGraph(lists(), change_load=1.0, seed=0), Account(), 0)
