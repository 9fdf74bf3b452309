"""One budget for several shards, which share nothing but the price of a poll.

A shard has hosts of its own and polls within an allotment, a rate of polls. What all shards bring
together is most when one price holds everywhere: a poll moved from a shard of low price to one of
high price would bring more there (equal margins, as in `pollwise.knapsack.allocate`). So a shard
tells its price now and then, and gets a larger allotment if that is above the common one. Between
two shards nothing else passes.

The price of a shard falls as its rate r rises: as r^-2 where it polls pages more often than they
change (r^-3 for age), and less steeply the fewer polls it has. With r ← r (p / common price)^0.1 a
report leaves 1 - ε/10 of the distance to equal prices, for p ~ r^-ε: a fifth goes where polls are
many. Larger steps follow the noise of prices that are learned, and lose by it (docs/scale.md);
where the price hardly depends on the rate (ε near 0) it takes longer, and matters less. A price is
learned by polls, so after a few of them it moves the rate by a smaller step: else a shard that had
too much would fall to a rate at which it learns no better.

The budget holds meanwhile, whatever is lost or late: nobody is given more until others have told
that they hold to less. A shard that is not heard until its allotment ends goes on with what it was
told for that case, its fair share by pages at most, which is kept for it until it leaves: it may be
cut off and alive. Whoever takes its hosts over lets it leave.
"""

import json
import math
from dataclasses import dataclass, fields, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require, require_positive
from pollwise.errors import StateError

__all__ = ["Allotment", "ShardReport", "ShardedBudget"]

_POWER = 0.1
"""Of the price, by which an allotment grows."""
_TELLING = 20.0
"""Polls since the report before from which on a price moves a rate by the whole step."""
_GROWTH = 2.0
"""The most by which one report multiplies an allotment: prices that were just learned are rough."""
_LEAST = 0.01
"""Of its fair share, what a shard keeps however low its price is: else it would learn no other."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ShardReport:
    """How a shard stands.

    `price` is what a poll must be worth there (per cost unit, see `Priced`); None: it is not known
    yet. `capacity` is what its hosts take at most, `rate` what it holds to now, and `alone` what it
    will hold to when its allotment has ended; all in cost units a second. `pages` are those that it
    watches, `polls` those that it made since its report before, from which it knows its price.
    """

    shard: str
    price: float | None
    capacity: float
    pages: int
    rate: float = 0.0
    alone: float = 0.0
    polls: float = math.inf

    def __post_init__(self) -> None:
        what = f"the report of shard {self.shard!r}"
        if self.price is not None:
            require_positive(what, "price", self.price)
        for name in ("rate", "alone"):
            number = getattr(self, name)
            require(f"{what}: {name}", number, 0.0 <= number < math.inf, "finite and at least 0")
        require(f"{what}: capacity", self.capacity, self.capacity >= 0.0, "at least 0")
        require(f"{what}: pages", self.pages, self.pages >= 0, "at least 0")
        require(f"{what}: polls", self.polls, self.polls >= 0, "at least 0")


@dataclass(frozen=True, slots=True)
class Allotment:
    """What a shard may spend: `rate` for so many `seconds`, after that `alone`.

    These begin when it sent its report, so no clocks are compared. Both rates are in cost units a
    second; 0: it has to wait for its next report. `price` is the common one; None: no shard knows
    any yet. `fair` is its share by pages. A shard that was given less so far should tell no price:
    from a small rate a price raises it slowly.
    """

    rate: float
    seconds: float
    alone: float
    price: float | None
    fair: float

    def __post_init__(self) -> None:
        for name in ("rate", "seconds", "alone", "fair"):
            number = getattr(self, name)
            require(f"Allotment: {name}", number, 0.0 <= number < math.inf, "finite, at least 0")


_report_row = attrgetter(*(field.name for field in fields(ShardReport)))
_allotment_row = attrgetter(*(field.name for field in fields(Allotment)))


@dataclass(frozen=True, slots=True)
class _Shard:
    """The latest report of a shard, and what it may spend, until a time (UTC seconds).

    It may not have heard of the latest allotment, so both what it told and what it was given count.
    """

    report: ShardReport
    allotment: Allotment
    until: float

    @property
    def alone(self) -> float:
        """Cost units a second that it may be spending once its allotment has ended."""
        return max(self.report.alone, self.allotment.alone)

    def most(self, now: float) -> float:
        """Cost units a second that it may be spending."""
        if now >= self.until:
            return self.alone
        return max(self.report.rate, self.allotment.rate, self.alone)

    def settled(self, now: float, share: float) -> float:
        """Cost units a second that it will spend once it has heard of a budget that was made less.

        `share` is what there is for a page now.
        """
        if now >= self.until:
            return self.alone
        given = self.allotment
        fair = share * self.report.pages
        return given.rate * fair / given.fair if fair < given.fair else given.rate


class ShardedBudget:
    """Shares a budget of `rate` cost units a second out among shards, by their reports.

    An allotment holds for `lease` seconds: let shards report several times meanwhile. The reports
    of a shard have to come in the order in which it sent them. A ledger that was started anew knows
    no shard: for a `lease` from `begun_at` (UTC seconds) on it gives none more than that holds to,
    so that all can be heard. Of those that are cut off it does not hear: what these go on with
    comes on top of the budget, unless it has loaded the `state` of the one before. A report takes
    time in proportion to the number of shards: 1 ms for 1,000. `InputError` for numbers out of
    range.

    >>> budget = ShardedBudget(10.0, lease=60.0, begun_at=-60.0)
    >>> from dataclasses import replace
    >>> a, b = (ShardReport(name, None, capacity=50.0, pages=100) for name in "ab")
    >>> budget.report(a, now=0.0).rate, budget.report(b, now=1.0).rate
    (10.0, 0.0)
    >>> budget.report(replace(a, rate=10.0), now=2.0).rate  # not b's yet: a may not hear of it
    5.0
    >>> budget.report(replace(a, rate=5.0), now=3.0).rate, budget.report(b, now=4.0).rate
    (5.0, 5.0)
    """

    def __init__(self, rate: float, *, lease: float, begun_at: float) -> None:
        require_positive("ShardedBudget", "lease", lease)
        self._lease = lease
        self._begun_at = begun_at
        self._shards: dict[str, _Shard] = {}
        self._price: float | None = None
        self.rate = rate

    @property
    def rate(self) -> float:
        """Cost units a second, in all; a smaller one holds once each shard has reported."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        require_positive("ShardedBudget", "rate", rate)
        self._rate = rate

    def state(self) -> str:
        """What the next ledger needs to go on, as JSON: the latest reports, and what was given.

        And when it began, as it may be in its first lease.
        """
        shards = [
            (_report_row(shard.report), _allotment_row(shard.allotment), shard.until)
            for shard in self._shards.values()
        ]
        return json.dumps({"shards": shards, "price": self._price, "begun_at": self._begun_at})

    def load_state(self, text: str) -> None:
        """Go on from what `state` gave, in a new ledger; `StateError` if it is damaged."""
        try:
            told = json.loads(text)
            price = None if told["price"] is None else float(told["price"])
            begun_at = float(told["begun_at"])
            shards = [
                _Shard(ShardReport(*report), Allotment(*allotment), float(until))
                for report, allotment, until in told["shards"]
            ]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise StateError(f"the ledger of the shards is damaged: {error}") from error
        self._price, self._begun_at = price, begun_at
        self._shards = {shard.report.shard: shard for shard in shards}

    def told(self) -> list[tuple[ShardReport, Allotment]]:
        """The latest report of each shard, and what it was given then."""
        return [(shard.report, shard.allotment) for shard in self._shards.values()]

    @property
    def price(self) -> float | None:
        """The common price; None: no shard knows any yet."""
        return self._price

    def most(self, now: float) -> float:
        """The most that all shards may be spending now, in cost units a second."""
        return math.fsum(shard.most(now) for shard in self._shards.values())

    def fair(self, shard: str, pages: int) -> float:
        """The part that so many pages of a shard have of the budget, by what all told last.

        A shard without pages has what it would have with as many as another one.
        """
        others = [one.report.pages for name, one in self._shards.items() if name != shard]
        own = pages or max(sum(others) // max(len(others), 1), 1)
        return self._rate * own / (own + sum(others))

    def report(self, report: ShardReport, now: float) -> Allotment:
        """Take a report at the time `now` (UTC seconds); what its shard may spend from now on."""
        until = now + self._lease
        self._shards[report.shard] = _Shard(
            report, Allotment(0.0, self._lease, 0.0, None, 0.0), until
        )
        others = [shard for name, shard in self._shards.items() if name != report.shard]
        room = max(self._rate - math.fsum(shard.most(now) for shard in others), 0.0)
        if now < self._begun_at + self._lease:  # there may be others, not heard yet
            room = min(room, report.rate)
        wanted, fair = self._target(report.shard, now)
        # What it holds to is in the budget, unless that was made smaller: then the others, which
        # may not have heard of it, will come down as well.
        share = self._rate / max(report.pages + sum(one.report.pages for one in others), 1)
        kept = self._rate - math.fsum(shard.settled(now, share) for shard in others)
        rate = min(wanted, max(room, min(report.rate, kept)))
        allotment = Allotment(rate, self._lease, min(rate, fair), self.price, fair)
        self._shards[report.shard] = _Shard(report, allotment, until)
        return allotment

    def confirm(self, shard: str, rate: float, alone: float) -> None:
        """A shard holds to its allotment by now: others may have what it had more.

        `rate` and `alone` as in its report. Unknown ones are ignored.
        """
        if (told := self._shards.get(shard)) is not None:
            report = replace(told.report, rate=rate, alone=alone)
            self._shards[shard] = replace(told, report=report)

    def leave(self, shard: str) -> None:
        """A shard polls no more, surely: what it had is for others. Unknown ones are ignored."""
        self._shards.pop(shard, None)

    def _target(self, name: str, now: float) -> tuple[float, float]:
        """What a shard is to spend, by the latest reports of all, and its fair share."""
        shards = list(self._shards.values())
        place = list(self._shards).index(name)
        heard = np.array([now < one.until for one in shards])
        pages = np.array([one.report.pages for one in shards], np.float64)
        fair = self._rate * pages / max(pages.sum(), 1.0)
        rates = np.array([one.report.rate for one in shards])
        capacity = np.array([one.report.capacity for one in shards])
        prices = np.array([one.report.price or math.nan for one in shards])
        powers = _POWER * np.array([min(one.report.polls / _TELLING, 1.0) for one in shards])
        alone = np.array([one.alone for one in shards])
        is_priced = np.isfinite(prices) & (rates > 0.0)
        most = np.minimum(capacity, np.where(is_priced, np.maximum(_GROWTH * rates, fair), fair))
        least = np.minimum(np.where(is_priced, _LEAST * fair, fair), most)
        least, most = np.where(heard, least, alone), np.where(heard, most, alone)
        is_open = heard & is_priced & (most > least)
        given = np.where(is_open, 0.0, most)
        if is_open.any():
            logs = np.log(prices[is_open])
            middle = float(np.average(logs, weights=rates[is_open]))
            strength = rates[is_open] * np.exp(powers[is_open] * (logs - middle))
            total = self._rate - given.sum()
            factor = _factor(strength, least[is_open], most[is_open], total)
            given[is_open] = np.clip(factor * strength, least[is_open], most[is_open])
            self._price = math.exp(middle) * factor ** (-1.0 / _POWER) if factor > 0.0 else None
        return float(given[place]), float(fair[place])


def _factor(strength: Floats, least: Floats, most: Floats, total: float) -> float:
    """The k with Σ clip(k strength, least, most) = total, or the nearest sum that there is."""
    bends = np.concatenate([least / strength, most / strength])
    order = np.argsort(bends, kind="stable")
    bends = bends[order]
    slopes = np.cumsum(np.concatenate([strength, -strength])[order])
    sums = least.sum() + np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(bends))])
    return float(np.interp(total, sums, bends))
