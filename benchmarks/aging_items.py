"""Items that lose worth with age: where is `ephemeral-index` behind another policy?

    python benchmarks/aging_items.py [TABLE.items.parquet ...] [--world NAME ...]
        [--budget 0.3 ...] [--half-life 6] [--starts 4] [--seed 0] [--policy NAME ...]

A cell is a table of items, or a made-up world (`WORLDS`), and a budget (polls a day and source). A
table is replayed from several starts, a made-up world is drawn from several seeds. A run ends with
the table, or after `MOST_POLLS` polls; then the starts are spread over the table. The figure is the
value of items when they are polled, as a share of their value when they are listed.

The differences to `ephemeral-index` are means over the starts or seeds, with 95 % intervals of
Student's t; at small budgets the starts of a table overlap. Sources share one budget, so their
own differences are not independent, and no bootstrap over them is made. `optimal`, told the true
rates, is a reference.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pollwise.objectives import objective
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.scheduler.budgets import parse_budget
from pollwise.simulation.compare.replays import limit_of
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.items import ItemReplay, ItemTable, ephemeral_tally
from pollwise.units import DAY, HOUR, MINUTE

OURS = "ephemeral-index"
POLICIES = (
    OURS, "bayes-index", "uniform", "cho-mle", "lambdacrawl", "newsblur", "nutch", "stormcrawler",
    "news-crawl", "miniflux", "optimal",
)  # fmt: skip
BUDGETS = ("0.1", "0.3", "1", "4", "12", "48", "96")
MOST_POLLS = 6_000
WARM_UP = 0.15
BEGIN = 1_704_067_200.0
"""The first of January 2024, a Monday."""
SOURCES, DAYS = 40, 60.0

Floats = NDArray[np.float64]
Generator = np.random.Generator
Accepted = Callable[[Generator, Floats], NDArray[np.bool_]]


def _always(generator: Generator, times: Floats) -> NDArray[np.bool_]:
    return np.ones(len(times), np.bool_)


def _by_day(generator: Generator, times: Floats) -> NDArray[np.bool_]:
    """Busy for ten hours a day, in one of three zones; one item in twenty comes at other times."""
    hour = (times / HOUR + 8.0 * generator.integers(3)) % 24
    return (hour < 10) | (generator.random(len(times)) < 0.05)


def _by_week(generator: Generator, times: Floats) -> NDArray[np.bool_]:
    """Nine in ten items of the weekend are missing."""
    return (times / DAY % 7 < 5) | (generator.random(len(times)) < 0.1)


def _in_turns(generator: Generator, times: Floats) -> NDArray[np.bool_]:
    """The source starts and stops: spells of ten days on average."""
    ends = np.cumsum(generator.exponential(10 * DAY, 60))
    return (np.searchsorted(ends, times) + generator.integers(2)) % 2 == 0


def made(
    seed: int, *, accept: Accepted = _always, batch: float = 1.0, dead: float = 0.0,
    lives: bool = False, aged: bool = True, spread: float = 1.3,
) -> ItemTable:  # fmt: skip
    """Sources of items, thinned by `accept`.

    `spread`: of the logarithms of their rates, and 0.6 times as much of those of their worths;
    `batch`: how many items come at once, on average; `dead`: the share of sources that have nothing
    but one item at the begin; `lives`: half of the sources keep an item for 20 minutes on average,
    the others for 20 days (else all stay); `aged`: polls tell when an item was published.
    """
    generator = np.random.default_rng(seed)
    parts = []
    for source in range(SOURCES):
        rate, worth = np.exp(generator.normal((np.log(6.0), 0.0), (spread, 0.6 * spread)))
        if generator.random() < dead:
            rate = 0.0
        times = generator.uniform(0, DAYS * DAY, generator.poisson(2 * rate * DAYS / batch))
        times = np.repeat(times, generator.geometric(1 / batch, len(times)))
        kept = accept(generator, times) & (generator.random(len(times)) < 0.5)
        times = np.append(times[kept] + generator.uniform(0, MINUTE, int(kept.sum())), 0.0)
        life = (20 * MINUTE if source % 2 else 20 * DAY) if lives else np.inf
        gone = times + MINUTE + generator.exponential(1.0, len(times)) * life
        published = times - (generator.exponential(5 * MINUTE, len(times)) if aged else 0.0)
        weights = worth * generator.exponential(1.0, len(times))
        names = np.full(len(times), f"s{source:02d}")
        parts.append((names, BEGIN + published, BEGIN + times, BEGIN + gone, weights))
    return ItemTable(*map(np.concatenate, zip(*parts, strict=True)))


WORLDS: dict[str, Callable[[int], ItemTable]] = {
    "steady": made,
    "alike": lambda seed: made(seed, spread=0.2),
    "undated": lambda seed: made(seed, aged=False),
    "day and night": lambda seed: made(seed, accept=_by_day),
    "weekdays": lambda seed: made(seed, accept=_by_week),
    "bursts": lambda seed: made(seed, batch=12.0),
    "mostly dead": lambda seed: made(seed, dead=0.8),
    "minutes and weeks": lambda seed: made(seed, lives=True),
    "start and stop": lambda seed: made(seed, accept=_in_turns),
}


def cut(items: ItemTable, begin: float, end: float) -> ItemTable:
    """The items listed in a span of time."""
    kept = (items.first_seen >= begin) & (items.first_seen < end)
    names = ("source", "published_at", "first_seen", "gone_at", "weight")
    part = ItemTable(*(getattr(items, name)[kept] for name in names))
    return replace(part, gone_at=np.where(part.gone_at >= end, np.inf, part.gone_at))


def spans(items: ItemTable, budget: float, starts: int) -> Iterator[ItemTable]:
    """A table from several starts: from days, and some of a round, apart, or spread over it."""
    first, end = items.first_seen.min(), items.first_seen.max()
    longest = MOST_POLLS / (budget * len(np.unique(items.source))) * DAY
    step = max((end - first - longest) / max(starts - 1, 1), 0.02 * (end - first))
    for start in range(starts):
        begin = first + step * start + start / starts * DAY / budget / 10
        yield cut(items, begin, min(begin + longest, end))


def runs_of(
    tables: list[ItemTable], names: list[str], half_life: float, budget: str
) -> dict[str, Floats]:
    """The tallies of each policy: [table, source, column]."""
    aim = objective("ephemeral", decay=np.log(2) / half_life)
    told = parse_budget(f"{budget}/day/page")
    sources = np.unique(np.concatenate([table.source for table in tables]))
    found = {name: np.zeros((len(tables), len(sources), 4)) for name in names}
    for number, table in enumerate(tables):
        world = ItemReplay(table, half_life)
        world.reset(0)
        count = len(world.pages)
        places = np.searchsorted(sources, [page.url for page in world.pages])
        setting = Setting(aim, budget=told.total(count), pages=count, rates=world.rates)
        for name in names:
            policy = WATCHING.choose(name).make(setting)
            polls = simulate(policy, world, seed=0, budget=limit_of(told))
            found[name][number, places] = ephemeral_tally(world, polls, WARM_UP)
    return found


def share(tallies: Floats) -> float:
    value, offered = tallies.reshape(-1, tallies.shape[-1]).sum(axis=0)[:2]
    return float(value / offered)


def told(ours: Floats, other: Floats) -> str:
    """The difference of shares in hundredths; bold: the other is significantly ahead."""
    apart = [100 * (share(b) - share(a)) for a, b in zip(ours, other, strict=True)]
    mean, error = np.mean(apart), stats.sem(apart) if len(apart) > 1 else np.nan
    half = error * stats.t.ppf(0.975, max(len(apart) - 1, 1))
    text = f"{mean:+.2f} ± {half:.2f}"
    return f"**{text}**" if mean > half else text


def cells(arguments: argparse.Namespace) -> Iterator[tuple[str, str, list[ItemTable]]]:
    """The name, the budget and the tables of each cell."""
    for path in arguments.tables:
        items = ItemReplay.read(path, arguments.half_life * HOUR).items
        names = np.array([page.url for page in ItemReplay.read(path, HOUR).pages])
        items = replace(items, source=names[items.source])
        for budget in arguments.budget:
            parts = list(spans(items, float(budget), arguments.starts))
            yield path.name.partition(".")[0], budget, parts
    for name in arguments.world:
        drawn = [WORLDS[name](arguments.seed + start) for start in range(arguments.starts)]
        for budget in arguments.budget:
            parts = [next(spans(items, float(budget), 1)) for items in drawn]
            yield name, budget, parts


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("tables", type=Path, nargs="*")
    parser.add_argument("--world", nargs="*", choices=list(WORLDS), default=[])
    parser.add_argument("--budget", nargs="*", default=list(BUDGETS))
    parser.add_argument("--half-life", type=float, default=6.0)
    parser.add_argument("--starts", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--policy", nargs="*", default=list(POLICIES))
    arguments = parser.parse_args()
    names = [OURS, *(name for name in arguments.policy if name != OURS)]
    print(
        f"| items | polls a day | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|", sep="\n"
    )
    for cell, budget, tables in cells(arguments):
        found = runs_of(tables, names, arguments.half_life * HOUR, budget)
        ours = found[OURS]
        texts = [told(ours, found[name]) for name in names[1:]]
        print(f"| {cell} | {budget} | {share(ours):.4f} | {' | '.join(texts)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
