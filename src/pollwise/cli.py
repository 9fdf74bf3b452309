"""The command `pollwise`: parses, calls, prints.

Answers go to stdout, for people as tables or for programs (`--json`) as one JSON document;
progress and errors go to stderr. Exit status: 0 done, 1 an error of ours, 2 an input that cannot
be used, 130 interrupted.
"""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from pollwise.errors import InputError, PollwiseError

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


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Db = Annotated[Path, typer.Option("--db", help="The database file.")]
ObjectiveOption = Annotated[ObjectiveName, typer.Option(help="What a poll is worth.")]
PolicyOption = Annotated[
    list[str] | None, typer.Option("--policy", help="A policy by name; give several to compare.")
]


def main() -> None:
    """Run the command line; every input that cannot be used ends in one line and status 2."""
    try:
        status = app(standalone_mode=False)
    except TyperException as error:
        sys.exit(_complain(getattr(error, "format_message", error.__str__)()))
    except PollwiseError as error:
        sys.exit(_complain(str(error)))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


def _complain(message: str) -> int:
    print(f"pollwise: {message}", file=sys.stderr)
    return 2


def _print_json(document: dict[str, Any]) -> None:
    print(json.dumps(document, indent=2))


@app.command()
def demo(
    as_json: Json = False,
    seconds: Annotated[float, typer.Option(min=5, help="How long the year takes.")] = 55.0,
) -> None:
    """Watch a year of real pages in a minute, offline: a learned schedule beside the usual one."""
    import asyncio

    from pollwise.console import DemoDisplay, print_demo
    from pollwise.demo import run_demo

    with DemoDisplay() as display:
        results = asyncio.run(run_demo(display.show, seconds=seconds))
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
    db: Db = _DB,
    not_modified_cost: Annotated[
        float, typer.Option(min=0, max=1, help="What a poll costs that is answered 304.")
    ] = 1.0,
) -> None:
    """Watch pages until stopped (Ctrl-C); what is already in the database is watched on."""
    from pollwise.watching import watch_pages

    watch_pages(
        urls or [],
        file,
        budget=budget,
        objective_name=objective.value,
        db=db,
        not_modified_cost=not_modified_cost,
    )


@app.command()
def status(db: Db = _DB, as_json: Json = False) -> None:
    """What is watched and what was found."""
    from pollwise.console import print_status
    from pollwise.watching import read_status

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
    from pollwise.console import print_explanation
    from pollwise.watching import read_explanation

    explanation = read_explanation(db, url)
    if as_json:
        _print_json(explanation)
    else:
        print_explanation(explanation)


@app.command()
def simulate(
    world: Annotated[str, typer.Option(help="The kind of world: zipf.")] = "zipf",
    pages: Annotated[int, typer.Option(min=1)] = 500,
    alpha: Annotated[float, typer.Option(help="Change probability of the first page.")] = 0.9,
    beta: Annotated[float, typer.Option(help="How fast it falls with the rank.")] = 1.5,
    swap_every: Annotated[
        int | None, typer.Option(min=1, help="Swap two ranks every so many polls.")
    ] = None,
    perturbations: Annotated[
        int | None, typer.Option(min=0, help="Start from ranks in order, with so many swaps.")
    ] = None,
    polls: Annotated[int, typer.Option(min=1)] = 10_000,
    policy: PolicyOption = None,
    objective: ObjectiveOption = ObjectiveName.detection,
    seeds: Annotated[int, typer.Option(min=1, help="Worlds to average over.")] = 1,
    as_json: Json = False,
) -> None:
    """Compare policies in simulated worlds, one poll a step."""
    from pollwise.console import SIMULATION_COLUMNS, print_results, progress_line
    from pollwise.objectives import objective as objective_of
    from pollwise.policies.catalogue import DEFAULT_POLICY
    from pollwise.simulate.zipf import Zipf
    from pollwise.study import simulate_policies

    if world != "zipf":
        raise InputError(f"no such world: {world!r}; choose zipf")
    zipf = Zipf(
        pages=pages, alpha=alpha, beta=beta, swap_every=swap_every, perturbations=perturbations
    )
    with progress_line() as report:
        results = simulate_policies(
            zipf,
            policy or [DEFAULT_POLICY],
            objective=objective_of(objective.value),
            polls=polls,
            seeds=seeds,
            report=report,
        )
    if as_json:
        _print_json({"results": results})
    else:
        print_results(results, SIMULATION_COLUMNS)


@app.command()
def replay(
    trace: Annotated[Path, typer.Argument(help="A .parquet or .csv table: page, changed_at.")],
    budget: Annotated[str, typer.Option(help="Such as 0.2/day/page or 500/hour.")] = "0.2/day/page",
    objective: ObjectiveOption = ObjectiveName.detection,
    warm_up: Annotated[
        float, typer.Option(min=0, max=0.99, help="Share of the time that does not count.")
    ] = 0.15,
    policy: PolicyOption = None,
    as_json: Json = False,
) -> None:
    """Compare policies on a recorded history of real changes."""
    from pollwise.budgets import parse_budget
    from pollwise.console import REPLAY_COLUMNS, print_results, progress_line
    from pollwise.objectives import objective as objective_of
    from pollwise.policies.catalogue import DEFAULT_POLICY
    from pollwise.simulate.replay import Replay
    from pollwise.study import replay_policies

    amount = parse_budget(budget)
    history = Replay.read(trace)
    with progress_line() as report:
        results = replay_policies(
            history,
            policy or [DEFAULT_POLICY],
            objective=objective_of(objective.value),
            budget=amount,
            warm_up=warm_up,
            report=report,
        )
    if as_json:
        _print_json({"results": results})
    else:
        print_results(results, REPLAY_COLUMNS)
