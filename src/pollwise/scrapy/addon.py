"""The add-on: all of pollwise in one line of settings."""

from scrapy.settings import BaseSettings

from pollwise.scrapy.middleware import Middleware
from pollwise.scrapy.scheduler import Scheduler
from pollwise.scrapy.settings import budget_of, db_of, skips_unchanged
from pollwise.scrapy.spider_middleware import SpiderMiddleware

__all__ = ["PLACE", "PLACE_OF_OUTPUT", "Addon"]

PLACE = 75
"""Of the middleware: between the one for other sites (50) and that for robots.txt (100)."""
PLACE_OF_OUTPUT = 10
"""Of the spider middleware: nearer to the engine than those of Scrapy."""


class Addon:
    """Puts the scheduler and both middlewares into the settings, unless they are there.

    `InputError` if the settings POLLWISE_... are wrong.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Scrapy calls it before anything else is made."""
        budget_of(settings)
        db_of(settings)
        skips_unchanged(settings)
        settings.set("SCHEDULER", Scheduler, priority="addon")
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", Middleware, PLACE)
        settings.setdefault_in_component_priority_dict(
            "SPIDER_MIDDLEWARES", SpiderMiddleware, PLACE_OF_OUTPUT
        )
