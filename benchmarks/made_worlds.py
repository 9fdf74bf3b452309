"""Made-up worlds that the default policy was not made for: where is it below a simple peer?

    python benchmarks/made_worlds.py [--world NAME ...] [--budget 0.02 ...] [--objective NAME ...]
        [--starts 4] [--seed 0] [--runs build/made-worlds] [--losses] [--out FILE]

Each world is a few sites of some hundred pages whose changes are drawn from `--seed` in a way that
real webs have and a Poisson process has not; `WORLDS` says how. A cell is a world, a budget (polls
a day and page) and an objective. In it `bayes-index` is compared with uniform polling and with each
peer as in `worlds.py`: from several starts, with a paired bootstrap over the pages. `whittle`, told
each page's mean rate, is a reference. The first table counts the cells of each world, the second
has those in which bayes-index is significantly below a policy, with what is lost against the best
of these, the largest loss first; `--losses` prints the second one for the first quarter of the
time, too.

A loss is the share by which the cost is more (delay, age) or the gain is less (freshness,
detection) than the rival's. A world ends when there were `MOST_POLLS` polls from a start, so at
large budgets it is shorter. What was run is kept in --runs and not run again: give another folder
for another version.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from results import OURS
from worlds import COSTS, FIGURES, PARTS, RIVALS, TOLD, started

from pollwise.metrics import Changes, Polls, ratios, tally
from pollwise.objectives import objective
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.scheduler.budgets import parse_budget
from pollwise.simulation.compare.replays import limit_of
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.replay import Replay
from pollwise.types import Observation, Page
from pollwise.units import DAY, HOUR, MINUTE

BUDGETS = ("0.02", "0.1", "0.5", "2")
OBJECTIVES = ("freshness", "delay", "detection")
MOST_POLLS = 25_000
BEGIN = 1_704_067_200.0
"""The first of January 2024, a Monday."""
_REBUILT_AT = 3 * HOUR
"""The time of day at which a site stamps all its pages, changed or not."""
_RESAMPLES = 1_000

Floats = NDArray[np.float64]
Generator = np.random.Generator


@dataclass(frozen=True, slots=True)
class Made:
    """The pages of a world: of each its site and when it changed, in seconds since the begin."""

    sites: list[str]
    times: list[Floats]
    days: float
    born: list[float] | None = None
    reverts: list[NDArray[np.bool_]] | None = None

    def world(self, *, told: str = "") -> Replay:
        """The world; `told`: which dates polls tell, "true" ones, those "stamped", or none."""
        end = BEGIN + self.days * DAY
        born = np.zeros(len(self.sites)) if self.born is None else np.array(self.born)
        order = [np.unique(times) for times in self.times]
        inside = [
            times[(times > birth) & (times < self.days * DAY)]
            for times, birth in zip(order, born, strict=True)
        ]
        changes = Changes.of(
            [BEGIN + times for times in inside], BEGIN + born, np.full(len(born), np.inf)
        )
        if self.reverts is not None:
            changes = replace(changes, reverted=np.concatenate(self.reverts))
        pages = [
            Page(number, url=f"https://{site}/{number}", site=site)
            for number, site in enumerate(self.sites)
        ]
        kind = Stamped if told == "stamped" else Replay
        made = kind._of(pages, changes, end, told != "")
        made.reset(0)
        return made


class Stamped(Replay):
    """A world whose servers take the time of the latest nightly rebuild for that of a change."""

    def _poll(self, page_id: int, now: float) -> Observation:
        found = super()._poll(page_id, now)
        return replace(found, last_changed_at=now - (now - BEGIN - _REBUILT_AT) % DAY)


def poisson(generator: Generator, rate: float, begin: float, end: float) -> Floats:
    """The times of a Poisson process of so many changes a day between two days."""
    end = max(begin, end)
    count = generator.poisson(rate * (end - begin))
    return np.sort(generator.uniform(begin * DAY, end * DAY, count))


def _spread(generator: Generator, slowest: float, fastest: float) -> float:
    """A rate, evenly spread on a logarithmic scale."""
    return float(np.exp(generator.uniform(np.log(slowest), np.log(fastest))))


def _sites(pages: int, of_each: int) -> list[str]:
    return [f"s{page // of_each}.test" for page in range(pages)]


def daily(generator: Generator) -> Made:
    """Every page changes each day at the hour of its site, but for some minutes."""
    hours = generator.integers(0, 24, 6)
    times = [
        (np.arange(200) * 24 + hours[page // 20]) * HOUR + generator.uniform(0, 5 * MINUTE, 200)
        for page in range(120)
    ]
    return Made(_sites(120, 20), times, 200)


def periodic(generator: Generator) -> Made:
    """Every 6 hours, each day, each Monday, each first of a month: one period for each page."""
    days = 200
    months = np.cumsum([0, 31, 29, 31, 30, 31, 30])
    starts = (
        np.arange(4 * days) * 0.25,
        np.arange(days).astype(np.float64),
        np.arange(0, days, 7).astype(np.float64),
        months.astype(np.float64),
    )
    hours = generator.integers(0, 6, 6)
    times = []
    for page in range(120):
        own = starts[generator.integers(4)]
        times.append(
            own * DAY + hours[page // 20] * HOUR + generator.uniform(0, 5 * MINUTE, len(own))
        )
    return Made(_sites(120, 20), times, days)


def office(generator: Generator) -> Made:
    """Changes on weekdays from 8 to 18 only, and none in two holidays of two weeks."""
    days, times = 200, []
    for _ in range(120):
        own = poisson(generator, 24 / 10 * 7 / 5 * _spread(generator, 0.02, 3.0), 0, days)
        day, hour = own // DAY, own % DAY / HOUR
        at_work = (day % 7 < 5) & (hour >= 8) & (hour < 18)
        away = ((day >= 60) & (day < 74)) | ((day >= 140) & (day < 154))
        times.append(own[at_work & ~away])
    return Made(_sites(120, 20), times, days)


def bursts(generator: Generator) -> Made:
    """Ten edits within two hours, and then weeks of silence."""
    times = []
    for _ in range(120):
        begins = poisson(generator, 1.0 / _spread(generator, 10.0, 60.0), 0, 300)
        times.append((begins[:, None] + generator.uniform(0, 2 * HOUR, (len(begins), 10))).ravel())
    return Made(_sites(120, 20), times, 300)


def news(generator: Generator) -> Made:
    """Fronts that always change, and two new articles a day, frozen for good after some days."""
    days, fronts = 100, 10
    times = [poisson(generator, _spread(generator, 6.0, 50.0), 0, days) for _ in range(fronts)]
    born, sites = [0.0] * fronts, [f"s{page}.test" for page in range(fronts)]
    for article in range(2 * days):
        birth = article / 2 + generator.uniform(0.0, 0.5)
        lasts = generator.uniform(0.5, 5.0)
        times.append(poisson(generator, _spread(generator, 0.5, 8.0), birth, birth + lasts))
        born.append(birth * DAY)
        sites.append(f"s{generator.integers(fronts)}.test")
    return Made(sites, times, days, born)


def jumps(generator: Generator) -> Made:
    """Rates that become 30 times as large, or as small, once or twice."""
    times = []
    for _ in range(120):
        slow = _spread(generator, 0.003, 0.15)
        fast = bool(generator.integers(2))
        ends = [*np.sort(generator.uniform(20.0, 280.0, generator.integers(1, 3))), 300.0]
        own, begin = [], 0.0
        for end in ends:
            own.append(poisson(generator, slow * (30.0 if fast else 1.0), begin, end))
            begin, fast = end, not fast
        times.append(np.concatenate(own))
    return Made(_sites(120, 20), times, 300)


def _deployed(generator: Generator, deployments: Floats) -> Made:
    times = [deployments + generator.uniform(0, 5 * MINUTE, len(deployments)) for _ in range(90)]
    times += [poisson(generator, _spread(generator, 0.01, 1.0), 0, 200) for _ in range(50)]
    return Made(["s0.test"] * 90 + [f"s{1 + page // 10}.test" for page in range(50)], times, 200)


def deployed(generator: Generator) -> Made:
    """A site whose 90 pages change together, once a week at random, beside independent ones."""
    return _deployed(generator, poisson(generator, 1 / 7, 0, 200))


def deployed_weekly(generator: Generator) -> Made:
    """The same with a deployment each Thursday at noon."""
    return _deployed(generator, ((np.arange(28) * 7 + 3.5) * DAY).astype(np.float64))


def heavy(generator: Generator) -> Made:
    """One page of ten changes every ten minutes, six never, three at some rate between."""
    times = []
    for page in range(120):
        kind = page % 10
        if kind == 0:
            times.append(np.arange(0.0, 200 * DAY, 10 * MINUTE) + generator.uniform(1, 9 * MINUTE))
        elif kind < 7:
            times.append(np.empty(0))
        else:
            times.append(poisson(generator, _spread(generator, 0.01, 3.0), 0, 200))
    return Made(_sites(120, 20), times, 200)


def seasonal(generator: Generator) -> Made:
    """A month of activity in a year, and hardly a change in the rest of it."""
    times = []
    for _ in range(120):
        begin = generator.uniform(-30.0, 335.0)
        rate = _spread(generator, 0.3, 3.0)
        own = [poisson(generator, rate / 200, 0, 400)]
        own += [
            poisson(generator, rate, max(start, 0.0), min(start + 30, 400.0))
            for start in (begin, begin + 365)
        ]
        times.append(np.concatenate(own))
    return Made(_sites(120, 20), times, 400)


def standstill(generator: Generator) -> Made:
    """Poisson pages; each site stands still twice, for 10 to 40 days, and goes on as before."""
    days, times = 300, []
    begins = generator.uniform((30.0, 150.0), (120.0, 260.0), (6, 2)) * DAY
    ends = begins + generator.uniform(10.0, 40.0, (6, 2)) * DAY
    for page in range(120):
        own = poisson(generator, _spread(generator, 0.02, 20.0), 0, days)
        for begin, end in zip(begins[page // 20], ends[page // 20], strict=True):
            own = own[(own < begin) | (own > end)]
        times.append(own)
    return Made(_sites(120, 20), times, days)


def alike(generator: Generator) -> Made:
    """Poisson pages; those of a site have the same rate."""
    rates = [_spread(generator, 0.005, 5.0) for _ in range(12)]
    times = [poisson(generator, rates[page // 10], 0, 200) for page in range(120)]
    return Made(_sites(120, 10), times, 200)


def mixed(generator: Generator) -> Made:
    """Poisson pages; those of a site have all kinds of rates."""
    times = [poisson(generator, _spread(generator, 0.005, 5.0), 0, 200) for _ in range(120)]
    return Made(_sites(120, 10), times, 200)


def reverts(generator: Generator) -> Made:
    """Pages that change back after an hour, always or half of the times."""
    times, reverted = [], []
    for page in range(120):
        own = poisson(generator, _spread(generator, 0.02, 2.0), 0, 200)
        own = own[np.diff(own, prepend=-np.inf) > 2 * HOUR]
        own = own[(own > 0) & (own < 199 * DAY)]
        back = own[generator.random(len(own)) < (1.0 if page % 2 else 0.5)] + HOUR
        joined = np.concatenate([own, back])
        order = np.argsort(joined)
        times.append(joined[order])
        reverted.append((order >= len(own)).astype(np.bool_))
    return Made(_sites(120, 20), times, 200, reverts=reverted)


@dataclass(frozen=True, slots=True)
class World:
    """How a world is drawn, and which dates polls tell in it."""

    draw: Callable[[Generator], Made]
    told: str = ""


WORLDS = {
    "daily": World(daily),
    "daily, dates told": World(daily, "true"),
    "periodic": World(periodic),
    "periodic, dates told": World(periodic, "true"),
    "office": World(office),
    "bursts": World(bursts),
    "news": World(news),
    "jumps": World(jumps),
    "deployed": World(deployed),
    "deployed weekly": World(deployed_weekly),
    "heavy": World(heavy),
    "seasonal": World(seasonal),
    "standstill": World(standstill),
    "sites alike": World(alike),
    "sites mixed": World(mixed),
    "reverts": World(reverts),
    "mixed, dates told": World(mixed, "true"),
    "mixed, dates stamped": World(mixed, "stamped"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One comparison."""

    world: str
    budget: str
    objective: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How bayes-index did in a cell: `losses` against policies that it is significantly below."""

    cell: Cell
    values: dict[str, float]
    losses: dict[str, float]
    ahead: bool

    @property
    def worst(self) -> tuple[str, float]:
        """The policy that it is below by most, and by how much."""
        return max(self.losses.items(), key=lambda pair: pair[1])


def _polls(policy: Policy, world: Replay, rate: float) -> Polls:
    """What a policy polls, poll by poll: all pages of the world are there all the time."""
    ids, times, now = list[int](), list[float](), world.begin
    policy.add(world.pages)
    while now < world.end:
        selection = policy.select(now, 1)
        if len(selection.page_ids) == 0:
            now = max(selection.wake_at, float(np.nextafter(now, np.inf)))
            continue
        policy.observe(world.poll(selection.page_ids.tolist(), now))
        ids.append(int(selection.page_ids[0]))
        times.append(now)
        now += 1.0 / rate
    return Polls(np.array(ids, np.int64), np.array(times))


class Runs:
    """Tallies by page of all parts of the time, run once and kept in files."""

    def __init__(self, folder: Path, starts: int, seed: int) -> None:
        self._folder, self._starts, self._seed = folder, starts, seed
        self._worlds: dict[str, Replay] = {}

    def _file(self, cell: Cell, policy: str) -> Path:
        aim = cell.objective if WATCHING.choose(policy).takes("objective") else "any"
        name = f"{cell.world}_{cell.budget}_{aim}_{policy}_{self._starts}_{self._seed}.npz"
        return self._folder / name.replace(" ", "-")

    def get(self, cell: Cell, policy: str, part: str) -> Floats:
        """The tally of what was run, a row for each page."""
        with np.load(self._file(cell, policy)) as kept:
            rows: Floats = kept[part]
            return rows

    def run(self, cell: Cell, policy: str) -> None:
        """Run a policy on a cell, unless that was done."""
        file = self._file(cell, policy)
        if file.exists():
            return
        budget = parse_budget(f"{cell.budget}/day/page")
        whole = self._world(cell.world)
        pages = len(whole.pages)
        last = whole.begin + MOST_POLLS / budget.total(pages)
        names = {page.url: number for number, page in enumerate(whole.pages)}
        parts = dict[str, Floats]()
        for start in started(whole.within(whole.begin, last), budget.total(1), self._starts):
            start.reset(0)
            setting = Setting(
                objective(cell.objective),
                budget=budget.total(len(start.pages)),
                pages=len(start.pages),
                rates=start.rates,
            )
            made = WATCHING.choose(policy).make(setting)
            if isinstance(start, Stamped):
                polls = _polls(made, start, setting.budget)
            else:
                polls = simulate(made, start, seed=0, budget=limit_of(budget))
            rows = [names[page.url] for page in start.pages]
            span = start.end - start.begin
            for part, (begin, end) in PARTS.items():
                total = tally(
                    polls,
                    start.changes,
                    begin=start.begin + begin * span,
                    end=start.begin + end * span,
                )
                parts.setdefault(part, np.zeros((pages, total.shape[1])))[rows] += total
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, **parts)  # type: ignore[arg-type]
        print(f"{cell}: {policy}", file=sys.stderr)

    def _world(self, name: str) -> Replay:
        if name not in self._worlds:
            self._worlds.clear()  # one at a time
            drawn = WORLDS[name].draw(np.random.default_rng(self._seed))
            self._worlds[name] = drawn.world(told=WORLDS[name].told)
        return self._worlds[name]


def verdict(runs: Runs, cell: Cell, part: str) -> Verdict:
    """What came of a cell."""
    tallies = {name: runs.get(cell, name, part) for name in (OURS, *RIVALS, TOLD)}
    figure, is_cost = FIGURES[cell.objective], cell.objective in COSTS
    pages = len(tallies[OURS])
    drawn = np.random.default_rng(0).multinomial(pages, np.full(pages, 1 / pages), _RESAMPLES)
    spread = {name: ratios(drawn @ rows)[figure] for name, rows in tallies.items()}
    values = {name: float(ratios(rows.sum(axis=0))[figure]) for name, rows in tallies.items()}
    losses, ahead = dict[str, float](), True
    for rival in RIVALS:
        better = spread[OURS] - spread[rival]
        low, high = np.nanquantile(-better if is_cost else better, [0.025, 0.975])
        if high < 0:
            ratio = values[OURS] / values[rival]
            losses[rival] = ratio - 1.0 if is_cost else 1.0 - ratio
        ahead = ahead and bool(low > 0)
    return Verdict(cell, values, losses, ahead)


def summary(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """A line of Markdown for each world."""
    yield "| world | cells | ahead of all | below one | largest loss |"
    yield "|---|--:|--:|--:|---|"
    for world in dict.fromkeys(one.cell.world for one in verdicts):
        own = [one for one in verdicts if one.cell.world == world]
        below = [one for one in own if one.losses]
        worst = max(below, key=lambda one: one.worst[1], default=None)
        told = ""
        if worst is not None:
            rival, loss = worst.worst
            told = f"{loss:.1%} {worst.cell.objective} at {worst.cell.budget}, {rival}"
        yield f"| {world} | {len(own)} | {sum(one.ahead for one in own)} | {len(below)} | {told} |"


def losses(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """A line of Markdown for each cell that is below, the largest loss first."""
    yield "| world | budget | objective | bayes-index | best above | loss | told | also above |"
    yield "|---|--:|---|--:|---|--:|--:|---|"
    below = [one for one in verdicts if one.losses]
    for one in sorted(below, key=lambda one: -one.worst[1]):
        cell, (rival, loss) = one.cell, one.worst
        unit = DAY if cell.objective in COSTS else 1.0
        ours, theirs, told = (f"{one.values[name] / unit:.4g}" for name in (OURS, rival, TOLD))
        others = ", ".join(sorted(name for name in one.losses if name != rival))
        yield (
            f"| {cell.world} | {cell.budget} | {cell.objective} | {ours} | {theirs} {rival} |"
            f" {loss:.1%} | {told} | {others} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--world", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--budget", nargs="+", default=BUDGETS)
    parser.add_argument("--objective", nargs="+", default=OBJECTIVES, choices=list(FIGURES))
    parser.add_argument("--starts", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("build/made-worlds"))
    parser.add_argument("--losses", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    runs = Runs(arguments.runs, arguments.starts, arguments.seed)
    cells = [
        Cell(world, budget, name)
        for world in arguments.world
        for budget in arguments.budget
        for name in arguments.objective
    ]
    for cell in cells:
        for policy in (OURS, *RIVALS, TOLD):
            runs.run(cell, policy)
    whole, *others = ("After 15 %", "The first 25 %")
    found = [verdict(runs, cell, whole) for cell in cells]
    lines = [*summary(found), "", f"{whole} of the time:", "", *losses(found)]
    for part in others if arguments.losses else []:
        told = losses([verdict(runs, cell, part) for cell in cells])
        lines += ["", f"{part} of the time:", "", *told]
    text = "\n".join(lines) + "\n"
    if arguments.out is None:
        print(text, end="")
    else:
        arguments.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
