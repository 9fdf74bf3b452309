"""The adaptive fetch schedule of Apache Nutch.

After a poll that found a change the interval is T ← (1 - decrease) T, after one that found none
T ← (1 + increase) T, starting at 30 days, between a minute and 365 days. SYNC_DELTA brings polls in
step with changes: with δ the time since the latest change, T ← max(T, δ), and the next poll is in
T - synchronise δ.

Source: Apache Nutch, `org.apache.nutch.crawl.AdaptiveFetchSchedule`, whose own defaults for all
three rates are 0.2 (the configuration shipped with it has 0.4, 0.2 and 0.3). δ counts up to T here:
where T has reached its maximum, δ may be many times T, and the next poll would be in the past
(NUTCH-1564). The time of a change is the one that the server tells, else that of the poll.
"""

from pollwise.checks import is_real, require
from pollwise.policies.rules.kernels import ADAPT
from pollwise.policies.rules.policy import IntervalRule
from pollwise.units import DAY

__all__ = ["Nutch"]


class Nutch(IntervalRule):
    """Polls changed pages sooner and unchanged pages later, by constant factors.

    `increase`, `decrease` and `synchronise` are shares of the interval, from 0 and below
    1; `minimum` and `maximum` of the interval are in seconds; `scale`: see `IntervalRule`.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = Nutch(scale=1.0)
    >>> policy.add([Page(0, seen_at=0.0)])
    >>> policy.observe([Observation(0, 30 * 86400.0, Outcome.CHANGED)])
    >>> policy.select(now=30 * 86400.0, limit=1).wake_at / 86400.0
    54.0
    """

    name = "nutch"

    def __init__(
        self,
        *,
        increase: float = 0.2,
        decrease: float = 0.2,
        synchronise: float = 0.2,
        minimum: float = 60.0,
        maximum: float = 365 * DAY,
        scale: float | None = None,
    ) -> None:
        rates = {"increase": increase, "decrease": decrease, "synchronise": synchronise}
        for name, rate in rates.items():
            holds = is_real(rate) and 0.0 <= rate < 1.0
            require(f"nutch: {name}", rate, holds, "a share of the interval, from 0 and below 1")
        super().__init__(
            ADAPT, initial=30 * DAY, minimum=minimum, maximum=maximum, scale=scale, **rates
        )
