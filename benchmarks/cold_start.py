"""What policies achieve from the first poll on, over time: makes docs/cold-start.png.

    python benchmarks/cold_start.py TRACES [--out docs/cold-start.png] [--budget 0.05]

For six histories and three objectives: the figure of the objective up to each moment.
Peers are those that learn best from the start on these histories; `whittle` is told all rates.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from worlds import COSTS, FIGURES, HISTORIES, OURS, TOLD

from pollwise.metrics import ratios, tally
from pollwise.objectives import objective
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.scheduler.budgets import parse_budget
from pollwise.simulation.compare.replays import limit_of
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.replay import Replay

NAMES = ("opendata", "endoflife", "scoop", "peps", "awspolicies", "curlwww")
OBJECTIVES = ("freshness", "delay", "detection")
LINES = {
    OURS: ("#0b6e4f", "-"),
    "uniform": ("#8a8f98", "-"),
    "cho-mle": ("#c77d0a", "-"),
    "stormcrawler": ("#8e4585", "-"),
    "newsblur": ("#3568a8", "-"),
    TOLD: ("#222222", ":"),
}
TITLES = {
    "freshness": "out of date, share of time",
    "delay": "mean delay, days",
    "detection": "changes seen",
}
_WINDOWS = 40

Floats = NDArray[np.float64]


def over_time(world: Replay, policy: str, aim: str, budget_text: str) -> Floats:
    """The figure of the objective from the begin up to the end of each window."""
    budget, pages = parse_budget(budget_text), len(world.pages)
    setting = Setting(objective(aim), budget=budget.total(pages), pages=pages, rates=world.rates)
    made = WATCHING.choose(policy).make(setting)
    polls = simulate(made, world, seed=0, budget=limit_of(budget))
    edges = np.linspace(world.begin, world.end, _WINDOWS + 1)
    sums = [
        tally(polls, world.changes, begin=world.begin, end=end).sum(axis=0) for end in edges[1:]
    ]
    values = ratios(np.array(sums))[FIGURES[aim]]
    if aim == "freshness":
        return 1.0 - values
    return values / 86_400.0 if aim in COSTS else values


def main() -> None:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/cold-start.png"))
    parser.add_argument("--budget", default="0.05", help="polls a day and page")
    arguments = parser.parse_args()
    corpora = {corpus.name: corpus for corpus in HISTORIES}
    figure, panels = plt.subplots(
        len(OBJECTIVES), len(NAMES), figsize=(18, 8.5), squeeze=False, layout="constrained"
    )
    share = np.arange(1, _WINDOWS + 1) / _WINDOWS * 100
    for column, name in enumerate(NAMES):
        world = corpora[name].read(arguments.traces)
        world.reset(0)
        sweep = 100.0 / (float(arguments.budget) * (world.end - world.begin) / 86_400.0)
        for row, aim in enumerate(OBJECTIVES):
            panel = panels[row, column]
            for policy, (colour, style) in LINES.items():
                values = over_time(world, policy, aim, f"{arguments.budget}/day/page")
                width = 2.4 if policy == OURS else 1.3
                panel.plot(share, values, style, color=colour, linewidth=width, label=policy)
            panel.axvline(sweep, color="#cccccc", linewidth=1, zorder=0)
            if aim == "freshness":
                panel.set_yscale("log")
            else:
                panel.set_ylim(bottom=0)
            panel.spines[["top", "right"]].set_visible(False)
            if row == 0:
                panel.set_title(name)
            if column == 0:
                panel.set_ylabel(TITLES[aim])
            if row == len(OBJECTIVES) - 1:
                panel.set_xlabel("% of the time")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(LINES), frameon=False)
    figure.suptitle(
        f"From the first poll on, at {arguments.budget} polls a day and page"
        " (grey line: one poll for each page)"
    )
    figure.savefig(arguments.out, dpi=80)


if __name__ == "__main__":
    main()
