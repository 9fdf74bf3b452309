"""What a watch is about to do."""

from dataclasses import dataclass

from pollwise.policies.awaited import AwaitedPolicy
from pollwise.policies.base import LookingAhead
from pollwise.scheduler.scheduler import Scheduler

__all__ = ["Ahead", "NextPoll", "ahead"]


@dataclass(frozen=True, slots=True)
class NextPoll:
    """The page that will most likely be polled next, and in how many seconds.

    `host_is_polled`: its host has a poll under way, and `wait` is an estimate.
    """

    page_id: int
    wait: float
    host_is_polled: bool = False


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a watch is about to do.

    `next_poll` is None while polls under way or rests after failures come first. So many
    `first_copies` are still to come. While it is `compiling`, nothing but these is polled.
    """

    next_poll: NextPoll | None
    first_copies: int = 0
    compiling: bool = False


def ahead(scheduler: Scheduler, now: float) -> Ahead:
    """What comes next: a page in line for its host, or the one that the policy would name."""
    at = max(scheduler.budget_free_at, now)
    in_line = scheduler.next_in_line()
    first: tuple[float, int] | None = None
    policy = scheduler.policy
    page_id = policy.likely_next(at) if isinstance(policy, LookingAhead) else None
    if page_id is not None:
        first = scheduler.host_free_at(scheduler.scope_of(page_id), at), page_id
    if in_line is not None and (first is None or in_line[0] <= max(first[0], at)):
        first = max(in_line[0], at), in_line[1]
    next_poll = None
    if first is not None:
        is_polled = scheduler.host_is_polled(scheduler.scope_of(first[1]))
        next_poll = NextPoll(first[1], first[0] - now, is_polled)
    return Ahead(
        next_poll,
        scheduler.first_copies_left,
        isinstance(policy, AwaitedPolicy),
    )
