"""The schedule of the feed reader NewsBlur, by tiers of the number of new items.

For pages, a change is one item, seen at the time of the poll.

Source: NewsBlur, `Feed.get_next_scheduled_update`. Its random addition of up to a quarter, which
spreads its load, is left out: the queue spreads pages.
"""

from pollwise.checks import is_real, require
from pollwise.policies.rules.kernels import TIERS
from pollwise.policies.rules.policy import IntervalRule
from pollwise.units import DAY, MINUTE

__all__ = ["NewsBlur"]


class NewsBlur(IntervalRule):
    """Polls by tiers of the number of items a day in the latest 30 days, and of subscribers.

    ==================  ================  ==================  ==================
    items a day         10 < subscribers  1 < subscribers     subscribers ≤ 1
    ==================  ================  ==================  ==================
    1 or more           6 minutes         15 minutes          60 minutes
    some, n a day       60 (1 - n)        60 (1 - n)          720 (1 - n)
    none                6 hours           6 hours             12 hours; below 1: 24 hours
    ==================  ================  ==================  ==================

    Without items, this is multiplied by the months since the latest item (at least 1), up to 12
    hours, or 48 hours with less than one subscriber. A subscriber who pays counts as 1, one who
    does not as 0.1. `scale`: see `IntervalRule`.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = NewsBlur(scale=1.0)
    >>> policy.add([Page(0, seen_at=0.0)])
    >>> policy.observe([Observation(0, 86400.0, Outcome.CHANGED, n_items=15)])
    >>> (policy.select(now=86400.0, limit=1).wake_at - 86400.0) / 3600.0
    6.0
    """

    name = "newsblur"

    def __init__(self, *, subscribers: float = 0.1, scale: float | None = None) -> None:
        holds = is_real(subscribers) and 0.0 <= subscribers < float("inf")
        demand = "a finite number of at least 0; 0.1 is one who does not pay"
        require("newsblur: subscribers", subscribers, holds, demand)
        longest = 720 * MINUTE if subscribers >= 1 else 2880 * MINUTE
        super().__init__(
            TIERS,
            initial=min(DAY, longest),
            minimum=MINUTE,
            maximum=longest,
            scale=scale,
            window=30 * DAY,
            subscribers=subscribers,
        )
