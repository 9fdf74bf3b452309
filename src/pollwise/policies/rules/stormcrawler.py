"""The adaptive scheduler of StormCrawler.

After a poll that found a change the interval is T ← (1 - decrease) T + decrease T_min, after one
that found none T ← min((1 + increase) T, T_max).

Source: Apache StormCrawler, `AdaptiveScheduler`, with its defaults: increase and decrease 0.5,
starting at a day, between an hour and two weeks.
"""

from pollwise.policies.rules.kernels import ADAPT
from pollwise.policies.rules.policy import IntervalRule
from pollwise.units import DAY, HOUR

__all__ = ["StormCrawler"]


class StormCrawler(IntervalRule):
    """After a change halfway to the least interval, otherwise half as long again.

    `minimum` and `maximum` of the interval are in seconds; `scale`: see `IntervalRule`.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = StormCrawler(scale=1.0)
    >>> policy.add([Page(0, seen_at=0.0)])
    >>> policy.observe([Observation(0, 86400.0, Outcome.CHANGED)])
    >>> (policy.select(now=86400.0, limit=1).wake_at - 86400.0) / 3600.0
    12.5
    """

    name = "stormcrawler"

    def __init__(
        self,
        *,
        minimum: float = HOUR,
        maximum: float = 14 * DAY,
        scale: float | None = None,
    ) -> None:
        super().__init__(
            ADAPT,
            initial=DAY,
            minimum=minimum,
            maximum=maximum,
            scale=scale,
            increase=0.5,
            decrease=0.5,
            added=0.5 * minimum,
        )
