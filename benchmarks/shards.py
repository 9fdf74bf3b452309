"""What shards lose that share one budget by the price of a poll, and how soon they settle.

    python benchmarks/shards.py model [--shards 1000] [--pages 1e9] [--sample 300]
        [--budget 10000] [--json]
    python benchmarks/shards.py daemons [--polls 40000] [--seeds 5] [--first-seed 0] [--json]
    python benchmarks/shards.py ledger [--shards 1000] [--json]

`model`: shards of many sizes and change rates, each of which polls at once as the exact solver
would with its allotment. A shard knows a sample of its pages, of which each stands for as many as
make up the whole. A twentieth of the shards have hosts that take half of what the optimum would
give them. Every shard reports every ten seconds. Then a tenth of them die, and leave after a
minute; the pages of another tenth change ten times as often; and the budget is halved. Told are
what the copies are worth (freshness) as a share of the undivided optimum, from the same sample, how
long it takes after each event until it is within 1 %, and what a report takes of CPU.

`daemons`: four schedulers with the default policy, which learns, in one simulated world (Zipf, 500
pages, α = .9, β = 1.5), against one scheduler with all pages, and against shares by the number of
pages. The first shard has the 20 pages that change most, the others 80, 150 and 250.

`ledger`: what a report costs where the ledger is kept as a text between two, as in a database.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from pollwise import BayesianIndex, Zipf
from pollwise.events import Added, Poll, Polled, Tick, WakeAt
from pollwise.objectives import objective
from pollwise.scheduler.ledgers import new_ledger, take_report
from pollwise.scheduler.prices import Allotment, ShardedBudget, ShardReport
from pollwise.scheduler.scheduler import Scheduler
from pollwise.simulation.scores.summary import mean_of
from pollwise.types import Budget, Outcome, Page

LEASE, EVERY = 60.0, 10.0
"""Seconds."""
DAY = 86_400.0
KIND = objective("freshness")
PRICES = 500
"""Between the least and the greatest, on which the model reckons."""
SIZES = (20, 80, 150, 250)

Floats = NDArray[np.float64]


@dataclass
class Model:
    """What each shard spends and what its copies are worth, at each of some prices (log)."""

    log_prices: Floats
    spent: Floats
    worth: Floats
    capacity: Floats
    pages: Floats

    def price(self, shard: int, rate: float) -> float:
        """The price at which a shard spends so much."""
        falling = self.spent[shard, ::-1]
        return float(np.exp(np.interp(rate, falling, self.log_prices[::-1])))

    def worth_of(self, rates: Floats) -> float:
        """What the copies of all are worth, as a share of the pages."""
        worths = [
            np.interp(rate, self.spent[shard, ::-1], self.worth[shard, ::-1])
            for shard, rate in enumerate(rates)
        ]
        return float(np.sum(worths) / self.pages.sum())

    def best(self, budget: float, alive: NDArray[np.bool_]) -> Floats:
        """The rates of the undivided optimum: one price for all but those at their capacity."""
        spent = np.minimum(self.spent, self.capacity[:, None])[alive]
        total = spent.sum(axis=0)
        log_price = np.interp(budget, total[::-1], self.log_prices[::-1])
        rates = np.zeros(len(alive))
        rates[alive] = [np.interp(log_price, self.log_prices, own) for own in spent]
        return rates


def modelled(rates: Floats, pages: Floats) -> tuple[Floats, Floats, Floats]:
    """The logarithms of prices, and what each shard spends and is worth at each."""
    multiplicity = (pages / rates.shape[1])[:, None]
    top = np.log(KIND.index(rates, np.inf).max())
    log_prices = np.linspace(top - 25.0, top, PRICES)
    spent, worth = np.empty((len(rates), PRICES)), np.empty((len(rates), PRICES))
    for place, log_price in enumerate(log_prices):
        due = KIND.due(np.exp(log_price), rates)
        polled = np.isfinite(due)
        cycle = np.where(polled, due, 1.0)
        spent[:, place] = (multiplicity * np.where(polled, 1.0 / cycle, 0.0)).sum(axis=1)
        fresh = np.where(polled, KIND.gain(rates, cycle) / cycle, 0.0)
        worth[:, place] = (multiplicity * fresh).sum(axis=1)
    return log_prices, spent, worth


@dataclass
class Shards:
    """The shards of a model, and what they hold to."""

    model: Model
    budget: ShardedBudget
    alive: NDArray[np.bool_]
    allotments: dict[int, tuple[Allotment, float]] = field(default_factory=dict)
    messages: int = 0
    bytes: int = 0
    seconds: float = 0.0

    def rate(self, shard: int, now: float) -> float:
        """What a shard holds to."""
        if shard not in self.allotments or not self.alive[shard]:
            return 0.0
        allotment, sent_at = self.allotments[shard]
        return allotment.rate if now < sent_at + allotment.seconds else allotment.alone

    def report(self, shard: int, now: float) -> None:
        """Let it report."""
        rate = self.rate(shard, now)
        own = self.allotments.get(shard)
        report = ShardReport(
            str(shard),
            self.model.price(shard, rate) if rate > 0.0 else None,
            float(self.model.capacity[shard]),
            round(self.model.pages[shard]),
            rate=rate,
            alone=0.0 if own is None else own[0].alone,
        )
        begun_at = time.process_time()
        allotment = self.budget.report(report, now)
        self.seconds += time.process_time() - begun_at
        self.allotments[shard] = allotment, now
        self.messages += 2
        self.bytes += sum(len(json.dumps(asdict(one))) for one in (report, allotment))

    def go_on(
        self, begin: float, seconds: float, on_round: Callable[[float, Floats], None]
    ) -> float:
        """Let all report in turn, every ten seconds, for so long; when that is over."""
        now = begin
        living = np.flatnonzero(self.alive)
        while now < begin + seconds:
            for shard in living.tolist():
                self.report(shard, now)
                now += EVERY / len(living)
            on_round(now, np.array([self.rate(shard, now) for shard in range(len(self.alive))]))
        return now


def model(arguments: argparse.Namespace) -> list[dict[str, object]]:
    """The phases of the model, one after the other."""
    random = np.random.default_rng(arguments.seed)
    count, total = arguments.shards, arguments.budget
    sizes = np.exp(random.normal(0.0, 1.0, count))
    pages = arguments.pages * sizes / sizes.sum()
    own_rates = random.normal(0.0, 1.0, (count, 1))
    rates = np.exp(own_rates + random.normal(0.0, 2.0, (count, arguments.sample))) / (30 * DAY)
    many = Model(*modelled(rates, pages), np.full(count, np.inf), pages)
    everybody = np.ones(count, np.bool_)
    slow = random.choice(count, count // 20, replace=False)
    many.capacity[slow] = 0.5 * many.best(total, everybody)[slow]
    shards = Shards(many, ShardedBudget(total, lease=LEASE, begun_at=-LEASE), everybody.copy())
    results: list[dict[str, object]] = []
    now = 0.0

    def phase(name: str, seconds: float) -> None:
        nonlocal now
        best = many.worth_of(many.best(shards.budget.rate, shards.alive))
        shares: list[tuple[float, float]] = []
        most = 0.0

        def look(at: float, held: Floats) -> None:
            nonlocal most
            most = max(most, held.sum() / shards.budget.rate)
            shares.append((at - begun, many.worth_of(held) / best))

        begun, messages, sent, spent = now, shards.messages, shards.bytes, shards.seconds
        now = shards.go_on(now, seconds, look)
        outside = [at for at, share in shares if share < 0.99]
        results.append(
            {
                "phase": name,
                "least_of_optimum": min(share for _, share in shares),
                "of_optimum": shares[-1][1],
                "seconds_until_within_1_percent": max(outside, default=0.0),
                "most_of_budget": most,
                "messages_per_second": (shards.messages - messages) / (now - begun),
                "bytes_per_second": (shards.bytes - sent) / (now - begun),
                "copies_fresh": best,
                "microseconds_per_report": 2e6
                * (shards.seconds - spent)
                / (shards.messages - messages),
            }
        )

    phase("from fair shares by pages", arguments.seconds)
    order = random.permutation(count)
    dead, restless = order[: count // 10], order[count // 10 : count // 5]
    shards.alive[dead] = False
    phase("a tenth of the shards die", LEASE)
    for shard in dead.tolist():
        shards.budget.leave(str(shard))
    phase("they leave", arguments.seconds)
    rates[restless] *= 10.0
    many.log_prices, many.spent, many.worth = modelled(rates, pages)
    phase("a tenth of the pages change ten times as often", arguments.seconds)
    shards.budget.rate = total / 2.0
    phase("half the budget", arguments.seconds)
    return results


class Daemon:
    """A scheduler with pages of its own in a world that answers at once."""

    def __init__(self, world: Zipf, pages: Sequence[Page], rate: float) -> None:
        self.policy = BayesianIndex(objective="detection")
        self.scheduler = Scheduler(self.policy, Budget(rate))
        self.world, self.pages, self.rate = world, pages, rate
        self.found: list[tuple[float, bool]] = []
        self._commands = list(self.scheduler.handle(Added(0.0, tuple(pages))))
        self._now = 0.0
        self.told = 0

    def go_on(self, until: float) -> None:
        """Poll until then."""
        while True:
            polled = [command.page_id for command in self._commands if isinstance(command, Poll)]
            if polled:
                seen = tuple(self.world.poll(polled, self._now))
                self.found += [(self._now, one.outcome is Outcome.CHANGED) for one in seen]
                self._commands = list(self.scheduler.handle(Polled(self._now, seen)))
                continue
            wake_at = [one.time for one in self._commands if isinstance(one, WakeAt)][-1]
            if wake_at >= until:
                return
            self._now = max(self._now, wake_at)
            self._commands = list(self.scheduler.handle(Tick(self._now)))

    def hold_to(self, rate: float, now: float) -> None:
        """Poll at this rate from now on."""
        self.rate = rate
        if rate > 0.0:
            self.scheduler.budget = Budget(rate)
            self._now = max(self._now, now)
            self._commands = list(self.scheduler.handle(Tick(self._now)))


def daemons(arguments: argparse.Namespace) -> list[dict[str, object]]:
    """One scheduler, four by the common price, and four by the number of pages."""
    found: dict[str, list[float]] = {"undivided": [], "common price": [], "by pages": []}
    most = dict.fromkeys(found, 0.0)
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        for name, own in found.items():
            print(f"{name}, seed {seed}", file=sys.stderr)
            world = Zipf(pages=sum(SIZES), alpha=0.9, beta=1.5)
            world.reset(seed, duration=float(arguments.polls))
            by_rate = sorted(world.pages, key=lambda page: -world.rates[page.id])
            parts = np.split(np.arange(len(by_rate)), np.cumsum(SIZES)[:-1])
            groups = [[by_rate[place] for place in part] for part in parts]
            if name == "undivided":
                groups = [by_rate]
            budget = ShardedBudget(1.0, lease=LEASE, begun_at=-LEASE)
            each = [Daemon(world, pages, len(pages) / len(by_rate)) for pages in groups]
            for now in np.arange(EVERY, arguments.polls, EVERY).tolist():
                for number, daemon in enumerate(each):
                    daemon.go_on(now)
                    if name == "common price":
                        price = daemon.scheduler.price
                        report = ShardReport(
                            str(number),
                            price if price else None,
                            np.inf,
                            len(daemon.pages),
                            rate=daemon.rate,
                            polls=daemon.scheduler.polls_begun - daemon.told,
                        )
                        daemon.told = daemon.scheduler.polls_begun
                        daemon.hold_to(budget.report(report, now).rate, now)
            polls = [poll for daemon in each for poll in daemon.found]
            most[name] = max(most[name], len(polls) / arguments.polls)
            late = [is_found for at, is_found in polls if at >= arguments.polls / 2]
            own.append(sum(late) / (arguments.polls / 2))
    reference = np.array(found["undivided"])
    results: list[dict[str, object]] = []
    for name, own in found.items():
        mean, share = mean_of(own), mean_of((np.array(own) / reference).tolist())
        results.append(
            {
                "shards": name,
                "found_per_second": mean.value,
                "stderr": mean.stderr,
                "of_undivided": share.value,
                "of_undivided_stderr": share.stderr,
                "most_of_budget": most[name],
            }
        )
    return results


def ledger(arguments: argparse.Namespace) -> list[dict[str, object]]:
    """What a report takes where the ledger is kept between two of them, and its bytes."""
    kept, spent = new_ledger(), 0.0
    for turn in range(3):
        begun_at = time.process_time()
        for shard in range(arguments.shards):
            report = ShardReport(str(shard), 1.0 + shard % 7, np.inf, 1_000 + shard, 1.0, 1.0)
            kept, _ = take_report(kept, "1000/second", report, 10.0 * turn)
        spent = time.process_time() - begun_at
    return [
        {
            "shards": arguments.shards,
            "milliseconds_per_report": 1e3 * spent / arguments.shards,
            "bytes": len(kept),
        }
    ]


def main(words: Sequence[str] | None = None) -> None:
    """Print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    jobs = parser.add_subparsers(required=True)
    one = jobs.add_parser("model")
    one.set_defaults(run=model)
    one.add_argument("--shards", type=int, default=1000)
    one.add_argument("--pages", type=float, default=1e9)
    one.add_argument("--sample", type=int, default=300)
    one.add_argument("--budget", type=float, default=10_000.0, help="polls a second, in all")
    one.add_argument("--seconds", type=float, default=600.0, help="of each phase")
    one.add_argument("--seed", type=int, default=0)
    other = jobs.add_parser("daemons")
    other.set_defaults(run=daemons)
    other.add_argument("--polls", type=int, default=40_000)
    other.add_argument("--seeds", type=int, default=5)
    other.add_argument("--first-seed", type=int, default=0)
    third = jobs.add_parser("ledger", help=ledger.__doc__)
    third.set_defaults(run=ledger)
    third.add_argument("--shards", type=int, default=1_000)
    for job in (one, other, third):
        job.add_argument("--json", action="store_true")
    arguments = parser.parse_args(words)
    results = arguments.run(arguments)
    if arguments.json:
        print(json.dumps({"results": results}, indent=2))
        return
    for result in results:
        print(
            "  ".join(
                f"{key}={value:.5g}" if isinstance(value, float) else str(value)
                for key, value in result.items()
            )
        )


if __name__ == "__main__":
    main()
