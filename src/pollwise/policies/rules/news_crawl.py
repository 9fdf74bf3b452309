"""The schedule of Common Crawl's news crawl.

It is that of StormCrawler (`pollwise.policies.rules.stormcrawler`), with intervals that shorten
slowly and may grow long: increase 0.5, decrease 0.2, starting at twelve hours (a feed), between 90
minutes and 90 days.

Source: commoncrawl/news-crawl, `conf/crawler-conf.yaml`.
"""

from pollwise.policies.rules.kernels import ADAPT
from pollwise.policies.rules.policy import IntervalRule
from pollwise.units import DAY, HOUR, MINUTE

__all__ = ["NewsCrawl"]


class NewsCrawl(IntervalRule):
    """After a change a fifth of the way to the least interval, otherwise half as long again.

    `minimum` and `maximum` of the interval are in seconds; `scale`: see `IntervalRule`.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = NewsCrawl(scale=1.0)
    >>> policy.add([Page(0, seen_at=0.0)])
    >>> policy.observe([Observation(0, 43200.0, Outcome.UNCHANGED)])
    >>> (policy.select(now=43200.0, limit=1).wake_at - 43200.0) / 3600.0
    18.0
    """

    name = "news-crawl"

    def __init__(
        self,
        *,
        minimum: float = 90 * MINUTE,
        maximum: float = 90 * DAY,
        scale: float | None = None,
    ) -> None:
        super().__init__(
            ADAPT,
            initial=12 * HOUR,
            minimum=minimum,
            maximum=maximum,
            scale=scale,
            increase=0.5,
            decrease=0.2,
            added=0.2 * minimum,
        )
