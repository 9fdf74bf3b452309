"""What the overview tells of the days to come and of those that were: it takes long to work out."""

from dataclasses import dataclass

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.charts.daily_bars import Day
from pollwise.dashboard.kept import Kept
from pollwise.insight.evidence import Evidence
from pollwise.insight.measured import Measured, measured_of
from pollwise.insight.plan import Plan, plan_of
from pollwise.insight.snapshot import Snapshot
from pollwise.insight.status import Outlook, outlook_of
from pollwise.store import Store
from pollwise.store.base import StoreReader
from pollwise.units import DAY

__all__ = ["Ahead", "Foreseen", "ahead_of", "foreseen", "is_outgrown", "latest_days"]

_DAYS = 14


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What is expected, of what budgets, and what the latest day brought.

    `plan` has a curve. Both it and the `outlook` are None as long as the `evidence` does not
    suffice. `as_of` is the time of the snapshot (UTC seconds).
    """

    as_of: float
    evidence: Evidence
    outlook: Outlook | None
    plan: Plan | None
    day: Measured | None


Ahead = Kept[Foreseen | None]
"""The latest of it."""


def ahead_of(answers: Answers) -> Ahead:
    """What is foreseen of what is answered from; early in a run it is soon another one."""
    return Ahead(answers, foreseen, is_urgent=is_outgrown)


def is_outgrown(made: Foreseen | None, snapshot: Snapshot) -> bool:
    """Whether twice as many polls have told something since it was made, or the first that do."""
    if made is None or snapshot.known is None:
        return False
    before, now = made.evidence, snapshot.known.evidence
    return now.suffices and (not before.suffices or now.polls >= 2 * before.polls)


def foreseen(snapshot: Snapshot) -> Foreseen | None:
    """What is foreseen of a watch; None: it was never watched, or is a collection."""
    known = snapshot.known
    if known is None:
        return None
    with Store.open_readonly(snapshot.database) as store:
        day = measured_of(known, store, 1.0)
    return Foreseen(
        as_of=snapshot.read_at,
        evidence=known.evidence,
        outlook=outlook_of(known),
        plan=plan_of(known, curve=True) if known.evidence.suffices else None,
        day=day,
    )


def latest_days(store: StoreReader, now: float) -> tuple[Day, ...]:
    """The changes of content on each of the latest days, today last, from the first with any."""
    today = now - now % DAY
    begins = [today - days * DAY for days in range(_DAYS - 1, -1, -1)]
    since = [store.count_changes(since=begin, of_content=True)[0] for begin in begins]
    found = [one - other for one, other in zip(since, [*since[1:], 0], strict=True)]
    days = [Day(begin, number) for begin, number in zip(begins, found, strict=True)]
    while len(days) > 1 and days[0].found == 0:
        del days[0]
    return tuple(days)
