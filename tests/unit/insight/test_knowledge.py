"""What a database knows: how wild the past was, and what is to be expected."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from pollwise.insight.dispersion import POISSON
from pollwise.insight.knowledge import read_knowledge
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory

DAY = 86_400.0
PAGES = 30


def watched(path: Path, changed: np.ndarray) -> None:
    """All pages polled once a day, `changed[day, page]` says with what outcome."""
    with Store.open(path) as store:
        pages = store.add_pages([NewPage(f"http://a/{i}") for i in range(PAGES)], now=0.0)
        policy = BayesianIndex()
        policy.add(pages)
        store.start_run(0.0, {"budget": "1/day/page", "objective": "detection"}, b"")
        for day, row in enumerate(changed):
            seen = [
                Observation(i, day * DAY, Outcome.CHANGED if one else Outcome.UNCHANGED)
                for i, one in enumerate(row)
            ]
            policy.observe(seen)
            polls = tuple(PollResult(one, PageMemory()) for one in seen)
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


def test_without_polls_nothing_is_known_of_the_past(tmp_path):
    watched(tmp_path / "new", np.empty((0, PAGES)))
    assert read_knowledge(tmp_path / "new").spread(DAY) == POISSON
