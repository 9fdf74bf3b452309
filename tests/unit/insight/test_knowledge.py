"""What a database knows: how wild the past was, and what is to be expected."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.insight.dispersion import POISSON
from pollwise.insight.evidence import Evidence
from pollwise.insight.knowledge import read_knowledge
from pollwise.insight.plan import plan_of, read_plan
from pollwise.insight.status import read_status
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Noise, Observation, Outcome, PageMemory

DAY = 86_400.0
PAGES = 30


def watched(path: Path, changed: np.ndarray) -> None:
    """All pages polled once a day, `changed[day, page]` says with what outcome."""
    with Store.open(path) as store:
        pages = store.add_pages([NewPage(f"http://a/{i}") for i in range(PAGES)], now=0.0)
        policy = BayesianIndex()
        policy.add(pages)
        store.start_run(0.0, {"budget": "1/day/page", "objective": "detection"}, b"")
        in_a_row = np.zeros(PAGES, int)
        for day, row in enumerate(changed):
            in_a_row = np.where(row, in_a_row + 1, 0)
            seen = [
                Observation(i, day * DAY, Outcome.CHANGED if one else Outcome.UNCHANGED)
                for i, one in enumerate(row)
            ]
            policy.observe(seen)
            memories = [PageMemory(noise=Noise(changes_in_a_row=n)) for n in in_a_row.tolist()]
            polls = tuple(map(PollResult, seen, memories))
            store.commit(Batch(polls=polls, learned=policy.state_dict()))


def test_clustered_changes_widen_the_forecast(tmp_path):
    rng = np.random.default_rng(1)
    calm = rng.random((48, PAGES)) < 0.1
    wild = np.repeat(rng.random((48, 1)) < 0.1, PAGES, axis=1)
    widths = []
    for name, changed in (("calm", calm), ("wild", wild)):
        watched(tmp_path / name, changed)
        known = dataclasses.replace(read_knowledge(tmp_path / name), now=48 * DAY)
        assert known.rate == pytest.approx(PAGES / DAY)
        forecast = known.forecast(7 * DAY).found_per_day
        assert 0.5 < forecast.mean < 8.0
        widths.append((forecast.high - forecast.low) / forecast.mean)
    assert widths[1] > 1.5 * widths[0]


def paused(path: Path, count: int) -> None:
    with Store.open(path) as store:
        store.add_pages([NewPage(f"http://a/{i}", paused=True) for i in range(count)], now=1.0)


def test_paused_pages_are_left_out_of_what_is_foreseen(tmp_path):
    """The first pages change every day, and the others never."""
    path, rest = tmp_path / "x", PAGES // 3
    watched(path, np.tile(np.arange(PAGES) < PAGES - rest, (20, 1)))
    settings = {"budget": "60/day", "at_most": "4/day"}
    with Store.open(path) as store:
        store.change_settings(settings)
    before = read_plan(path)
    assert before.bounds.slowed == PAGES - rest
    assert before.results[2].found_per_day.mean > 10.0
    paused(path, PAGES - rest)
    known = dataclasses.replace(read_knowledge(path), now=20 * DAY)
    assert known.forecaster.frequencies(known.rate) * DAY == pytest.approx([4.0] * rest)
    assert known.evidence == Evidence(polls=19 * rest, needed=40)
    assert known.forecast(DAY).found_per_day.mean < 5.0
    plan = read_plan(path)
    assert (plan.pages, plan.paused, plan.bounds.slowed) == (PAGES, PAGES - rest, 0)
    assert plan.results[2].polls_per_day == pytest.approx(4.0 * rest)
    assert plan.results[2].found_per_day.mean < 5.0


def test_of_pages_that_are_all_paused_nothing_is_foreseen(tmp_path):
    watched(tmp_path / "x", np.ones((20, PAGES), bool))
    paused(tmp_path / "x", PAGES)
    assert read_status(tmp_path / "x").forecast is None
    assert read_plan(tmp_path / "x").results is None
    with pytest.raises(
        InputError, match=r"all pages are paused: `pollwise resume URL --db .*` lets"
    ):
        read_plan(tmp_path / "x", freshness=0.5)


def test_without_polls_nothing_is_known_of_the_past(tmp_path):
    watched(tmp_path / "new", np.empty((0, PAGES)))
    assert read_knowledge(tmp_path / "new").spread(DAY) == POISSON


def test_what_is_planned_twice_is_worked_out_once(tmp_path):
    watched(tmp_path / "x", np.random.default_rng(1).random((48, PAGES)) < 0.1)
    known = read_knowledge(tmp_path / "x")
    first = plan_of(known)
    forecaster = known.forecaster
    del vars(known)["forecaster"]
    again = plan_of(known)
    assert "forecaster" not in vars(known)
    assert again == first == plan_of(read_knowledge(tmp_path / "x"))
    # The curve has the same figures, and those in between.
    assert set(map(id, first.results)) <= set(map(id, known.curve))
    assert known.found_without_bounds == pytest.approx(forecaster.found(known.rate))
