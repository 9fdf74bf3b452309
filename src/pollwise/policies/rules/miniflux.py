"""The schedule of the feed reader Miniflux, by the number of new items in a week.

For pages, a change is one item, seen at the time of the poll.

Source: Miniflux, `Feed.ScheduleNextCheck` with the scheduler `entry_frequency`, and its defaults:
factor 1, between 5 minutes and a day.
"""

from pollwise.checks import require_positive
from pollwise.policies.rules.kernels import COUNT
from pollwise.policies.rules.policy import IntervalRule
from pollwise.units import DAY, MINUTE

__all__ = ["Miniflux"]


class Miniflux(IntervalRule):
    """Polls as often as there are new items in a week: T = 7 days / (factor × items of the week).

    The interval is between `minimum` and `maximum` seconds; without items it is the maximum.
    `scale`: see `IntervalRule`.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = Miniflux(scale=1.0)
    >>> policy.add([Page(0, seen_at=0.0)])
    >>> policy.observe([Observation(0, 86400.0, Outcome.CHANGED, n_items=14)])
    >>> (policy.select(now=86400.0, limit=1).wake_at - 86400.0) / 3600.0
    12.0
    """

    name = "miniflux"

    def __init__(
        self,
        *,
        factor: float = 1.0,
        minimum: float = 5 * MINUTE,
        maximum: float = DAY,
        scale: float | None = None,
    ) -> None:
        require_positive("miniflux", "factor", factor)
        super().__init__(
            COUNT,
            initial=maximum,
            minimum=minimum,
            maximum=maximum,
            scale=scale,
            window=7 * DAY,
            factor=factor,
        )
