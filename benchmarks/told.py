"""How soon a robot finds its topic on a recorded graph: not told it, told two words, and a dozen.

    python benchmarks/told.py GRAPHS/wikispeedia [TOPIC ...] [--seeds 5] [--share 1]
    python benchmarks/told.py GRAPHS/debdocs [TOPIC ...] [--front-pages] [--share 0.01]

It prints the recall after 0.5, 1, 5 and 10 % of the requests, the share of the hosts with relevant
pages that it came to by links (bridges; without those it begins with), and the share of the upper
bound of a whole traversal (`--share 1`), as means ± standard errors over seeds: for each topic, for
the topics that the robot was tuned on, and for those that were kept back. `--front-pages`: it
begins with the front page of each host, beside the start page. Much depends on their order, which
each seed draws anew.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pollwise.policies.collecting.robot import Robot
from pollwise.relevance.topic import topic as topic_of
from pollwise.simulation.scores.summary import mean_of
from pollwise.simulation.traversal import traverse
from pollwise.simulation.worlds.graph import Graph

# The words that the relevances of the recorded graphs were made from.
WORDS = {
    "statistics": "probability distribution statistics statistical variance mean median regression"
    " covariance correlation sampling random",
    "concurrency": "concurrency thread threads mutex lock locking semaphore atomic barrier deadlock"
    " scheduler synchronization",
    "gui": "widget window button dialog layout toolbar menu mouse click cursor focus signal slot"
    " scroll",
    "audio": "audio sound alsa pcm codec mixer playback microphone waveform sampling speaker",
    "simd": "simd intrinsics lanes avx sse neon packed vector integers mask shuffle unsigned bit",
    "physics": "physics energy quantum particle electron force relativity mechanics wave field mass"
    " light atom nuclear",
    "storms": "hurricane storm tropical cyclone wind rainfall landfall damage flood season"
    " earthquake tsunami",
    "war": "war battle army military soldiers troops general invasion siege empire navy treaty"
    " weapons victory",
    "birds": "bird birds species nest eggs feathers wings plumage breeding habitat",
    "railways": "railway train trains locomotive station tram rail steam engine underground",
}
TUNED = ("statistics", "audio", "physics", "birds")
SHARES = (0.005, 0.01, 0.05, 0.1)
HOWS = {"not told": 0, "two words": 2, "a dozen": 99}


def front_pages(graph: Graph) -> list[int]:
    """The index nearest to the root of each host, or what comes nearest to one."""
    best: dict[str, tuple[tuple[bool, int, int, int], int]] = {}
    for page_id in range(1, len(graph)):
        path = graph.paths[page_id]
        is_other = not path.rpartition("/")[2].startswith("index")
        key = (is_other, path.count("/"), len(path), page_id)
        host = graph.hosts[page_id]
        if host not in best or key < best[host][0]:
            best[host] = (key, page_id)
    return [page_id for _, page_id in best.values()]


def figures(
    graph: Graph, words: str, seeds: int, share: float, fronts: Sequence[int]
) -> NDArray[np.float64]:
    """For each seed: the recalls, as far as the traversal goes, the share of the hosts that it came
    to, and the share of the bound.
    """
    begun_with = {graph.hosts[page_id] for page_id in (graph.START, *fronts)}
    relevant = {graph.hosts[page_id] for page_id in np.flatnonzero(graph.relevance)} - begun_with
    told = dict.fromkeys(topic_of(words).words, 1.0) if words else None
    requests = round(share * len(graph))
    places = [round(one * len(graph)) for one in SHARES if one <= share]
    rows = []
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        [drawing] = generator.spawn(1)
        known = [graph.START, *drawing.permutation(np.array(fronts, np.int64)).tolist()]
        robot = Robot(generator=generator, revisit=False, topic=told)
        [traversal] = traverse(graph, robot, 1, requests, known=known)
        came_to = {graph.hosts[page_id] for page_id in traversal.requested if page_id >= 0}
        hosts = len(came_to & relevant) / len(relevant) if relevant else 1.0
        rows.append([*traversal.recalls[places], hosts, traversal.of_upper_bound])
    found = np.array(rows)
    return found if share == 1 else found[:, :-1]


def show(how: str, name: str, found: NDArray[np.float64]) -> None:
    """Print the means of some figures and their standard errors, which one seed has not."""
    print(f"{how:10s} {name:13s}", end="")
    for values in found.T:
        mean = mean_of(values.tolist())
        error = "" if mean.stderr is None else f" ±{mean.stderr:.3f}"
        print(f" {mean.value:6.3f}{error:7s}", end="")
    print(flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("graph", type=Path)
    parser.add_argument("topics", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--front-pages", action="store_true")
    asked = parser.parse_args()
    topics = asked.topics or Graph.read(asked.graph).topics
    names = [*(f"{one:.1%}" for one in SHARES if one <= asked.share), "hosts"]
    print(f"{'':24s}", *(f"{name:>6s}       " for name in names), "of bound" * (asked.share == 1))
    for how, number in HOWS.items():
        found = {}
        for name in topics:
            graph = Graph.read(asked.graph, name)
            fronts = front_pages(graph) if asked.front_pages else []
            words = " ".join(WORDS[name].split()[:number])
            found[name] = figures(graph, words, asked.seeds, asked.share, fronts)
            show(how, name, found[name])
        for group, those in (
            ("tuned", [name for name in topics if name in TUNED]),
            ("kept back", [name for name in topics if name not in TUNED]),
            ("mean", topics),
        ):
            if those:
                show(how, group, np.mean([found[name] for name in those], axis=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
