"""A ledger that is kept between two reports answers as one that stays."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError, StateError
from pollwise.scheduler.ledgers import LEASE, leave_ledger, new_ledger, read_ledger, take_report
from pollwise.scheduler.prices import ShardedBudget, ShardReport

rates = st.one_of(st.just(0.0), st.floats(1e-6, 20.0))
reports = st.builds(
    ShardReport,
    shard=st.sampled_from("abc"),
    price=st.one_of(st.none(), st.floats(1e-6, 1e6)),
    capacity=st.one_of(st.just(float("inf")), st.floats(0.0, 100.0)),
    pages=st.integers(0, 10_000),
    rate=rates,
    alone=rates,
)


@given(st.lists(st.tuples(reports, st.floats(0.0, 2 * LEASE)), max_size=12))
def test_what_is_kept_between_reports_changes_no_answer(
    told: list[tuple[ShardReport, float]],
) -> None:
    whole = ShardedBudget(10.0, lease=LEASE, begun_at=1e9)
    kept, now = new_ledger(1e9), 1e9
    for report, later in told:
        now += later
        kept, allotment = take_report(kept, "10/second", report, now)
        assert allotment == whole.report(report, now)
        assert read_ledger(kept, "10/second").state() == whole.state()


def test_a_budget_for_each_page_counts_those_of_all_shards() -> None:
    report = ShardReport("a", None, capacity=1e9, pages=30)
    kept, _ = take_report(new_ledger(), "2/second/page", report, 1e9)
    kept, _ = take_report(kept, "2/second/page", replace(report, shard="b", pages=70), 1e9)
    assert read_ledger(kept, "2/second/page").rate == 200.0


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told.pop("shards"),
        lambda told: told.update(begun_at=None),
        lambda told: told.update(price="x"),
        lambda told: told["shards"][0][1].__setitem__(0, "x"),
        lambda told: told["shards"][0][1].__setitem__(1, float("nan")),
        lambda told: told["shards"][0].pop(),
        lambda told: told["shards"][0][0].__setitem__(4, -1.0),
        lambda told: told["shards"][0][0].append(1),
        lambda told: told["shards"][0].__setitem__(1, None),
    ],
)
def test_one_that_is_damaged_is_told(change) -> None:
    kept, _ = take_report(new_ledger(), "1/second", ShardReport("a", 1.0, 1.0, 1), 1e9)
    told = json.loads(kept)
    change(told)
    with pytest.raises(StateError, match="the ledger of the shards is damaged"):
        read_ledger(json.dumps(told), "1/second")


def test_one_that_left_is_forgotten() -> None:
    kept = new_ledger()
    for shard in "ab":
        kept, _ = take_report(kept, "1/second", ShardReport(shard, 1.0, 1.0, 1), 1e9)
    left = read_ledger(leave_ledger(kept, "1/second", "a"), "1/second")
    assert [report.shard for report, _ in left.told()] == ["b"]
    assert leave_ledger(kept, "1/second", "c") == kept


@pytest.mark.parametrize(
    ("shard", "pages", "part"), [("a", 10, 0.25), ("c", 40, 0.5), ("c", 0, 1 / 3), ("a", 0, 0.5)]
)
def test_a_fair_part_goes_by_pages(shard: str, pages: int, part: float) -> None:
    budget = ShardedBudget(8.0, lease=LEASE, begun_at=0.0)
    assert budget.fair(shard, pages) == 8.0, "alone"
    for name, own in (("a", 10), ("b", 30)):
        budget.report(ShardReport(name, None, 1.0, own), 1e9)
    assert budget.fair(shard, pages) == pytest.approx(8.0 * part)


@pytest.mark.parametrize("text", ["", "[]", "null", "{"])
def test_what_is_no_ledger_is_told(text: str) -> None:
    with pytest.raises(StateError, match="is damaged"):
        read_ledger(text, "1/second")


def test_a_budget_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="the budget of all shards, 'much'"):
        read_ledger(new_ledger(), "much")
