"""The command `pollwise`: parses, calls, prints.

Answers go to stdout, for people as tables or for programs (`--json`) as one JSON document;
progress and errors go to stderr. Exit status: 0 done (for `watch`: stopped by Ctrl-C or SIGTERM),
1 an error of ours, 2 an input that cannot be used, 130 interrupted.
"""

import errno
import gc
import json
import math
import os
import signal
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.exceptions import TyperException

from pollwise.errors import InputError, PollwiseError

if TYPE_CHECKING:
    from pollwise.console import Columns

# numba and aiohttp take a while to load: the commands import what they need.

__all__ = ["app", "main"]

app = typer.Typer(
    help="Decides which web page to fetch next under a fetch budget, and learns it online.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_DB = Path("pollwise.db")
_DAY = 86_400.0


class ObjectiveName(StrEnum):
    """What a poll is worth."""

    detection = "detection"
    freshness = "freshness"
    delay = "delay"
    age = "age"
    ephemeral = "ephemeral"


class RevertsName(StrEnum):
    """What changes back to an earlier version count for."""

    counted = "count"
    ignored = "ignore"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Db = Annotated[Path, typer.Option("--db", help="The database file.")]
ObjectiveOption = Annotated[ObjectiveName, typer.Option(help="What a poll is worth.")]
HalfLifeOption = Annotated[
    float | None,
    typer.Option(help="Hours in which an item loses half its value (objective ephemeral)."),
]
PolicyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        help="A policy by name, perhaps with options (lakg:resolution=2500,exponent=1.3); give"
        " several to compare.",
    ),
]


def main() -> None:
    """Run the command line; every input that cannot be used ends in one line and status 2."""
    try:
        status = app(standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        sys.exit(_complain(_usage(error)))
    except PollwiseError as error:
        sys.exit(_complain(str(error)))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except BrokenPipeError:  # whoever read has gone, as `head` does
        _drop_output()
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _drop_output()
        sys.exit(_complain("the answer cannot be written, the disk is full: free some space"))
    sys.exit(status if isinstance(status, int) else 0)


def _drop_output() -> None:
    """What is still buffered must not fail once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str) -> int:
    if message:
        print(f"pollwise: {message}", file=sys.stderr)
    return 2


def _usage(error: TyperException) -> str:
    """What is wrong with the arguments, in one line; empty where the help was shown instead."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    if not message or context is None:
        return message
    return f"{message}; '{context.command_path} --help' shows what can be given"


def _print_json(document: dict[str, Any]) -> None:
    print(json.dumps(_finite(document), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    """A document in which null stands for the numbers that JSON does not know."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _answer(results: list[dict[str, Any]], columns: "Columns", as_json: bool) -> None:
    """Results as a document for programs or as a table for people."""
    from pollwise.console import print_results

    if as_json:
        _print_json({"results": results})
    else:
        print_results(results, columns)


def _parameters(objective: ObjectiveName, half_life: float | None) -> dict[str, float]:
    """The parameters of an objective, as `pollwise.objectives.objective` takes them."""
    if objective is not ObjectiveName.ephemeral:
        if half_life is not None:
            raise InputError(
                f"--half-life {half_life} is for --objective ephemeral, not {objective}:"
                " leave it out"
            )
        return {}
    if half_life is None or not 0 < half_life < math.inf:
        raise InputError(
            "--objective ephemeral needs --half-life, a number of hours above 0, such as 6"
        )
    return {"decay": math.log(2) / (half_life * 3600.0)}


@app.command()
def demo(
    as_json: Json = False,
    seconds: Annotated[float, typer.Option(min=5, help="How long the year takes.")] = 50.0,
) -> None:
    """Watch a year of real pages in a minute, offline: a learned schedule beside the usual one."""
    import uvloop

    from pollwise.console import DemoDisplay, print_demo
    from pollwise.demo import run_demo

    with DemoDisplay() as display:
        results = uvloop.run(run_demo(display.show, seconds=seconds, report=display.say))
    if as_json:
        from dataclasses import asdict

        _print_json({"results": [asdict(result) for result in results]})
    else:
        print_demo(results)


@app.command()
def watch(
    urls: Annotated[list[str] | None, typer.Argument(help="Pages to watch.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="A file with a URL a line, perhaps weight=W cost=C after it."),
    ] = None,
    budget: Annotated[
        str, typer.Option(help="Polls a time, such as 500/hour or 4/day/page.")
    ] = "60/hour",
    objective: ObjectiveOption = ObjectiveName.detection,
    half_life: HalfLifeOption = None,
    revert_worth: Annotated[
        float,
        typer.Option(min=0, max=1, help="What a change back to a version seen before counts for."),
    ] = 1.0,
    db: Db = _DB,
    not_modified_cost: Annotated[
        float, typer.Option(min=0, max=1, help="What a poll costs that is answered 304.")
    ] = 1.0,
) -> None:
    """Watch pages until stopped (Ctrl-C); those in the database from earlier runs as well."""
    # Until it can stop cleanly, Ctrl-C ends the process: as an exception it may get lost in the
    # libraries that are being loaded, and the database bears it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Nothing that is loaded until then is garbage: the start is quicker without looking for it.
    gc.disable()
    from pollwise.watching import watch_pages

    watch_pages(
        urls or [],
        file,
        budget=budget,
        objective_name=objective.value,
        parameters=_parameters(objective, half_life),
        revert_worth=revert_worth,
        db=db,
        not_modified_cost=not_modified_cost,
    )


@app.command()
def collect(
    topic: Annotated[
        str, typer.Option(help='Words that say what the collection is about ("marine biology").')
    ] = "",
    example: Annotated[
        list[str] | None, typer.Option(help="A page about the topic: a URL or a file.")
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="A Python callable that takes a page's text and answers its relevance, 0 to 1.",
        ),
    ] = None,
    seed: Annotated[list[str] | None, typer.Option(help="A page to begin with.")] = None,
    budget: Annotated[
        str, typer.Option(help="Requests a time, such as 2/second or 5000/hour.")
    ] = "1/second",
    db: Db = _DB,
    crawl_delay: Annotated[
        float,
        typer.Option(min=0, help="Seconds between requests to one host, if it asks for no more."),
    ] = 1.0,
    allow: Annotated[
        list[str] | None, typer.Option(help="Only URLs in which this expression is found.")
    ] = None,
    deny: Annotated[
        list[str] | None, typer.Option(help="No URL in which this expression is found.")
    ] = None,
    max_depth: Annotated[
        int | None, typer.Option(min=0, help="The most links between a seed and a page.")
    ] = None,
    pages_per_host: Annotated[
        int | None, typer.Option(min=1, help="The most pages of one host.")
    ] = None,
    requests: Annotated[int | None, typer.Option(min=1, help="Stop after so many polls.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that read responses.")] = 1,
    as_json: Json = False,
) -> None:
    """Build and keep up a collection of pages about a topic, until stopped (Ctrl-C)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as for watch
    gc.disable()
    from pollwise.collecting import CollectOptions, collect_pages

    options = CollectOptions(
        crawl_delay=crawl_delay,
        allow=tuple(allow or ()),
        deny=tuple(deny or ()),
        max_depth=max_depth,
        pages_per_host=pages_per_host,
        requests=requests,
        workers=workers,
    )
    load = collect_pages(
        topic, example or [], judge, seed or [], budget=budget, db=db, options=options
    )
    if as_json:
        from dataclasses import asdict

        _print_json({"results": [asdict(load)]})


@app.command()
def status(db: Db = _DB, as_json: Json = False) -> None:
    """What is watched and what was found."""
    from pollwise.report_console import print_status
    from pollwise.reports import read_status

    report = read_status(db)
    if as_json:
        _print_json(report)
    else:
        print_status(report)


@app.command()
def explain(
    url: Annotated[str, typer.Argument(help="A page that is watched.")],
    db: Db = _DB,
    as_json: Json = False,
) -> None:
    """What is known of a page, and why it is polled next or not."""
    from pollwise.collection_report import explain_collected, holds_collection
    from pollwise.report_console import print_collected, print_explanation
    from pollwise.reports import read_explanation
    from pollwise.robot.urls import canonical

    canonical(url)  # what is no URL is told of first
    collected = holds_collection(db)
    explanation = (explain_collected if collected else read_explanation)(db, url)
    if as_json:
        _print_json(explanation)
    else:
        (print_collected if collected else print_explanation)(explanation)


@app.command()
def plan(
    db: Db = _DB,
    freshness: Annotated[
        float | None,
        typer.Option(help="Also find the cheapest budget that makes pages so fresh, such as 0.9."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves into this PNG file.")] = None,
    as_json: Json = False,
) -> None:
    """What a smaller or a larger budget would bring, by what was learned so far."""
    from pollwise.checks import require_drawable
    from pollwise.planning import draw_plan, read_plan
    from pollwise.report_console import print_plan

    if plot is not None:
        require_drawable(plot, "leave out --plot")
    answer = read_plan(db, freshness, curve=plot is not None)
    if plot is not None:
        draw_plan(plot, answer)
    if as_json:
        _print_json(answer)
    else:
        print_plan(answer)


@app.command()
def search(
    words: Annotated[
        list[str],
        typer.Argument(help="""Such as 'whale OR dolphin "marine biology" -shark'."""),
    ],
    db: Db = _DB,
    limit: Annotated[int, typer.Option(min=1, help="Pages to show.")] = 10,
    as_json: Json = False,
) -> None:
    """Find pages of the collection by the words in them, those about its topic first."""
    from pollwise.search_console import print_hits
    from pollwise.store import Store

    query = " ".join(words)
    with Store.open_readonly(db) as store:
        hits = store.search(query, limit)
    if as_json:
        from dataclasses import asdict

        _print_json({"query": query, "results": [asdict(hit) for hit in hits]})
    else:
        print_hits(db, query, hits)


@app.command()
def serve(
    db: Db = _DB,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8900,
    peers: Annotated[
        list[str] | None,
        typer.Option(
            "--peers",
            metavar="URL",
            help="Another engine, which gets the queries that are about its topic; give several.",
        ),
    ] = None,
) -> None:
    """Answer searches of the collection over HTTP, with the help of peers, until stopped."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as for watch
    from pollwise.serving import serve_collection

    serve_collection(db, host=host, port=port, peers=peers or [])


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="Such as pages.jsonl, .parquet or .warc.gz.")],
    format_name: Annotated[
        str | None,
        typer.Option("--format", help="jsonl, parquet or warc, where the name does not tell."),
    ] = None,
    db: Db = _DB,
    min_relevance: Annotated[
        float | None, typer.Option(help="Only pages so much about the topic (0 to 1).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Write the pages that were seen into a file for other programs."""
    import time

    from pollwise.export import export_collection

    count = export_collection(
        db,
        file,
        now=time.time(),
        format_name=format_name,
        min_relevance=min_relevance,
        force=force,
    )
    print(f"pages written to {file}: {count:,d}", file=sys.stderr)


_GRAPH_ONLY = ("graph", "topic", "traversals", "change_load", "requests")
_NOT_FOR_GRAPHS = (
    *("pages", "alpha", "beta", "noise", "swap_every", "perturbations", "polls"),
    *("objective", "half_life"),
)


def _refuse(context: typer.Context, world: str, options: tuple[str, ...]) -> None:
    """`InputError` if one of the options was given, which are of no use in this world."""
    for name in options:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} is not for the world {world}: leave it out")


def _traverse(
    graph: Path | None,
    topic: str | None,
    policies: list[str] | None,
    traversals: int,
    change_load: float | None,
    requests: int | None,
    seeds: int,
    as_json: bool,
) -> None:
    """What `simulate --world graph` does."""
    from pollwise.collecting_study import COLLECTING_COLUMNS, collect_policies
    from pollwise.console import progress_line
    from pollwise.policies.collecting_catalogue import (
        DEFAULT_COLLECTING_POLICIES,
        DEFAULT_KEEPING_POLICIES,
        require_collecting_policies,
    )
    from pollwise.simulation.graph import Graph
    from pollwise.study import TRAVERSAL_COLUMNS, traversal_rows, traverse_policies

    changing = change_load is not None
    names = policies or list(DEFAULT_KEEPING_POLICIES if changing else DEFAULT_COLLECTING_POLICIES)
    require_collecting_policies(names)
    if graph is None:
        raise InputError(
            "--world graph needs --graph, the place of its files without their endings, such as"
            " DIR/debdocs"
        )
    if change_load is None and requests is not None:
        raise InputError(
            "--requests is for graphs that change: give --change-load, or leave it out"
        )
    if change_load is not None and traversals > 1:
        raise InputError("--traversals is for graphs without changes: leave out --change-load")
    world = Graph.read(graph, topic)
    if change_load is not None:
        with progress_line() as report:
            results = collect_policies(
                world,
                names,
                change_load=change_load,
                requests=requests,
                seeds=seeds,
                report=report,
            )
        return _answer(results, COLLECTING_COLUMNS, as_json)
    with progress_line() as report:
        results = traverse_policies(world, names, traversals=traversals, seeds=seeds, report=report)
    _answer(results if as_json else traversal_rows(results), TRAVERSAL_COLUMNS, as_json)


@app.command()
def simulate(
    context: typer.Context,
    world: Annotated[
        str,
        typer.Option(
            help="zipf: pages to poll. knapsack: amounts to offer. graph: pages to discover."
        ),
    ] = "zipf",
    pages: Annotated[int, typer.Option(min=1)] = 500,
    alpha: Annotated[float, typer.Option(help="Change probability of the first page.")] = 0.9,
    beta: Annotated[float, typer.Option(help="How fast it falls with the rank.")] = 1.5,
    noise: Annotated[
        float, typer.Option(help="Standard deviation of white noise (world knapsack).")
    ] = 0.0,
    swap_every: Annotated[
        int | None, typer.Option(min=1, help="Swap two ranks every so many polls.")
    ] = None,
    perturbations: Annotated[
        int | None, typer.Option(min=0, help="Start from ranks in order, with so many swaps.")
    ] = None,
    polls: Annotated[int, typer.Option(min=1)] = 10_000,
    policy: PolicyOption = None,
    objective: ObjectiveOption = ObjectiveName.detection,
    half_life: HalfLifeOption = None,
    graph: Annotated[
        Path | None, typer.Option(help="A recorded graph, DIR/NAME (world graph).")
    ] = None,
    topic: Annotated[
        str | None, typer.Option(help="One of the topics of the graph; if not given, the first.")
    ] = None,
    traversals: Annotated[
        int, typer.Option(min=1, help="How often to traverse it (world graph).")
    ] = 1,
    change_load: Annotated[
        float | None,
        typer.Option(help="Changes anywhere on the graph per request; if not given, none."),
    ] = None,
    requests: Annotated[
        int | None,
        typer.Option(min=1, help="With --change-load; if not given, one for each page."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Worlds to average over.")] = 1,
    as_json: Json = False,
) -> None:
    """Compare policies in simulated worlds, one poll a step."""
    if world == "graph":
        _refuse(context, world, _NOT_FOR_GRAPHS)
        return _traverse(graph, topic, policy, traversals, change_load, requests, seeds, as_json)
    _refuse(context, world, _GRAPH_ONLY)
    from pollwise.console import SIMULATION_COLUMNS, progress_line
    from pollwise.objectives import objective as objective_of
    from pollwise.policies.catalogue import DEFAULT_POLICY, parse_policies
    from pollwise.study import made_world, simulate_policies

    policies = parse_policies(policy or [DEFAULT_POLICY])
    made = made_world(
        world,
        pages=pages,
        alpha=alpha,
        beta=beta,
        noise=noise,
        swap_every=swap_every,
        perturbations=perturbations,
    )
    with progress_line() as report:
        results = simulate_policies(
            made,
            policies,
            objective=objective_of(objective.value, **_parameters(objective, half_life)),
            polls=polls,
            seeds=seeds,
            report=report,
        )
    _answer(results, SIMULATION_COLUMNS, as_json)


@app.command()
def replay(
    trace: Annotated[
        Path,
        typer.Argument(
            help="A .parquet or .csv table: page, changed_at; or, named NAME.items.parquet, of"
            " items. Or the folder of the crawl data set of Kolobov et al."
        ),
    ],
    budget: Annotated[
        list[str] | None,
        typer.Option(
            help="Such as 0.2/day/page (the default) or 500/hour; give several to compare."
        ),
    ] = None,
    objective: Annotated[
        list[ObjectiveName] | None,
        typer.Option(
            help="What a poll is worth: detection, if not given; give several to compare."
        ),
    ] = None,
    half_life: HalfLifeOption = None,
    warm_up: Annotated[
        float, typer.Option(min=0, max=0.99, help="Share of the time that does not count.")
    ] = 0.15,
    policy: PolicyOption = None,
    reverts: Annotated[
        RevertsName, typer.Option(help="Whether changes back to an earlier version are changes.")
    ] = RevertsName.counted,
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Weigh pages by the column weight of the trace.")
    ] = False,
    last_changed: Annotated[
        bool, typer.Option("--last-changed", help="Polls tell when the page changed last.")
    ] = False,
    calibration: Annotated[
        bool,
        typer.Option("--calibration", help="Also hold what policies predict against what happens."),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the trade-off into this PNG file, and a calibration into another one"
            " (NAME-calibration.png)."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare policies on a recorded history of real changes."""
    from pollwise.budgets import parse_budget
    from pollwise.checks import require_drawable
    from pollwise.console import progress_line
    from pollwise.objectives import objective as objective_of
    from pollwise.policies.catalogue import DEFAULT_POLICY, parse_policies
    from pollwise.reliability import draw_calibration, print_calibration
    from pollwise.replay_table import print_replay
    from pollwise.study import (
        calibrate_policies,
        read_history,
        replay_policies,
        require_predictions,
    )
    from pollwise.trade_off import draw_trade_off

    budgets = [parse_budget(text) for text in budget or ["0.2/day/page"]]
    aims = list(dict.fromkeys(objective or [ObjectiveName.detection]))
    policies = parse_policies(policy or [DEFAULT_POLICY])
    parameters = _parameters(aims[0], half_life)
    reliability = None
    if plot is not None:
        require_drawable(plot, "leave out --plot")
        if calibration:
            reliability = plot.with_stem(f"{plot.stem}-calibration")
            require_drawable(reliability, "leave out --plot")
    history = read_history(
        trace,
        objectives=[aim.value for aim in aims],
        half_life=None if half_life is None else half_life * 3600.0,
        weighted=weighted,
        ignore_reverts=reverts is RevertsName.ignored,
        last_changed=last_changed,
    )
    if calibration:
        require_predictions(history, policies)
    objectives = [objective_of(aim.value, **parameters) for aim in aims]
    with progress_line() as report:
        asked: dict[str, Any] = {
            "objectives": objectives,
            "budgets": budgets,
            "warm_up": warm_up,
            "report": report,
        }
        results = replay_policies(history, policies, **asked)
        calibrations = calibrate_policies(history, policies, **asked) if calibration else []
    title = f"{trace.name}, {', '.join(map(str, budgets))}"
    if plot is not None:
        draw_trade_off(plot, title, results)
    if reliability is not None:
        draw_calibration(reliability, title, calibrations)
    if as_json:
        _print_json({"results": results} | ({"calibration": calibrations} if calibration else {}))
    else:
        print_replay(results)
        print_calibration(calibrations)


@app.command()
def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="A table or figure; without it, all are listed.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials to average over (default: see the list).")
    ] = None,
    figures: Annotated[Path, typer.Option(help="The folder for the figure.")] = Path(),
    no_figure: Annotated[bool, typer.Option("--no-figure", help="Only the numbers.")] = False,
    as_json: Json = False,
) -> None:
    """Run the experiment behind a published table or figure, on all cores."""
    from pollwise.console import print_experiments, print_reproduction, progress_line
    from pollwise.experiments.registry import experiment_named, experiment_names
    from pollwise.experiments.reproduction import reproduce as run

    if name is None:
        listed = [(each, experiment_named(each)) for each in experiment_names()]
        if as_json:
            entries = [
                {"name": each, "title": e.title, "source": e.source, "trials": e.trials}
                for each, e in listed
            ]
            _print_json({"results": entries})
        else:
            print_experiments(listed)
        return
    with progress_line() as report:
        result = run(name, trials=trials, folder=None if no_figure else figures, report=report)
    if as_json:
        _print_json(result.document())
    else:
        print_reproduction(result)
