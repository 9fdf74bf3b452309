"""The settings of a run, checked once; they make its policy, budget and scheduler.

They come from the command line or from the store, which keeps those of every run: `recorded` gives
what it keeps, `latest_settings` reads it.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from pollwise.checks import require_share, require_whole
from pollwise.errors import InputError, StoreError
from pollwise.fetch_settings import FetchSettings
from pollwise.listen_settings import check_listening
from pollwise.objectives import Ephemeral, objective
from pollwise.policies.base import Policy, Sharing
from pollwise.policies.catalogue import COLLECTING, WATCHING, CollectingSetting, Setting
from pollwise.quiet_hours import QuietHours
from pollwise.relevance.topic import Topic
from pollwise.scheduler.bounds import Bounds, read_bounds
from pollwise.scheduler.budgets import parse_budget, parse_shares
from pollwise.scheduler.scheduler import Scheduler
from pollwise.store.base import StoreReader
from pollwise.store.place import Place
from pollwise.store.retention import parse_retention
from pollwise.types import Budget
from pollwise.units import DAY

__all__ = [
    "WATCHING_LINE",
    "CollectSettings",
    "Settings",
    "WatchSettings",
    "damaged_run",
    "is_collection",
    "latest_settings",
    "read_settings",
    "told_alone",
]

_SEED = 0
_LEASE = DAY
"""Seconds: longer than any poll of a collection waits for its host, sitemaps and the response
queue. After the lease, a second poll of the host could begin beside the first."""
_MOST_WORKERS = 64
"""Each is a process: many more than there are cores only take the memory of the machine."""
WATCHING_LINE = 16
"""Pages of a watch that may wait for a busy host: the policy chooses among them whenever it is
free, and with more of them those of the smallest index would wait for very long."""
_LINE = 1
"""Pages that may wait for a busy host of a collection: the robot had better choose anew each time,
by what it has learned."""
_NO_TOPIC = Topic()
_NONE = "none"
"""No bound."""
_CHECKED_TOGETHER = (
    *("groups", "host_limits", "objective", "parameters"),
    *("listen", "listen_token", "public_url"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings(FetchSettings):
    """How `pollwise watch` is to watch; see `FetchSettings` for how it fetches.

    `budget` is text such as 500/hour, `objective` a name with its `parameters` (such as decay, for
    ephemeral). `revert_worth` (0 to 1): see `BayesianIndex`; `not_modified_cost` (0 to 1): see
    `WebPoller`. `at_least` and `at_most` say how often each page is polled that says nothing else
    itself: frequencies such as 1/week, or none. `notify` are targets of notices, without secrets:
    see `pollwise.notify.receivers`. `first_copies` is a budget too, for pages never polled: see
    `Scheduler`. `keep` says which versions of pages are kept, as `parse_retention` reads it;
    `allow_private`: redirects may lead to any address, see `HttpFetcher`. `quiet` are times of the
    day in which nothing is polled, see `QuietHours`. `shares` are those of tags in the budget, such
    as shop=30%. `listen`, `listen_token` (where it is) and `public_url` say where others may tell
    of changes: see `check_listening`. `InputError` for values out of range.
    """

    budget: str = "60/hour"
    objective: str = "freshness"
    parameters: Mapping[str, float] = field(default_factory=dict)
    revert_worth: float = 1.0
    not_modified_cost: float = 1.0
    keep: str = "all"
    allow_private: bool = False
    first_copies: str = "1/second"
    at_least: str = _NONE
    at_most: str = _NONE
    notify: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()
    listen: str = ""
    listen_token: str = ""
    public_url: str = ""

    def __post_init__(self) -> None:
        FetchSettings.__post_init__(self)
        parse_budget(self.budget)
        parse_budget(self.first_copies, "first-copies")
        parse_shares(self.shares)
        check_listening(self.listen, self.listen_token, self.public_url)
        self._bounds()
        self.quiet_hours()
        parse_retention(self.keep)
        if self.parameters and self.objective != Ephemeral.name:
            raise InputError(
                f"--half-life is for --objective {Ephemeral.name}, not {self.objective}: give both"
                " or neither"
            )
        objective(self.objective, **self.parameters)
        require_share("watch", "revert_worth", self.revert_worth)
        require_share("watch", "not_modified_cost", self.not_modified_cost)

    def policy(self, pages: int) -> Policy:
        """A new policy for about so many pages."""
        aim = objective(self.objective, **self.parameters)
        setting = Setting(aim, budget=parse_budget(self.budget).total(pages), pages=pages)
        policy = WATCHING.choose(WATCHING.default, revert_worth=self.revert_worth).make(setting)
        assert isinstance(policy, Sharing)  # the default
        policy.share_out(parse_shares(self.shares), {})
        return policy

    def scheduler(self, pages: int, policy: Policy | None = None) -> Scheduler:
        """A new scheduler for so many pages, with this policy; None: a new one."""
        return self._scheduler(pages, policy, parse_budget(self.first_copies).budget(pages))

    def scheduler_without_first_copies(self, pages: int) -> Scheduler:
        """A new one whose policy is told of all pages at once, to look at what it knows."""
        return self._scheduler(pages, None, None)

    def _scheduler(
        self, pages: int, policy: Policy | None, first_copies: Budget | None
    ) -> Scheduler:
        return Scheduler(
            self.policy(pages) if policy is None else policy,
            parse_budget(self.budget).budget(pages),
            line=WATCHING_LINE,
            crawl_delay=self.crawl_delay,
            first_copies=first_copies,
            bounds=self._bounds(),
            groups=self.shared_scopes(),
            limits=self.limit_rates(),
        )

    def quiet_hours(self) -> QuietHours:
        """When nothing is polled."""
        return QuietHours(self.quiet)

    def _bounds(self) -> Bounds:
        longest, shortest = read_bounds(
            *(None if text == _NONE else text for text in (self.at_least, self.at_most))
        )
        return Bounds(math.inf if longest is None else longest, shortest or 0.0, automatic=True)

    @classmethod
    def read(cls, recorded: Mapping[str, Any]) -> Self:
        """From what the store kept; what earlier versions did not keep has its default."""
        return cls(**cls.read_fields(recorded))


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectSettings(FetchSettings):
    """How `pollwise collect` is to collect; see `FetchSettings` for how it fetches.

    `budget` is text such as 2/second. `topic` is what the collection is about, `subject` its name
    for people (both empty: not given). `requests` ends the run after so many polls (None: never).
    `allow` and `deny` are regular expressions on URLs, `max_depth` counts links from a seed.
    `workers` is the number of processes that read responses. `keep` says which versions of pages
    are kept, as `parse_retention` reads it; `allow_private`: links may lead to any address, see
    `HttpFetcher`; `given` are the politeness scopes that were named as seeds, which may have any,
    `given_plain` those of http URLs among them. The store keeps all but `requests` and `workers`,
    which hold for one run. `InputError` for an unusable budget, crawl delay, number of workers or
    `keep`.
    """

    OF_ONE_RUN: ClassVar[tuple[str, ...]] = ("requests", "workers")

    budget: str = "1/second"
    topic: Topic = _NO_TOPIC
    subject: str = ""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    max_depth: int | None = None
    pages_per_host: int | None = None
    requests: int | None = None
    workers: int = 1
    keep: str = "all"
    allow_private: bool = False
    given: tuple[str, ...] = ()
    given_plain: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        FetchSettings.__post_init__(self)
        parse_retention(self.keep)
        require_whole("collect", "workers", self.workers, least=1, most=_MOST_WORKERS)
        if parse_budget(self.budget).per_page:
            raise InputError(
                f"budget {self.budget!r}: the pages of a collection are not known beforehand; give"
                " a budget for all of them, such as 2/second"
            )

    def policy(self, pages: int) -> Policy:
        """A new policy, whatever the number of pages."""
        return COLLECTING.choose(COLLECTING.default).make(CollectingSetting(seed=_SEED))

    def scheduler(self, pages: int) -> Scheduler:
        """A new scheduler with a new policy; the budget does not depend on the number of pages."""
        return Scheduler(
            self.policy(pages),
            parse_budget(self.budget).budget(pages),
            lease=_LEASE,
            crawl_delay=self.crawl_delay,
            line=_LINE,
            groups=self.shared_scopes(),
            limits=self.limit_rates(),
        )

    @classmethod
    def read(cls, recorded: Mapping[str, Any]) -> Self:
        """From what the store kept; what earlier versions did not keep has its default."""
        kept = recorded["topic"]
        topic = Topic(tuple(kept["words"]), tuple(kept["examples"]), kept["judge"])
        silent = ("topic", *cls.OF_ONE_RUN)
        told = {n: value for n, value in cls.read_fields(recorded).items() if n not in silent}
        return cls(topic=topic, **told)


Settings = WatchSettings | CollectSettings


def read_settings(recorded: Mapping[str, Any]) -> Settings:
    """The settings of a run, from what the store kept; `StoreError` if that is damaged."""
    try:
        if recorded.get("topic") is not None:
            return CollectSettings.read(recorded)
        return WatchSettings.read(recorded)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(
            "the settings of the run are damaged: restore a copy of the database"
        ) from error


def is_collection(store: StoreReader) -> bool:
    """Whether the latest run collected, whatever else is kept of it."""
    runs = store.runs()
    return (
        bool(runs) and isinstance(runs[-1].settings, dict) and bool(runs[-1].settings.get("topic"))
    )


def latest_settings(store: StoreReader) -> Settings | None:
    """The settings of the latest run with those changed since, which hold for the next one.

    None: there was neither. `StoreError` if they are damaged.
    """
    runs = store.runs()
    changed = store.changed_settings()
    if not (runs or changed):
        return None
    try:
        return read_settings({**(runs[-1].settings if runs else {}), **changed})
    except StoreError as error:
        raise StoreError(f"{store.path}: {error}") from error


def told_alone(told: Mapping[str, Any], db: Place) -> dict[str, Any]:
    """What was told that can be checked before the settings in the database are known, if any.

    Limits may be for groups of the run before, and a half-life for its objective.
    """
    # `Path.exists` raises an error in a folder that may not be entered. No server is asked here.
    is_new = isinstance(db, Path) and not os.path.exists(db)
    known_later = () if is_new else _CHECKED_TOGETHER
    return {name: value for name, value in told.items() if name not in known_later}


def damaged_run(db: Place) -> StoreError:
    """The error of a database whose last run cannot be taken up again."""
    return StoreError(
        f"{db}: what its last run left is damaged: restore a copy, or use another file"
    )
