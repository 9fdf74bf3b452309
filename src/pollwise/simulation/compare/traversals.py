"""What `pollwise simulate --world graph` computes: request controllers on a static graph."""

from collections.abc import Sequence

from pollwise.policies.catalogue import CollectingSetting, ControllerChoice
from pollwise.policies.collecting.oracles import UpperBound
from pollwise.simulation.compare.figures import Figures, Report, means_of_seeds
from pollwise.simulation.compare.told import Terms, told_and_not
from pollwise.simulation.traversal import SHARES, Traversal, traverse
from pollwise.simulation.worlds.graph import Graph

__all__ = ["TRAVERSAL_COLUMNS", "TRAVERSED_BY", "traversal_rows", "traverse_policies"]

TRAVERSED_BY = ("robot", "fringe-greedy", "random")
"""The policies compared by default."""


def traverse_policies(
    graph: Graph,
    policies: Sequence[ControllerChoice],
    *,
    traversals: int,
    seeds: int,
    report: Report,
    topic: Terms | None = None,
) -> list[Figures]:
    """Have request controllers traverse a graph; one entry per policy, seeds 0, 1, ...

    If there is a `topic`, those that heed one have a second entry, told it (`told_and_not`).
    Each entry has a list `traversals` with the performance as a share of that of the upper bound
    (`of_upper_bound`) and the `recall` by share of the crawl.
    """
    results = []
    for name, policy, told in told_and_not(policies, topic):
        runs = []
        for seed in range(seeds):
            report(f"{name}, seed {seed + 1} of {seeds}")
            setting = CollectingSetting(graph.relevance, revisit=False, seed=seed, topic=told)
            controller = policy.make(setting)
            known = range(len(graph)) if isinstance(controller, UpperBound) else [graph.START]
            runs.append(traverse(graph, controller, traversals, known=known))
        figures = [_traversal_figures(each) for each in zip(*runs, strict=True)]
        results.append({"policy": name, "topic": graph.topic, "traversals": figures})
    return results


def _traversal_figures(seeds: Sequence[Traversal]) -> Figures:
    """The figures of the same traversal with several seeds."""
    figures = means_of_seeds([{_BOUND: t.of_upper_bound} | _recalls(t) for t in seeds])
    errors = figures.pop("stderr", None)
    result = _with_recall(figures)
    if errors is not None:
        result["stderr"] = _with_recall(errors)
    return result


_BOUND = "of_upper_bound"


def _recalls(traversal: Traversal) -> dict[str, float]:
    return {str(share): traversal.recall(share) for share in SHARES}


def _with_recall(figures: Figures) -> Figures:
    recall = {name: value for name, value in figures.items() if name != _BOUND}
    return {_BOUND: figures[_BOUND], "recall": recall}


TRAVERSAL_COLUMNS = {
    "policy": ("policy", "s"),
    "traversal": ("no.", ",d"),
    _BOUND: ("of upper bound", ".4f"),
    "0.01": ("recall at 1 %", ".4f"),
    "0.05": ("recall at 5 %", ".4f"),
}
"""The columns of the table that people see; see `pollwise.console.simulations.Columns`."""


def traversal_rows(results: Sequence[Figures]) -> list[Figures]:
    """The results of `traverse_policies` with a row for each traversal."""
    return [
        {"policy": result["policy"], "traversal": number}
        | _flat(figures)
        | ({"stderr": _flat(figures["stderr"])} if "stderr" in figures else {})
        for result in results
        for number, figures in enumerate(result["traversals"], start=1)
    ]


def _flat(figures: Figures) -> Figures:
    return {_BOUND: figures[_BOUND], **figures["recall"]}
