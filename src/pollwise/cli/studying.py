"""The commands that run policies on recorded pages, and published experiments."""

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pollwise.cli.answers import print_json
from pollwise.cli.option_groups import with_groups
from pollwise.cli.options import (
    HalfLifeOption,
    Json,
    ObjectiveName,
    PolicyOption,
    RevertsName,
    a_number,
    parameters_of,
)
from pollwise.errors import InputError
from pollwise.units import HOUR

if TYPE_CHECKING:
    from pollwise.objectives import Objective
    from pollwise.policies.catalogue import PolicyChoice
    from pollwise.simulation.recorded.items import ItemReplay
    from pollwise.simulation.recorded.replay import Replay


def demo(
    as_json: Json = False,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=5,
            max=1_000_000,
            callback=a_number("of at least 5"),
            help="How long the year takes, at least; if not given, as long as it must.",
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the year into this PNG file.")] = None,
) -> None:
    """Watch a year of real pages, offline: a learned schedule beside the usual one.

    The time is virtual: on a slow or busy machine the year takes longer, and its figures stay.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: nothing is left
    from pollwise.checks import require_drawable
    from pollwise.console.charts.year import draw_year
    from pollwise.console.demo import NAMES, DemoDisplay, print_demo
    from pollwise.experiments.demonstration import demonstrate
    from pollwise.kernel_folder import is_compiled, note_compiled, what_compiles
    from pollwise.testing.timelapse import TimeLapse

    if plot is not None:
        require_drawable(plot, "leave out --plot")
    timelapse = TimeLapse.bundled()
    ready = "getting ready"
    if not is_compiled("demo"):
        ready = f"getting ready: {what_compiles()} compiles, which takes about half a minute"
    with DemoDisplay(timelapse, ready) as display:
        demonstration, watchers = demonstrate(
            timelapse, display.show, report=display.say, seconds=seconds
        )
    note_compiled("demo")
    if plot is not None:
        draw_year(plot, timelapse, demonstration, watchers, NAMES)
    if as_json:
        print_json(demonstration)
    else:
        print_demo(demonstration)


class HistoryOptions(NamedTuple):
    """What of a recorded history counts."""

    reverts: Annotated[
        RevertsName, typer.Option(help="Whether changes back to an earlier version are changes.")
    ] = RevertsName.counted
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Weigh pages by the column weight of the trace.")
    ] = False
    last_changed: Annotated[
        bool, typer.Option("--last-changed", help="Polls tell when the page changed last.")
    ] = False

    def read(
        self, trace: Path | None, aims: Sequence[ObjectiveName], half_life: float | None
    ) -> "Replay | ItemReplay":
        """The history of a file (None: the bundled one), as far as these objectives need it."""
        from pollwise.simulation.compare.replays import read_history

        return read_history(
            trace,
            objectives=[aim.value for aim in aims],
            half_life=None if half_life is None else half_life * HOUR,
            weighted=self.weighted,
            ignore_reverts=self.reverts is RevertsName.ignored,
            last_changed=self.last_changed,
        )

    def require_fit_for_checks(
        self, aims: Sequence[ObjectiveName], others: Mapping[str, object]
    ) -> None:
        """`InputError` if anything was given that a table of checks cannot be asked for.

        `others` are the values of options that it has no use for.
        """
        not_for_checks = {
            **others,
            "--weighted": self.weighted,
            "--last-changed": self.last_changed,
            "--reverts ignore": self.reverts is RevertsName.ignored,
            "a second --objective": aims[1:],
            f"--objective {ObjectiveName.ephemeral}": ObjectiveName.ephemeral in aims,
        }
        for option, given in not_for_checks.items():
            if given:
                raise InputError(f"{option} is not for a table of checks: leave it out")


class ChartOptions(NamedTuple):
    """What is shown besides the scores of policies."""

    calibration: Annotated[
        bool,
        typer.Option("--calibration", help="Also hold what policies predict against what happens."),
    ] = False
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the trade-off into this PNG file, and a calibration into another one"
            " (NAME-calibration.png)."
        ),
    ] = None

    @property
    def reliability(self) -> Path | None:
        """The chart of the calibration; None: it is not drawn."""
        if self.plot is None or not self.calibration:
            return None
        return self.plot.with_stem(f"{self.plot.stem}-calibration")

    def require_drawable(self) -> None:
        """`InputError` if a chart cannot be drawn."""
        from pollwise.checks import require_drawable

        for chart in filter(None, (self.plot, self.reliability)):
            require_drawable(chart, "leave out --plot")

    def draw(
        self,
        title: str,
        results: Sequence[Mapping[str, Any]],
        calibrations: Sequence[Mapping[str, Any]],
    ) -> None:
        """Draw the charts that were asked for."""
        from pollwise.console.charts.reliability import draw_calibration
        from pollwise.console.charts.trade_off import draw_trade_off

        if self.plot is not None:
            draw_trade_off(self.plot, title, results)
        if self.reliability is not None:
            draw_calibration(self.reliability, title, calibrations)


@with_groups
def replay(
    trace: Annotated[
        Path | None,
        typer.Argument(
            help="A .parquet or .csv table: page, changed_at; or, named NAME.items.parquet, of"
            " items. Or the folder of the crawl data set of Kolobov et al. Or a .csv table of your"
            " own past checks: page, checked_at, changed (1 or 0)."
        ),
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Replay the bundled year of 101 pages: no file.")
    ] = False,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            help="Such as 0.2/day/page (the default) or 500/hour; give several to compare."
        ),
    ] = None,
    objective: Annotated[
        list[ObjectiveName] | None,
        typer.Option(
            help="What a poll is worth: freshness, if not given; give several to compare."
        ),
    ] = None,
    half_life: HalfLifeOption = None,
    warm_up: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.99,
            callback=a_number("from 0 to 0.99"),
            help="Share of the time that does not count.",
        ),
    ] = 0.15,
    policy: PolicyOption = None,
    *,
    counted: HistoryOptions,
    shown: ChartOptions,
    as_json: Json = False,
) -> None:
    """Compare policies on a recorded history of real changes."""
    from pollwise.console.calibrations import print_calibration
    from pollwise.console.replays import print_replay
    from pollwise.console.streams import progress_line
    from pollwise.objectives import objective as objective_of
    from pollwise.policies.catalogue import WATCHING
    from pollwise.policies.own import choose, own_failures_told
    from pollwise.scheduler.budgets import parse_budget
    from pollwise.simulation.compare.calibrations import calibrate_policies, require_predictions
    from pollwise.simulation.compare.replays import replay_policies
    from pollwise.simulation.recorded.past_checks import has_checks

    budgets = [parse_budget(text) for text in budget or ["0.2/day/page"]]
    aims = list(dict.fromkeys(objective or [ObjectiveName.freshness]))
    policies = [choose(text) for text in policy or [WATCHING.default]]
    parameters = parameters_of(aims[0], half_life)
    shown.require_drawable()
    if (trace is None) != example:
        raise InputError(
            "replay: name the file of a recorded history, or give --example for the bundled one"
        )
    if trace is not None and has_checks(trace):
        unused = {"--budget": budget, "--plot": shown.plot, "--calibration": shown.calibration}
        counted.require_fit_for_checks(aims, unused)
        return _replay_checks(trace, policies, objective_of(aims[0].value), as_json)
    history = counted.read(trace, aims, half_life)
    if shown.calibration:
        require_predictions(history, policies)
    with own_failures_told(policies), progress_line() as report:
        asked: dict[str, Any] = {
            "objectives": [objective_of(aim.value, **parameters) for aim in aims],
            "budgets": budgets,
            "warm_up": warm_up,
            "report": report,
        }
        results = replay_policies(history, policies, **asked)
        calibrations = calibrate_policies(history, policies, **asked) if shown.calibration else []
    name = "101 bundled pages" if trace is None else trace.name
    title = f"{name}, {', '.join(map(str, budgets))}"
    shown.draw(title, results, calibrations)
    if as_json:
        print_json(
            {"results": results} | ({"calibration": calibrations} if shown.calibration else {})
        )
    else:
        print_replay(results)
        print_calibration(calibrations)


def _replay_checks(
    trace: Path, policies: Sequence["PolicyChoice"], objective: "Objective", as_json: bool
) -> None:
    """What `replay` does with a table of past checks."""
    from pollwise.console.replays import print_past_checks
    from pollwise.console.streams import progress_line
    from pollwise.policies.own import own_failures_told
    from pollwise.simulation.compare.past_checks import compare_to_checks
    from pollwise.simulation.recorded.past_checks import PastChecks

    checks = PastChecks.read(trace)
    with own_failures_told(policies), progress_line() as report:
        results = compare_to_checks(checks, policies, objective=objective, report=report)
    if as_json:
        print_json({"results": results})
    else:
        print_past_checks(results)


def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="A table or figure; without it, all are listed.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Run all; write one page and the figures.")
    ] = False,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials to average over (default: see the list).")
    ] = None,
    figures: Annotated[Path, typer.Option(help="The folder for the figures.")] = Path(),
    no_figure: Annotated[bool, typer.Option("--no-figure", help="Only the numbers.")] = False,
    as_json: Json = False,
) -> None:
    """Run the experiment behind a published table or figure, on all cores."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C, with its workers
    from pollwise.console.experiments import print_experiments, print_reproduction
    from pollwise.console.streams import progress_line, stdout
    from pollwise.experiments.registry import experiments
    from pollwise.experiments.report import recorded, reproduce_all
    from pollwise.experiments.reproduction import reproduce as run

    if every:
        if name is not None or no_figure:
            raise InputError(
                "reproduce: --all runs every item, with its figure; leave out the rest"
            )
        with progress_line() as report:
            done = reproduce_all(figures, trials=trials, report=report)
        if as_json:
            print_json({"results": [each.document() for each in done]})
        else:
            stdout().print(f"The page is {figures / 'reproduction.md'}", soft_wrap=True)
        return
    if name is None:
        if trials is not None or no_figure:
            raise InputError(
                "reproduce: without a name all are listed; name an item, or give --all"
            )
        listed = experiments()
        if as_json:
            outcomes = recorded()
            print_json(
                {
                    "results": [
                        {
                            "name": each,
                            "title": e.title,
                            "source": e.source,
                            "trials": e.trials,
                            "recorded": outcomes.get(each),
                        }
                        for each, e in listed.items()
                    ]
                }
            )
        else:
            print_experiments(listed, recorded())
        return
    with progress_line() as report:
        result = run(name, trials=trials, folder=None if no_figure else figures, report=report)
    if as_json:
        print_json(result.document())
    else:
        print_reproduction(result)
