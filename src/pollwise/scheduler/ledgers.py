"""The ledger of a shared budget as it is kept between two reports, each made by another process."""

from pollwise.scheduler.budgets import parse_budget
from pollwise.scheduler.prices import Allotment, ShardedBudget, ShardReport

__all__ = ["LEASE", "confirm_allotment", "leave_ledger", "new_ledger", "read_ledger", "take_report"]

LEASE = 60.0
"""Seconds for which a shard may spend what it was given."""


def new_ledger(begun_at: float = 0.0) -> str:
    """One of no shard yet. Nobody holds to an earlier one by `begun_at` + `LEASE` (UTC seconds)."""
    return ShardedBudget(1.0, lease=LEASE, begun_at=begun_at).state()


def read_ledger(text: str, budget: str) -> ShardedBudget:
    """The ledger as it was kept, with the budget that holds now; errors as for its parts."""
    ledger = ShardedBudget(1.0, lease=LEASE, begun_at=0.0)
    ledger.load_state(text)
    pages = sum(report.pages for report, _ in ledger.told())
    ledger.rate = parse_budget(budget, "the budget of all shards,").total(max(pages, 1))
    return ledger


def take_report(text: str, budget: str, report: ShardReport, now: float) -> tuple[str, Allotment]:
    """The ledger to keep after a report at the time `now` (UTC seconds), and what it answers."""
    ledger = read_ledger(text, budget)
    allotment = ledger.report(report, now)
    return ledger.state(), allotment


def confirm_allotment(text: str, budget: str, shard: str, rate: float, alone: float) -> str:
    """The ledger to keep once a shard holds to what it was given: see `ShardedBudget.confirm`."""
    ledger = read_ledger(text, budget)
    ledger.confirm(shard, rate, alone)
    return ledger.state()


def leave_ledger(text: str, budget: str, shard: str) -> str:
    """The ledger to keep after a shard has surely stopped: see `ShardedBudget.leave`."""
    ledger = read_ledger(text, budget)
    ledger.leave(shard)
    return ledger.state()
