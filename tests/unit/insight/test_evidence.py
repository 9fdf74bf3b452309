"""Nothing is forecast from nothing: what status, plan and explain tell of a few polls."""

from pathlib import Path

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.insight.evidence import Evidence, of_page, of_pages
from pollwise.insight.explanation import Explanation, read_explanation
from pollwise.insight.plan import read_plan
from pollwise.insight.status import read_status
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version

HOUR, DAY = 3600.0, 86_400.0
URLS = ("http://a.example/", "http://b.example/gone")


def watched(db: Path, polls: int) -> None:
    """The first page after so many polls, of which the third found a change; the other is gone."""
    with Store.open(db) as store:
        pages = store.add_pages([NewPage(url) for url in URLS], now=0.0)
        policy = BayesianIndex()
        policy.add(pages)
        store.start_run(0.0, {"budget": "1/hour", "objective": "detection"}, b"")
        told = [PollResult(Observation(1, 1.0, Outcome.GONE), PageMemory())]
        for number in range(polls):
            outcome = Outcome.CHANGED if number in (0, 2) else Outcome.UNCHANGED
            seen = Observation(0, (number + 1) * HOUR, outcome)
            policy.observe([seen])
            version = Version(0, seen.polled_at, "text/html", b"%d" % number, f"{number:032x}")
            changed = outcome is Outcome.CHANGED
            told.append(PollResult(seen, PageMemory(), version if changed else None))
        store.commit(Batch(polls=tuple(told), learned=policy.state_dict()))


def watched_others(db: Path, others: int) -> float | None:
    """Pages that change once a day, and one never polled; what is told of pages like the latter."""
    rng = np.random.default_rng(1)
    with Store.open(db) as store:
        pages = store.add_pages([NewPage(f"http://a.example/{n}") for n in range(others + 1)], 0.0)
        policy = BayesianIndex()
        policy.add(pages)
        store.start_run(0.0, {"budget": "1/hour", "objective": "detection"}, b"")
        for number in range(40):
            found = rng.random(others) < -np.expm1(-6 * HOUR / DAY)
            policy.observe(
                [
                    Observation(n, number * 6 * HOUR, Outcome.CHANGED if one else Outcome.UNCHANGED)
                    for n, one in enumerate(found.tolist())
                ]
            )
        store.commit(Batch(learned=policy.state_dict()))
    page = read_explanation(db, f"http://a.example/{others}")
    assert isinstance(page, Explanation)
    return page.learned_from.prior_changes_per_day


def explained(db: Path) -> Explanation:
    answer = read_explanation(db, URLS[0])
    assert isinstance(answer, Explanation)
    return answer


def test_the_polls_needed():
    assert of_pages([1, 0]) == Evidence(polls=1, needed=40)
    assert of_pages([1] * 500) == Evidence(polls=500, needed=500)
    assert of_pages([1] * 500).suffices
    assert not of_page(6).suffices
    assert of_page(7).suffices


def test_of_a_few_polls_nothing_is_told(tmp_path):
    db = tmp_path / "few.db"
    watched(db, polls=4)
    status = read_status(db)
    assert (status.evidence, status.forecast) == (Evidence(polls=3, needed=40), None)
    plan = read_plan(db)
    assert (plan.evidence, plan.results) == (Evidence(polls=3, needed=40), None)
    for asked in ({"freshness": 0.9}, {"curve": True}):
        with pytest.raises(InputError, match=r"3 polls told something, about 40 are needed"):
            read_plan(db, **asked)
    page = explained(db)
    assert page.changes_per_day is page.changes_per_day_between is page.chance is None
    learned = page.learned_from
    assert (learned.polls, learned.polls_needed, learned.prior_changes_per_day) == (3, 7, None)


def test_after_enough_polls_all_is_told(tmp_path):
    db = tmp_path / "enough.db"
    watched(db, polls=41)
    status = read_status(db)
    assert status.evidence == Evidence(polls=40, needed=40)
    assert status.forecast is not None
    plan = read_plan(db, freshness=0.5, curve=True)
    assert plan.results is not None
    assert plan.wanted is not None
    page = explained(db)
    assert page.changes_per_day is not None
    assert page.chance is not None
    # Of pages like it nothing is known: no other one was there.
    assert page.learned_from.prior_changes_per_day is None


def test_a_first_copy_is_no_change_and_gone_pages_are_counted(tmp_path):
    db = tmp_path / "x.db"
    watched(db, polls=1)
    status = read_status(db)
    assert (status.gone, status.changes, status.last_changes) == (1, 0, ())
    assert [poll.first_copy for poll in explained(db).recent] == [True]
    (tmp_path / "y").mkdir()
    watched(tmp_path / "y" / "x.db", polls=3)
    assert [p.first_copy for p in explained(tmp_path / "y" / "x.db").recent] == [False, False, True]
    [changed] = read_status(tmp_path / "y" / "x.db").last_changes
    assert (changed.url, changed.changes) == (URLS[0], 1)


def test_of_pages_like_another_a_believable_rate_is_told_or_none(tmp_path):
    # The mean would be thousands a day: few polls exclude that a page changes all the time.
    assert watched_others(tmp_path / "one.db", 1) is None
    assert watched_others(tmp_path / "four.db", 4) is None
    told = watched_others(tmp_path / "five.db", 5)
    assert told is not None
    assert 0.5 < told < 2.0
