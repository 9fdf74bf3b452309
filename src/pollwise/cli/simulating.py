"""The command that compares policies in simulated worlds."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from pollwise.cli.answers import print_answer
from pollwise.cli.option_groups import names_of, with_groups
from pollwise.cli.options import (
    HalfLifeOption,
    Json,
    ObjectiveName,
    ObjectiveOption,
    PolicyOption,
    parameters_of,
)
from pollwise.errors import InputError

if TYPE_CHECKING:
    from pollwise.simulation.worlds.graph import Graph
    from pollwise.simulation.worlds.stochastic_knapsack import StochasticKnapsack
    from pollwise.simulation.worlds.zipf import Zipf


_MOST = 1_000_000_000
"""Pages or polls: far more than there is memory or time for."""


class MadeWorldOptions(NamedTuple):
    """What worlds without links are like."""

    pages: Annotated[int, typer.Option(min=1, max=_MOST, help="How many pages there are.")] = 500
    alpha: Annotated[
        float, typer.Option(help="Probability that the first page changes in a step.")
    ] = 0.9
    beta: Annotated[
        float, typer.Option(help="The page of rank k changes with the probability alpha / k^beta.")
    ] = 1.5
    noise: Annotated[
        float, typer.Option(help="Standard deviation of white noise (world knapsack).")
    ] = 0.0
    swap_every: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Every so many polls a page, drawn by its change probability, swaps ranks with"
            " the next one. If not given, none does.",
        ),
    ] = None
    perturbations: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=_MOST,
            help="The pages begin in the order of their ranks, after so many swaps of neighbours."
            " If not given, in random order.",
        ),
    ] = None

    def made(self, world: str) -> "Zipf | StochasticKnapsack":
        """The world of this name; `InputError` if there is none, or a number is out of range."""
        from pollwise.simulation.compare.simulations import made_world

        return made_world(world, **self._asdict())


class GraphOptions(NamedTuple):
    """Which graph pages are on, and what is done there."""

    graph: Annotated[
        Path | None,
        typer.Option(
            help="A recorded graph, DIR/NAME, such as DIR/debdocs; if not given, the bundled one"
            " (world graph)."
        ),
    ] = None
    topic: Annotated[
        str | None, typer.Option(help="One of the topics of the graph; if not given, the first.")
    ] = None
    topic_words: Annotated[
        str | None,
        typer.Option(
            help="Words that tell the topic; policies that heed them come twice, told and not told"
            " (world graph)."
        ),
    ] = None
    traversals: Annotated[
        int, typer.Option(min=1, help="How often to traverse it (world graph).")
    ] = 1
    change_load: Annotated[
        float | None,
        typer.Option(
            max=_MOST, help="Changes anywhere on the graph per request; if not given, none."
        ),
    ] = None
    requests: Annotated[
        int | None,
        typer.Option(min=1, max=_MOST, help="With --change-load; if not given, one for each page."),
    ] = None

    def require_fit(self) -> None:
        """`InputError` for what goes with changes, or without, on the other kind of graph."""
        if self.change_load is None and self.requests is not None:
            raise InputError(
                "--requests is for graphs that change: give --change-load, or leave it out"
            )
        if self.change_load is not None and self.traversals > 1:
            raise InputError("--traversals is for graphs without changes: leave out --change-load")

    def read(self) -> "Graph":
        """The graph with its topic; `InputError` if it has no such topic."""
        from pollwise.simulation.worlds.graph import Graph

        return (
            Graph.bundled(self.topic) if self.graph is None else Graph.read(self.graph, self.topic)
        )


_NOT_FOR_GRAPHS = (*names_of(MadeWorldOptions), "polls", "objective", "half_life")


def _refuse(context: typer.Context, world: str, options: tuple[str, ...]) -> None:
    """`InputError` if one of these options, which this world does not have, was given."""
    for name in options:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} is not for the world {world}: leave it out")


def _on_graph(options: GraphOptions, policies: list[str] | None, seeds: int, as_json: bool) -> None:
    """What `simulate --world graph` does."""
    options.require_fit()
    words = options.topic_words
    told = None if words is None else _terms(words)
    world = options.read()
    if options.change_load is None:
        _print_traversals(world, told, policies, options.traversals, seeds, as_json)
    else:
        _print_collections(
            world, told, policies, options.change_load, options.requests, seeds, as_json
        )


def _terms(words: str) -> dict[str, float]:
    """The topic of these words: all terms weigh alike. `InputError` where there is none."""
    from pollwise.relevance.topic import topic

    return dict.fromkeys(topic(words or " ").words, 1.0)


def _titled(graph: "Graph") -> str:
    from pollwise.console.quantities import count

    return f"{count(len(graph), 'page')}, graph, topic {graph.topic}"


def _print_traversals(
    graph: "Graph",
    told: dict[str, float] | None,
    policies: list[str] | None,
    traversals: int,
    seeds: int,
    as_json: bool,
) -> None:
    from pollwise.console.streams import progress_line
    from pollwise.policies.catalogue import COLLECTING
    from pollwise.simulation.compare import traversals as compare

    choices = [COLLECTING.choose(text) for text in policies or compare.TRAVERSED_BY]
    with progress_line() as report:
        results = compare.traverse_policies(
            graph, choices, traversals=traversals, seeds=seeds, report=report, topic=told
        )
    rows = results if as_json else compare.traversal_rows(results)
    print_answer(rows, compare.TRAVERSAL_COLUMNS, as_json, title=_titled(graph))


def _print_collections(
    graph: "Graph",
    told: dict[str, float] | None,
    policies: list[str] | None,
    change_load: float,
    requests: int | None,
    seeds: int,
    as_json: bool,
) -> None:
    from pollwise.console.streams import progress_line
    from pollwise.policies.catalogue import COLLECTING
    from pollwise.simulation.compare import collections as compare

    choices = [COLLECTING.choose(text) for text in policies or compare.COLLECTED_BY]
    with progress_line() as report:
        results = compare.collect_policies(
            graph,
            choices,
            change_load=change_load,
            requests=requests,
            seeds=seeds,
            report=report,
            topic=told,
        )
    print_answer(results, compare.COLLECTING_COLUMNS, as_json, title=_titled(graph))


@with_groups
def simulate(
    context: typer.Context,
    world: Annotated[
        str,
        typer.Option(
            help="zipf: pages that change, one poll a step. knapsack: the pages of the papers on"
            " learning automata; a poll finds a change with a probability that follows from the"
            " share of all polls that the policy gives to the page. graph: pages that link to each"
            " other, to be discovered."
        ),
    ] = "zipf",
    *,
    without_links: MadeWorldOptions,
    polls: Annotated[int, typer.Option(min=1, max=_MOST, help="How many polls are made.")] = 10_000,
    policy: PolicyOption = None,
    objective: ObjectiveOption = ObjectiveName.detection,
    half_life: HalfLifeOption = None,
    on_graph: GraphOptions,
    seeds: Annotated[int, typer.Option(min=1, help="Worlds to average over.")] = 1,
    as_json: Json = False,
) -> None:
    """Compare policies in simulated worlds, one poll a step."""
    if world == "graph":
        _refuse(context, world, _NOT_FOR_GRAPHS)
        return _on_graph(on_graph, policy, seeds, as_json)
    _refuse(context, world, names_of(GraphOptions))
    from pollwise.console.quantities import count
    from pollwise.console.simulations import SIMULATION_COLUMNS
    from pollwise.console.streams import progress_line
    from pollwise.objectives import objective as objective_of
    from pollwise.policies.catalogue import WATCHING
    from pollwise.policies.own import choose, own_failures_told
    from pollwise.simulation.compare.simulations import simulate_policies

    policies = [choose(text) for text in policy or [WATCHING.default]]
    made = without_links.made(world)
    with own_failures_told(policies), progress_line() as report:
        results = simulate_policies(
            made,
            policies,
            objective=objective_of(objective.value, **parameters_of(objective, half_life)),
            polls=polls,
            seeds=seeds,
            report=report,
        )
    title = f"{count(without_links.pages, 'page')}, {world}, one poll a step"
    print_answer(results, SIMULATION_COLUMNS, as_json, title=title)
