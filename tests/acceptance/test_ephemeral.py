"""Ephemeral content: the printed numbers, and what learning costs."""

import numpy as np
import pytest

from pollwise.experiments.papers.ephemeral import EPOCHS, LONG_RUN, SOURCES
from pollwise.policies.index.ephemeral import EphemeralIndex
from pollwise.simulation.worlds.ephemeral import EphemeralWorld, LearningChooser, play_epochs, top

LEARNT_AFTER = 50 * len(SOURCES)


@pytest.mark.parametrize(
    ("polls", "reward", "frequencies"),
    [(1, 260.39, (1 / 2, 1 / 2, 0, 0)), (2, 337.77, (1, 4 / 7, 2 / 7, 1 / 7))],
)
def test_the_steady_state_of_the_index_policy(polls, reward, frequencies):
    world = EphemeralWorld(SOURCES, random=False)
    play = play_epochs(world, top(world, polls), epochs=EPOCHS + LONG_RUN, seed=0)
    assert play.rewards[EPOCHS:].mean() == pytest.approx(reward, abs=0.005)
    assert play.polled[EPOCHS:].mean(axis=0) == pytest.approx(np.array(frequencies))


def test_the_printed_rewards():
    world = EphemeralWorld(SOURCES, random=False)
    from_the_start = play_epochs(world, top(world, 1), epochs=EPOCHS, seed=0).rewards.mean()
    assert from_the_start == pytest.approx(254.66, abs=0.005)
    alone = play_epochs(world, lambda view: np.array([0]), epochs=EPOCHS, seed=0).rewards
    assert alone[1:] == pytest.approx(179.79, abs=0.005)


@pytest.mark.parametrize("aged", [True, False], ids=["aged", "not aged"])
@pytest.mark.parametrize("epoch", [0.0, 1.0])
@pytest.mark.parametrize("polls", [1, 2])
def test_learning_costs_less_than_three_percent_after_fifty_epochs_a_source(polls, epoch, aged):
    world = EphemeralWorld(SOURCES, aged=aged)
    epochs = 2 * LEARNT_AFTER
    known = play_epochs(world, top(world, polls), epochs=epochs, seed=1, observed=())
    learner = LearningChooser(world, EphemeralIndex(epoch=epoch), polls)
    learnt = play_epochs(world, learner, epochs=epochs, seed=1, observed=())
    share = learnt.rewards[LEARNT_AFTER:].sum() / known.rewards[LEARNT_AFTER:].sum()
    assert share >= 0.97
