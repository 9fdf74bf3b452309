"""A schedule for a loop of one's own: what to poll next, and what each poll found.

>>> schedule = Schedule(budget="500/hour")
>>> schedule.add(["https://example.org/", "https://example.org/news"], now=0.0)
>>> schedule.next(now=0.0)
'https://example.org/'
>>> schedule.record("https://example.org/", changed=True, now=1.0)
>>> print(schedule.next(now=1.0))
None
>>> round(schedule.wait(now=1.0), 1)
6.2
"""

import math
import os
import stat
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from pollwise.checks import is_finite, require, require_object, require_positive, require_whole
from pollwise.errors import InputError, StateError
from pollwise.events import Added, Event, HostBlocked, Poll, Polled, Removed, Staffed, Together
from pollwise.export.draft import draft
from pollwise.kinds import kind_of
from pollwise.live.clock import LiveClock
from pollwise.objectives import Objective
from pollwise.objectives import objective as objective_of
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.policies.rehearsal import rehearsal
from pollwise.scheduler.bounds import Bounds, read_bounds
from pollwise.scheduler.budgets import parse_budget
from pollwise.scheduler.packing import pack, unpack
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import WATCHING_LINE
from pollwise.times import Moment, parse_time, time_of
from pollwise.types import Observation, Outcome, Page, StateDict
from pollwise.web.headers import parse_http_date, parse_retry_after
from pollwise.web.urls import canonical, scope_of

if TYPE_CHECKING:
    from pollwise.policies.index.bayes_index import PageEstimate

__all__ = ["Schedule"]

_MARK = b"pollwise schedule"
_VERSION = b"2"
_READ = frozenset({b"1", _VERSION})
"""The versions that can be read."""
_FOREIGN = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a file may raise that `save` did not write, though its checksum is right."""
_LONGEST_WAIT = 60.0
"""Seconds: meanwhile another worker may have added pages, or recorded a poll."""


class Schedule:
    """Says which URL to poll next, and learns from what each poll found.

    `budget` is text such as 500/hour or 0.2/day/page. `policy` is the name of a policy, perhaps
    with options, or a policy without pages. `objective` is what a poll is worth, or its name (None:
    freshness); a policy that is given as an object has its own. Pages of one host are polled one at
    a time, with `crawl_delay` seconds in between. A poll that is not recorded within `lease`
    seconds counts as failed. `seed` is for policies that draw random numbers. A policy that is
    named is made for so many `pages`, which some need to know; None: for those of the first `add`.

    `now` is the time of a call: UTC seconds, or what else `pollwise.times` understands; None: that
    of this machine, which is not set back while the schedule is in use. With times given, the same
    calls always give the same answers. A time earlier than that of the call before counts as the
    same. Methods may be called from any thread. The first schedule on a machine takes about
    half a minute to compile when its first pages are added. `InputError` for what cannot be used.
    """

    def __init__(
        self,
        budget: str,
        *,
        objective: str | Objective | None = None,
        policy: str | Policy = WATCHING.default,
        crawl_delay: float = 1.0,
        lease: float = 300.0,
        seed: int = 0,
        pages: int | None = None,
    ) -> None:
        self._budget_text = budget
        self._budget = parse_budget(budget)
        self._objective = objective_of("freshness" if objective is None else objective)
        self._policy = policy
        if isinstance(policy, str):
            WATCHING.choose(policy)
        else:
            require_object("Schedule: policy", policy, Policy, "the name of a policy, or a policy")
            if objective is not None:
                raise InputError(
                    "Schedule: both an objective and a policy object; give the policy its objective"
                )
        fits = is_finite(crawl_delay) and crawl_delay >= 0
        require("Schedule: crawl_delay", crawl_delay, fits, "a number of seconds, at least 0")
        require_positive("Schedule", "lease", lease)
        require_whole("Schedule", "seed", seed, least=0)
        if pages is not None:
            require_whole("Schedule", "pages", pages, least=1)
        self._made_for = pages
        self._seed = seed
        self._crawl_delay = crawl_delay
        self._lease = lease
        self._pages: dict[int, Page] = {}
        # By canonical URLs: the pages, and those that were handed out and not recorded yet.
        self._ids: dict[str, int] = {}
        self._handed_out: dict[str, int] = {}
        self._next_id = 0
        self._scheduler: Scheduler | None = None  # there is none before the first page
        self._ask_at = math.inf
        self._latest = -math.inf
        # Whether the calls are given times, by which the file goes on when it is loaded.
        self._is_told_times = False
        self._clock = LiveClock()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._pages)

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter([page.url for page in self._pages.values()])

    def __contains__(self, url: object) -> bool:
        try:
            return _key("in", url) in self._ids
        except InputError:
            return False

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Schedule cannot be pickled or copied: use save, and Schedule.load")

    def __repr__(self) -> str:
        return f"<Schedule: {len(self)} pages, {self._budget_text}>"

    @property
    def budget(self) -> str:
        """The budget; a new one holds from now on."""
        return self._budget_text

    @budget.setter
    def budget(self, budget: str) -> None:
        parsed = parse_budget(budget)
        with self._lock:
            self._budget, self._budget_text = parsed, budget
            self._share_out()

    def add(
        self,
        urls: str | Iterable[str],
        *,
        weight: float = 1.0,
        cost: float = 1.0,
        at_least: str | None = None,
        at_most: str | None = None,
        now: Moment | None = None,
    ) -> None:
        """Add a URL or several; those that are here already stay as they are.

        `weight` is what a change is worth, `cost` what a poll takes from the budget. `at_least` and
        `at_most` are bounds on how often each is polled, such as 1/day. If one URL cannot be used,
        none is added.
        """
        require_positive("add", "weight", weight)
        require_positive("add", "cost", cost)
        longest, shortest = read_bounds(at_least, at_most)
        named = _by_key("add", urls)
        with self._lock:
            at = self._at(now)
            new = [(key, url) for key, url in named.items() if key not in self._ids]
            pages = [
                Page(
                    page_id,
                    url,
                    scope_of(key),
                    float(weight),
                    float(cost),
                    site=scope_of(key),
                    kind=kind_of(key),
                    longest_interval=longest,
                    shortest_interval=shortest,
                )
                for page_id, (key, url) in enumerate(new, start=self._next_id)
            ]
            if pages:
                if self._scheduler is None:
                    self._scheduler = self._make_scheduler(len(pages))
                self._tell(self._scheduler, at, Added(at, tuple(pages)))
                self._next_id += len(pages)
                self._take(pages)
                for key, _ in new:
                    # A poll from before the page was removed tells of it now.
                    self._handed_out.pop(key, None)

    def remove(self, urls: str | Iterable[str], *, now: Moment | None = None) -> None:
        """Forget a URL or several, and what was learned of them; unknown ones are ignored."""
        named = _by_key("remove", urls)
        with self._lock:
            at = self._at(now)
            page_ids = tuple(self._ids.pop(key) for key in named if key in self._ids)
            for page_id in page_ids:
                del self._pages[page_id]
            if self._scheduler is not None and page_ids:
                self._tell(self._scheduler, at, Removed(at, page_ids))
                self._share_out()

    def next(self, now: Moment | None = None) -> str | None:
        """The URL to poll now, as it was added; None: there is none before `wait` is over.

        Until the poll is recorded, or its lease runs out, it is not given again.
        """
        with self._lock:
            scheduler = self._scheduler
            if scheduler is None:
                return None
            at = self._at(now)
            # Leases that have run out end first, so that one poll starts now, and not several.
            self._tell(scheduler, at)
            for command in scheduler.handle(Staffed(at, scheduler.in_flight + 1)):
                if isinstance(command, Poll):
                    url = self._pages[command.page_id].url
                    self._handed_out[canonical(url)] = command.page_id
                    self._ask_at = scheduler.budget_free_at
                    return url
                self._ask_at = command.time
            return None

    def wait(self, now: Moment | None = None) -> float:
        """Seconds, at most 60, after which `next` may give a URL."""
        with self._lock:
            return min(max(self._ask_at - self._at(now), 0.0), _LONGEST_WAIT)

    def record(
        self,
        url: str,
        changed: bool | None = None,
        *,
        failed: bool = False,
        gone: bool = False,
        last_changed_at: Moment | None = None,
        retry_after: float | str | None = None,
        now: Moment | None = None,
    ) -> None:
        """Tell what a poll found: whether the page has changed, or that it failed or is gone.

        The first poll brings the first copy, so it tells of no change. A page that failed or is
        gone is tried again, ever more rarely. `last_changed_at` is when the page changed last, if
        the server says so: a time, or the text of Last-Modified. `retry_after` is how long the host
        wants to be left alone: seconds, or the text of Retry-After. Text that cannot be read counts
        as none, and so does a time in the future. A poll that was made without being asked for is
        taken in, too; one of a page that was removed meanwhile is ignored. `InputError` for another
        URL that is not here.
        """
        outcome = _outcome(changed, failed, gone)
        key = _key("record", url)
        with self._lock:
            at = self._at(now)
            changed_at, pause = _changed_at(last_changed_at, at), _pause(retry_after, at)
            page_id = self._handed_out.get(key, self._ids.get(key))
            if page_id is None or self._scheduler is None:
                raise InputError(f"record: {url!r} is not in the schedule: add it first")
            self._handed_out.pop(key, None)
            polled = Polled(at, (Observation(page_id, at, outcome, changed_at),))
            # The host may have been polled without being asked for.
            blocked = HostBlocked(at, scope_of(key), at + max(self._crawl_delay, pause or 0.0))
            self._tell(self._scheduler, at, blocked, polled)
            if page_id in self._pages and outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
                self._pages[page_id] = _seen(self._pages[page_id], outcome, at)

    def estimate(self, url: str, now: Moment | None = None) -> "PageEstimate":
        """What is known of a page: its change rate with an interval, and when it is due.

        `InputError` for a URL that is not here, or a policy other than bayes-index.
        """
        from pollwise.policies.index.bayes_index import BayesianIndex

        with self._lock:
            page_id = self._ids.get(_key("estimate", url))
            if page_id is None or self._scheduler is None:
                raise InputError(f"estimate: {url!r} is not in the schedule: add it first")
            policy = self._scheduler.policy
            if not isinstance(policy, BayesianIndex):
                raise InputError("estimate: only the policy bayes-index has estimates")
            return policy.estimate(page_id, self._at(now))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it into a file, as a whole or not at all.

        Polls that are under way are not part of it: their pages may be given again. `InputError` if
        the file cannot be written.
        """
        with self._lock:
            learned = {} if self._scheduler is None else self._scheduler.policy.state_dict()
            body = pack(self._head(), learned)
        with draft(_path("save", path)) as file:
            file.write(b"%s %s %08x\n" % (_MARK, _VERSION, zlib.crc32(body)))
            file.write(body)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        policy: Policy | None = None,
        now: Moment | None = None,
    ) -> Self:
        """The schedule that `save` wrote; `policy`: a new one, if it was given as an object.

        Without `now`, one whose calls were given times goes on at the latest of them. `InputError`
        for a file that cannot be read, `StateError` for one that is damaged, or was written by
        something else.
        """
        path = _path("load", path)
        body = _read(path)
        try:
            head, learned = unpack(body)
            return cls._of(path, head, learned, policy, now)
        except (InputError, StateError):
            raise
        except _FOREIGN as error:
            raise StateError(
                f"{path} does not hold what Schedule.save writes ({type(error).__name__}): go back"
                " to a copy of it"
            ) from error

    @classmethod
    def _of(
        cls,
        path: Path,
        head: dict[str, Any],
        learned: StateDict,
        policy: Policy | None,
        now: Moment | None,
    ) -> Self:
        """The schedule of what `save` packed; errors of many kinds for anything else."""
        from pollwise.policies.arrays import not_after

        if (head["policy"] is None) != (policy is not None):
            mend = (
                "give it one: load(path, policy=...)" if policy is None else "give load no policy"
            )
            named = "an object" if policy is None else repr(head["policy"])
            raise InputError(f"{path}: the policy of this schedule is {named}: {mend}")
        name, parameters = head["objective"] or (None, {})
        schedule = cls(
            head["budget"],
            objective=None if name is None else objective_of(name, **parameters),
            policy=head["policy"] if policy is None else policy,
            crawl_delay=head["crawl_delay"],
            lease=head["lease"],
            seed=head["seed"],
        )
        schedule._next_id = head["next_id"]
        if now is None and (latest := head.get("latest")) is not None:
            schedule._latest = time_of("latest", latest)
            schedule._is_told_times = True
        pages = [_page_of(row) for row in head["pages"]]
        if head["scheduler"] is not None:
            schedule._scheduler = schedule._make_scheduler(head["made_for"])
            try:
                schedule._scheduler.restore(pages, head["scheduler"])
                at = schedule._latest if schedule._is_told_times else schedule._at(now)
                schedule._scheduler.policy.load_state_dict(not_after(learned, at))
            except StateError as error:
                raise StateError(f"{path}: {error}") from error
            schedule._take(pages)
        return schedule

    def _make_scheduler(self, pages: int) -> Scheduler:
        """A new one, for about so many pages unless the caller said for how many."""
        policy = self._policy
        self._made_for = pages = self._made_for or pages
        if isinstance(policy, str):
            choice = WATCHING.choose(policy)
            rate = self._budget.total(pages)
            setting = Setting(self._objective, budget=rate, pages=pages, seed=self._seed)
            if choice.name == WATCHING.default:  # the bandits take no third page
                for _ in rehearsal(choice.make(setting)):
                    pass
            policy = choice.make(setting)
        return Scheduler(
            policy,
            self._budget.budget(pages),
            line=WATCHING_LINE,
            bounds=Bounds(automatic=True),
            crawl_delay=self._crawl_delay,
            lease=self._lease,
        )

    def _at(self, now: Moment | None) -> float:
        """The time of a call, which never goes back."""
        told = self._clock() if now is None else time_of("now", now)
        self._is_told_times = now is not None
        self._latest = max(self._latest, told)
        return self._latest

    def _take(self, pages: Iterable[Page]) -> None:
        """Keep pages that the scheduler knows."""
        for page in pages:
            self._pages[page.id] = page
            self._ids[canonical(page.url)] = page.id
        self._share_out()
        self._ask_at = -math.inf

    def _share_out(self) -> None:
        """Tell the scheduler the budget for the pages that there are."""
        if self._scheduler is not None:
            self._scheduler.change_budget(self._budget.budget(max(len(self._pages), 1)))
            self._ask_at = -math.inf

    def _tell(self, scheduler: Scheduler, at: float, *events: Event) -> None:
        """Tell the scheduler what happened; no poll starts before `next` asks for one."""
        scheduler.handle(Together(at, (Staffed(at, 0), *events)))
        self._ask_at = scheduler.budget_free_at

    def _head(self) -> dict[str, Any]:
        """What `save` writes beside what was learned."""
        named = isinstance(self._policy, str)
        aim = self._objective
        parameters: dict[str, Any] = asdict(aim) if is_dataclass(aim) else {}
        if named:
            objective_of(aim.name, **parameters)  # one that `load` can make again
        return {
            "budget": self._budget_text,
            "objective": [aim.name, parameters] if named else None,
            "policy": self._policy if named else None,
            "seed": self._seed,
            "crawl_delay": self._crawl_delay,
            "lease": self._lease,
            "made_for": self._made_for,
            "next_id": self._next_id,
            "latest": self._latest if self._is_told_times else None,
            "pages": [astuple(page) for page in self._pages.values()],
            "scheduler": None if self._scheduler is None else self._scheduler.state(),
        }


def _key(call: str, url: object) -> str:
    """The canonical URL by which a page is known."""
    if not isinstance(url, str):
        raise InputError(f"{call}: {url!r} is no URL: give text")
    return canonical(url)


def _by_key(call: str, urls: str | Iterable[str]) -> dict[str, str]:
    require(f"{call}: urls", urls, isinstance(urls, Iterable), "a URL, or several")
    return {_key(call, url): url for url in ([urls] if isinstance(urls, str) else urls)}


def _outcome(changed: bool | None, failed: bool, gone: bool) -> Outcome:
    require(
        "record: changed", changed, isinstance(changed, bool | np.bool_ | None), "True or False"
    )
    for name, value in (("failed", failed), ("gone", gone)):
        require(f"record: {name}", value, isinstance(value, bool), "True or False")
    told = {
        Outcome.CHANGED: changed is not None and bool(changed),
        Outcome.UNCHANGED: changed is not None and not changed,
        Outcome.FAILED: failed,
        Outcome.GONE: gone,
    }
    found = [outcome for outcome, is_so in told.items() if is_so]
    if len(found) != 1:
        raise InputError(
            "record: give one of changed=True, changed=False, failed=True and gone=True"
        )
    return found[0]


def _changed_at(told: Moment | None, now: float) -> float | None:
    """The time of the latest change, from a header or as people give it."""
    if told is None:
        return None
    if isinstance(told, str):
        date = parse_http_date(told)
        date = parse_time(told) if date is None else date
    else:
        date = time_of("record: last_changed_at", told)
    return date if date <= now else None  # NaN: it is no date; some servers name the future


def _pause(told: float | str | None, now: float) -> float | None:
    """Seconds for which a host wants to be left alone."""
    if told is None or isinstance(told, str):
        return parse_retry_after(told, now)
    require_positive("record", "retry_after", told)
    return float(told)


def _seen(page: Page, outcome: Outcome, now: float) -> Page:
    """The page after a poll that found it."""
    has_changed = page.seen_at is not None and outcome is Outcome.CHANGED
    in_a_row = page.changes_in_a_row + 1 if has_changed else 0
    return replace(page, seen_at=now, changes_in_a_row=in_a_row)


def _path(call: str, path: str | os.PathLike[str]) -> Path:
    """A path that can name a file."""
    given = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
    fits = isinstance(given, str) and given != "" and "\0" not in given and Path(given).name != ""
    if fits:
        try:
            os.fsencode(given)
        except UnicodeEncodeError:
            fits = False
    require(f"{call}: path", path, fits, "the name of a file")
    return Path(given)


def _page_of(row: Sequence[Any]) -> Page:
    """A page of a file: JSON has lists where it has tuples."""
    fields: list[Any] = [tuple(one) if isinstance(one, list) else one for one in row]
    return Page(*fields)


def _read(path: Path) -> bytes:
    """What `save` packed into a file."""
    try:
        if stat.S_ISCHR(path.stat().st_mode):  # it may have no end
            raise InputError(f"{path} is a device: name a file that Schedule.save wrote")
        data = path.read_bytes()
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"{path}: the schedule cannot be read ({why}): check the path") from error
    first, _, body = data.partition(b"\n")
    mark, _, rest = first.rpartition(b" ")[0].rpartition(b" ")
    if mark != _MARK:
        raise StateError(f"{path} was not written by Schedule.save: name another file")
    if not rest.isdigit():
        raise StateError(f"{path} is damaged: go back to a copy of it")
    if rest not in _READ:
        raise StateError(f"{path} was written by a later version of pollwise: update this one")
    if first != b"%s %s %08x" % (_MARK, rest, zlib.crc32(body)):
        raise StateError(f"{path} is damaged: go back to a copy of it")
    return body
