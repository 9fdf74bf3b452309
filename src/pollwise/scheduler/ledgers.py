"""The ledger of a shared budget as it is kept between two reports, each made by another process."""

from pollwise.scheduler.budgets import parse_budget
from pollwise.scheduler.prices import Allotment, ShardedBudget, ShardReport

__all__ = ["LEASE", "new_ledger", "read_ledger", "take_report"]

LEASE = 60.0
"""Seconds for which a shard may spend what it was given."""


def new_ledger() -> str:
    """One of no shard yet, which nobody holds to."""
    return _ledger().state()


def read_ledger(text: str, budget: str) -> ShardedBudget:
    """The ledger as it was kept, with the budget that holds now; errors as for its parts."""
    ledger = _ledger()
    ledger.load_state(text)
    pages = sum(report.pages for report, _ in ledger.told())
    ledger.rate = parse_budget(budget).total(max(pages, 1))
    return ledger


def take_report(text: str, budget: str, report: ShardReport, now: float) -> tuple[str, Allotment]:
    """The ledger to keep after a report at the time `now` (UTC seconds), and what it answers."""
    ledger = read_ledger(text, budget)
    allotment = ledger.report(report, now)
    return ledger.state(), allotment


def _ledger() -> ShardedBudget:
    # It has known its shards from the beginning, so it need not wait to hear of them.
    return ShardedBudget(1.0, lease=LEASE, begun_at=-LEASE)
