"""What is computed from samples."""

import numpy as np
import pytest

from pollwise.experiments.experiment import Effort, Experiment, Row
from pollwise.experiments.judging import leads_the_table
from pollwise.experiments.learning import Learned, checkpoints_to, classical_scores, learn
from pollwise.experiments.reward_table import RewardTable
from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.experiments.score_figure import ScoreFigure
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


def test_polls_to_a_score_count_from_where_it_stays():
    """A lucky moment before is not it."""
    assert learned([0.9, 0.1, 0.9, 0.95]).polls_to("a", 0.9) == 30
    assert learned([0.9, 0.9], [0.9, 0.95]).polls_to("a", 0.9) == 10
    assert learned([0.9, 0.8]).polls_to("a", 0.9) is None
    rows = learned([0.5, 0.5924]).rows_to_share("0.3/1.0")
    assert rows == [Row("a", "0.3/1.0 polls to 90 %", 20)]


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


def test_a_table_has_the_classical_rows_and_the_published_values():
    table = RewardTable(
        environments=[WORLD],
        learners=[ConfiguredPolicy("bayes-index", "bayes-index")],
        horizons=(10, 50),
    )
    assert table.last_columns == ["0.3/1.0 t=50"]
    experiment = Experiment(
        title="",
        source="",
        claim="",
        play=table,
        published={("bayes-index", "0.3/1.0 t=50"): 25.0},
        verdict=leads_the_table("bayes-index", ["uniform"], table.last_columns),
        remark="Odd.",
    )
    measured = experiment.measure(EFFORT)
    finding = experiment.finding(measured)
    cells = {(row.row, row.column): row for row in measured.rows}
    assert cells["optimal", "0.3/1.0 t=50"].value == pytest.approx(29.625, abs=0.01)
    assert cells["optimal", "0.3/1.0 t=50"].stderr is None
    learner = cells["bayes-index", "0.3/1.0 t=50"]
    assert learner.published == 25.0
    assert learner.value is not None
    assert 15 < learner.value < 45
    assert f"bayes-index, 0.3/1.0 t=50: {learner.value / 25.0 - 1:+.1%}" in finding
    assert finding.endswith("Odd.")
    assert ("bayes-index", "0.3/1.0 polls to 90 %") in cells


def test_in_real_web_polling_the_classical_rows_are_played():
    world = Environment(pages=8, alpha=0.3, beta=1.0, polling=True)
    learners = [ConfiguredPolicy("bayes-index", "bayes-index")]
    table = RewardTable(environments=[world], learners=learners, horizons=(20, 400))
    cells = {(row.row, row.column): row for row in table(EFFORT).rows}
    best, uniform = (cells[name, "0.3/1.0 t=400"] for name in ("optimal", "uniform"))
    assert best.stderr is not None
    assert best.value == pytest.approx(0.5925 * 400, rel=0.05)
    assert uniform.value == pytest.approx(0.4987 * 400, rel=0.03)


def test_a_figure_has_curves_levels_and_a_judgement():
    figure = ScoreFigure(
        environment=WORLD,
        learners=[ConfiguredPolicy("bayes-index", "bayes-index")],
        marks=(100, 200),
    )
    experiment = Experiment(
        title="",
        source="",
        claim="",
        play=figure,
        verdict=lambda measured: f"{measured.value('bayes-index', '100 polls'):.3f}",
    )
    measured = experiment.measure(EFFORT)
    (curve,) = measured.curves
    assert curve.label == "bayes-index"
    assert curve.x[-1] == 200.0
    assert measured.levels == classical_scores(WORLD)
    mark = next(row for row in measured.rows if row.row == "bayes-index")
    assert mark.column == "100 polls"
    assert experiment.finding(measured) == f"{mark.value:.3f}"
