"""The settings of Scrapy that begin with POLLWISE_; `InputError`s of one line for wrong ones."""

from pathlib import Path

from scrapy.settings import BaseSettings

from pollwise.errors import InputError
from pollwise.scheduler.budgets import parse_budget

__all__ = ["budget_of", "db_of", "skips_unchanged"]


def budget_of(settings: BaseSettings) -> str:
    """POLLWISE_BUDGET, as the command line takes it."""
    budget = settings.get("POLLWISE_BUDGET")
    if not isinstance(budget, str):
        raise InputError(
            f"POLLWISE_BUDGET is {budget!r}: say how many polls there may be, such as '500/hour'"
        )
    try:
        parse_budget(budget)
    except InputError as error:
        raise InputError(f"POLLWISE_BUDGET: {error}") from None
    return budget


def db_of(settings: BaseSettings) -> Path:
    """POLLWISE_DB, the file of the crawl."""
    db = settings.get("POLLWISE_DB")
    if not isinstance(db, str | Path) or not Path(db).name or "\0" in str(db):
        raise InputError(f"POLLWISE_DB is {db!r}: name the file of the crawl, such as 'crawl.db'")
    return Path(db)


def skips_unchanged(settings: BaseSettings) -> bool:
    """POLLWISE_SKIP_UNCHANGED; True unless it is set."""
    try:
        return settings.getbool("POLLWISE_SKIP_UNCHANGED", True)
    except ValueError:
        told = settings.get("POLLWISE_SKIP_UNCHANGED")
        raise InputError(f"POLLWISE_SKIP_UNCHANGED is {told!r}: give True or False") from None
