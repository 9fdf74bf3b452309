"""Draws what policies find a poll while they learn, from the JSON of `pollwise simulate`.

    pollwise simulate --alpha 0.3 --beta 1.0 --polls 50000 --policy bayes-index --policy whittle \\
        --policy uniform --seeds 10 --json > learning.json
    python tools/draw_learning.py learning.json docs/learning.png

Needs matplotlib (the extra `plots`).
"""

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

LABELS = {
    "bayes-index": "bayes-index: learns the change rates on the way",
    "whittle": "whittle: is told all change rates",
    "optimal": "optimal: fixed frequencies for the true rates",
    "uniform": "uniform: every page equally often",
}


def main() -> None:
    """Draw one picture."""
    parser = argparse.ArgumentParser(description="Draw the JSON of `pollwise simulate`.")
    parser.add_argument("json", type=Path)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()
    results = json.loads(arguments.json.read_text(encoding="utf-8"))["results"]
    figure, axes = pyplot.subplots(figsize=(8, 4.2), layout="constrained")
    for result in results:
        points = result["checkpoints"]
        axes.plot(
            [point["polls"] for point in points],
            [point["tail_found_per_poll"] for point in points],
            marker="o",
            label=LABELS.get(result["policy"], result["policy"]),
        )
    axes.set_xscale("log")
    axes.set_ylim(0, 1)
    axes.set_xlabel("polls of 500 pages")
    axes.set_ylabel("changes found a poll\n(last 20 % of the polls)")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(arguments.picture, dpi=120)


if __name__ == "__main__":
    main()
