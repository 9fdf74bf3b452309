"""How well the topic filter tells pages about a topic, on judged pages; how its scale is fitted.

    python benchmarks/relevance.py [--fit]

A filter takes in all pages of `tests/data/topics`, in a few random orders, and then scores the
judged ones. Printed are, for each way to tell a topic and for each half of the pages, precision and
recall of "relevance > 0" and of "relevance >= 0.5", the Brier score, and the expected calibration
error (ten bins). `--fit` prints slope and intercept of `pollwise.relevance.calibration`, from the
tuning half.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pollwise.relevance.packing import unpack_terms
from pollwise.relevance.parsed_text import ParsedText
from pollwise.relevance.topic_filter import TopicFilter
from pollwise.testing.judged_pages import JudgedPages

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "topics"
WAYS = ("few words", "a dozen words", "examples")
ORDERS = 3

Floats = NDArray[np.float64]
Judgements = NDArray[np.bool_]


def scored(data: JudgedPages, way: str) -> tuple[Floats, Floats, Judgements, Judgements]:
    """Relevance and height above the floor of each judged page; is it about, is it held out."""
    rows = []
    names = list(data.pages)
    for topic, ways in data.topics.items():
        for seed in range(ORDERS):
            relevance = TopicFilter(ways[way])
            for place in np.random.default_rng(seed).permutation(len(names)):
                host, path = names[place]
                relevance.observe(host, data.pages[host, path])
            for judged in data.judged:
                if judged.topic == topic:
                    page = data.pages[judged.host, judged.path]
                    rows.append(
                        (
                            relevance.score(judged.host, page),
                            height(relevance, judged.host, page),
                            judged.is_about,
                            judged.is_held_out,
                        )
                    )
    scores, heights, about, held_out = zip(*rows, strict=True)
    return np.array(scores), np.array(heights), np.array(about), np.array(held_out)


def height(relevance: TopicFilter, host: str, page: ParsedText) -> float:
    """The place of the page's cosine between floor (0) and top (1)."""
    hashes, counts, language = unpack_terms(relevance.pack(host, page))
    profile = relevance._profile(language)
    weights = profile.weights(hashes, profile.specific(host, hashes, counts))
    return profile.height(hashes, weights)


def figures(scores: Floats, about: Judgements) -> list[float]:
    """Precision and recall above 0 and from 0.5 on, Brier score, expected calibration error."""
    result = []
    for hit in (scores > 0, scores >= 0.5):
        result += [about[hit].mean(), hit[about].mean()]
    bins = np.minimum((scores * 10).astype(int), 9)
    error = sum(abs(np.sum(scores[bins == each] - about[bins == each])) for each in np.unique(bins))
    return [*result, np.mean(np.square(scores - about)), error / len(scores)]


def fitted(heights: Floats, about: Judgements) -> tuple[float, float]:
    """Slope and intercept of the likeliest sigmoid of the log-odds of the height."""
    inside = heights > 0
    clipped = np.clip(heights[inside], 0.001, 0.999)
    features = np.column_stack([np.log(clipped / (1 - clipped)), np.ones(inside.sum())])
    weights = np.zeros(2)
    for _ in range(50):
        chance = 1 / (1 + np.exp(-features @ weights))
        curvature = features.T @ (features * (chance * (1 - chance))[:, None])
        weights += np.linalg.solve(curvature, features.T @ (about[inside] - chance))
    return float(weights[0]), float(weights[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fit", action="store_true", help="fit the scale instead")
    arguments = parser.parse_args()
    data = JudgedPages.read(FOLDER)
    results = {way: scored(data, way) for way in WAYS}
    if arguments.fit:
        heights = np.concatenate([heights[~held] for _, heights, _, held in results.values()])
        about = np.concatenate([about[~held] for *_, about, held in results.values()])
        print("slope {:.3f}, intercept {:.3f}".format(*fitted(heights, about)))
        return
    print(f"{'':24}{'precision, recall > 0':>24}{'>= 0.5':>14}{'Brier':>9}{'ECE':>7}")
    for way, (scores, _, about, held_out) in results.items():
        for half, chosen in (("tuning", ~held_out), ("held out", held_out)):
            p, r, p_half, r_half, brier, error = figures(scores[chosen], about[chosen])
            print(
                f"{way:14}{half:10}{p:18.2f}{r:6.2f}{p_half:8.2f}{r_half:6.2f}{brier:9.3f}{error:7.3f}"
            )


if __name__ == "__main__":
    main()
