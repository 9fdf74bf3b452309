"""What is computed from samples."""

import numpy as np
import pytest

from pollwise.experiments.experiment import Effort, Row
from pollwise.experiments.learning import (
    Learned,
    checkpoints_to,
    classical_scores,
    learn,
    score_in_steps,
)
from pollwise.experiments.reward_table import RewardTable, SpreadTable
from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.experiments.trials import Samples

WORLD = Environment(pages=8, alpha=0.3, beta=1.0)
EFFORT = Effort(trials=4, cores=1, report=lambda text: None)


def learned(*scores: list[float]) -> Learned:
    samples = Samples(np.array(scores) * 10, np.array(scores))
    return Learned(WORLD, tuple(range(10, 10 * len(scores[0]) + 1, 10)), {"a": samples})


def test_checkpoints_are_spread_over_the_logarithm():
    checkpoints = checkpoints_to(1000, 77)
    assert checkpoints[0] == 10
    assert checkpoints[-1] == 1000
    assert 77 in checkpoints
    assert list(checkpoints) == sorted(set(checkpoints))
    assert 16 <= len(checkpoints) <= 18


def test_the_classical_scores():
    scores = classical_scores(WORLD)
    assert scores["optimal"] == pytest.approx(0.5925, abs=1e-4)
    assert scores["optimal"] > scores["proportional"] > scores["uniform"]


def test_the_best_mixture_of_hundredths():
    """Table 8.10 prints 592.1, 871.7 and 959.4 as the optimum: it is that of hundredths, dealt."""
    worlds = [(0.3, 1.0, 592.1), (0.6, 1.0, 871.7), (0.9, 1.5, 959.4)]
    for alpha, beta, printed in worlds:
        world = Environment(pages=8, alpha=alpha, beta=beta)
        dealt = 1000 * score_in_steps(world)
        assert printed <= dealt < printed + 0.1
        assert 1000 * classical_scores(world)["optimal"] > printed + 0.1


def test_polls_to_a_score_count_from_where_it_stays():
    """A lucky moment before is not it."""
    assert learned([0.9, 0.1, 0.9, 0.95]).polls_to("a", 0.9) == 30
    assert learned([0.9, 0.9], [0.9, 0.95]).polls_to("a", 0.9) == 10
    assert learned([0.9, 0.8]).polls_to("a", 0.9) is None
    rows = learned([0.5, 0.5924]).rows_to_share()
    assert rows == [Row("a", "polls to 90 %", 20)]


def test_means_over_trials():
    one = learned([0.2, 0.4], [0.4, 0.8])
    assert one.score("a", 20).value == pytest.approx(0.6)
    assert one.score("a", 20).stderr == pytest.approx(0.2)
    assert one.reward("a", 10).value == pytest.approx(3.0)


def test_every_learner_in_every_world():
    worlds = [WORLD, Environment(pages=3, alpha=0.5, beta=0.5)]
    results = learn(
        worlds,
        [ConfiguredPolicy("u", "uniform"), ConfiguredPolicy("b", "bayes-index")],
        (10, 20),
        EFFORT,
    )
    assert [result.environment for result in results] == worlds
    assert [list(result.samples) for result in results] == [["u", "b"]] * 2


def test_the_variance_over_trials():
    one = learned([0.2, 0.4], [0.4, 0.8], [0.6, 0.3])
    assert one.variance("a", 10)[0] == pytest.approx(4.0)
    assert learned([0.2, 0.4]).variance("a", 10) == (None, None)
    assert one.extremes("a", 20) == pytest.approx((3.0, 8.0))


def test_the_error_of_a_variance_is_that_of_repeated_trials():
    """Against 4,000 repetitions of 50 trials each."""
    rng = np.random.default_rng(1)
    rewards = rng.exponential(size=(4000, 50, 1))
    estimates = [
        Learned(WORLD, (10,), {"a": Samples(each, each)}).variance("a", 10) for each in rewards
    ]
    values, errors = zip(*estimates, strict=True)
    assert np.mean(values) == pytest.approx(1.0, rel=0.02)
    assert np.mean(np.square(errors)) == pytest.approx(np.var(values), rel=0.15)


def test_a_table_has_the_classical_rows():
    table = RewardTable({WORLD: [ConfiguredPolicy("bayes-index", "bayes-index")]}, (10, 50))
    cells = {(row.row, row.column): row for row in table(EFFORT).rows}
    assert cells["optimal", "0.3/1.0 t=50"].value == pytest.approx(29.625, abs=0.01)
    assert cells["optimal", "0.3/1.0 t=50"].stderr is None
    learner = cells["bayes-index", "0.3/1.0 t=50"]
    assert learner.value is not None
    assert 15 < learner.value < 45


def test_a_table_of_spreads():
    world = Environment(pages=2, alpha=0.75, beta=1.0, noise=0.2, name="0.75/0.38")
    table = SpreadTable({world: [ConfiguredPolicy("ucb", "gpoks-ucb")]}, 50, extremes=True)
    cells = {(row.row, row.column): row for row in table(EFFORT).rows}
    assert cells["ucb", "variance 0.75/0.38 σ=0.2 t=50"].stderr
    least, most = (cells["ucb", f"{name} 0.75/0.38 σ=0.2 t=50"].value for name in ("min", "max"))
    assert least < most
