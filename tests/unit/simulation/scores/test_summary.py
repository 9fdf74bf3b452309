"""Figures of a run against their definitions."""

import math

import numpy as np
import pytest

from pollwise.metrics import Polls
from pollwise.policies.deadline.uniform import Uniform
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.replay import Replay
from pollwise.simulation.scores.summary import (
    Mean,
    mean_of,
    replay_figures,
    replay_tally,
    zipf_figures,
)
from pollwise.simulation.worlds.zipf import Zipf


def test_mean_and_standard_error():
    values = [1.0, 2.0, 4.0, 9.0]
    mean = mean_of(values)
    assert mean.value == 4.0
    assert mean.stderr == pytest.approx(np.std(values, ddof=1) / 2)
    assert mean_of([3.0]) == Mean(3.0, None)


@pytest.mark.parametrize("swap_every", [None, 40])
def test_zipf_figures_are_means_of_expected_detections(swap_every):
    world = Zipf(pages=8, alpha=0.5, beta=1.0, swap_every=swap_every)
    polls = simulate(Uniform(), world, polls=1500, seed=2)
    before = {page.id: page.seen_at for page in world.pages}
    found = []
    for page, time in zip(polls.page_ids.tolist(), polls.times.tolist(), strict=True):
        hazard = world.cumulative_hazard(np.array([page, page]), np.array([before[page], time]))
        found.append(1 - math.exp(hazard[0] - hazard[1]))
        before[page] = time
    figures = zipf_figures(world, polls)
    assert list(figures) == [1000, 1500]
    for count in figures:
        tail = np.mean(found[round(0.8 * count) : count])
        assert figures[count] == pytest.approx(
            {
                "found_per_poll": np.mean(found[:count]),
                "tail_found_per_poll": tail,
                "of_ideal": tail / world.ideal,
            }
        )


def test_expected_detections_are_what_is_found_on_average():
    found, expected = 0, 0.0
    world = Zipf(pages=8, alpha=0.3, beta=1.0)
    for seed in range(20):
        polls = simulate(Uniform(), world, polls=400, seed=seed)
        expected += 400 * zipf_figures(world, polls)[400]["found_per_poll"]
        world.reset(seed, duration=401.0)
        for page, time in zip(polls.page_ids.tolist(), polls.times.tolist(), strict=True):
            found += int(world.poll([page], time)[0].outcome)
    assert found == pytest.approx(expected, abs=4 * math.sqrt(expected))


def test_replay_figures_leave_the_warm_up_out():
    day = 86_400.0
    world = Replay({"a": [day, 3 * day, 6 * day]}, {"a": (0.0, math.inf)}, end=10 * day)
    polls = Polls(np.zeros(3, np.int64), np.array([0.0, 2.0, 7.0]) * day)
    figures = replay_figures(world, replay_tally(world, polls, warm_up=0.25))
    assert figures["polls"] == 1
    assert figures["captured"] == pytest.approx(1 / 2)
    assert figures["freshness"] == pytest.approx((0.5 + 3) / 7.5)
    assert figures["delay_days"] == pytest.approx((4 + 1) / 2)
