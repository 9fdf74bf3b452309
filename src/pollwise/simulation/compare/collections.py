"""What `pollwise simulate --world graph --change-load ...` computes."""

from collections.abc import Sequence

from pollwise.errors import InputError
from pollwise.policies.catalogue import CollectingSetting, ControllerChoice
from pollwise.simulation.collecting_run import CollectingRun, collect_run
from pollwise.simulation.compare.figures import Figures, Report, means_of_seeds
from pollwise.simulation.compare.told import Terms, told_and_not
from pollwise.simulation.worlds.changing_graph import ChangingGraph
from pollwise.simulation.worlds.graph import Graph

__all__ = ["COLLECTED_BY", "COLLECTING_COLUMNS", "collect_policies"]

COLLECTED_BY = ("robot", "fixed-shares", "random")
"""The policies compared by default."""


def collect_policies(
    graph: Graph,
    policies: Sequence[ControllerChoice],
    *,
    change_load: float,
    requests: int | None,
    seeds: int,
    report: Report,
    topic: Terms | None = None,
) -> list[Figures]:
    """Have request controllers collect from a graph that changes; one entry per policy.

    If there is a `topic`, those that heed one have a second entry, told it (`told_and_not`).
    `requests` None: as many as the graph has pages. `recall`, `freshness` and `quality`, which is
    min(R, F), are means over all requests; those in `last_half` over the last half of them. Seeds
    are 0, 1, ...; with the same seed policies face the same changes. `InputError` for a policy
    that has to know all pages, since new ones appear.
    """
    for policy in [policy for policy in policies if policy.takes("relevance")]:
        raise InputError(
            f"{policy.text} has to know all pages, but where pages change new ones come into being:"
            " leave it out, or leave out --change-load"
        )
    length = len(graph) if requests is None else requests
    results = []
    for name, policy, told in told_and_not(policies, topic):
        runs = []
        for seed in range(seeds):
            report(f"{name}, seed {seed + 1} of {seeds}")
            controller = policy.make(CollectingSetting(seed=seed, topic=told))
            world = ChangingGraph(graph, change_load=change_load, seed=seed)
            runs.append(collect_run(world, controller, length))
        results.append(
            {"policy": name, "topic": graph.topic, "requests": length}
            | means_of_seeds([_collecting_figures(run, 0) for run in runs])
            | {"last_half": means_of_seeds([_collecting_figures(run, length // 2) for run in runs])}
        )
    return results


def _collecting_figures(run: CollectingRun, begin: int) -> dict[str, float]:
    return {
        "quality": float(run.quality[begin:].mean()),
        "recall": float(run.recall[begin:].mean()),
        "freshness": float(run.freshness[begin:].mean()),
    }


COLLECTING_COLUMNS = {
    "policy": ("policy", "s"),
    "requests": ("requests", ",d"),
    "quality": ("min(R, F)", ".4f"),
    "recall": ("recall", ".4f"),
    "freshness": ("freshness", ".4f"),
}
"""The columns of the table that people see; see `pollwise.console.simulations.Columns`."""
