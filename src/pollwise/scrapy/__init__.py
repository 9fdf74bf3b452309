"""Scrapy spiders that come back to pages when they are likely to have changed (extra `scrapy`)."""

from pollwise.extras import require_extra

require_extra("scrapy", "pollwise.scrapy")

from pollwise.scrapy.addon import Addon  # noqa: E402
from pollwise.scrapy.middleware import Middleware, polled  # noqa: E402
from pollwise.scrapy.scheduler import Scheduler  # noqa: E402
from pollwise.scrapy.spider_middleware import SpiderMiddleware  # noqa: E402

__all__ = ["Addon", "Middleware", "Scheduler", "SpiderMiddleware", "polled"]
