"""All experiments on one page: Markdown, with a figure for each."""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from pollwise.experiments.agreement import BEYOND, counts
from pollwise.experiments.registry import experiments
from pollwise.experiments.reproduction import Reproduction, reproduce
from pollwise.experiments.trials import Played
from pollwise.experiments.wording import number, table
from pollwise.export.draft import draft

__all__ = ["few_trials", "page", "recorded", "reproduce_all", "told_agreement"]

_PAGE, _SUMMARIES = "reproduction.md", "reproduction.json"


def recorded() -> dict[str, dict[str, Any]]:
    """How each experiment came out when all were run last, by its name.

    It is the file reproduction.json that `reproduce_all` wrote then.
    """
    file = resources.files("pollwise.experiments") / _SUMMARIES
    return {each["name"]: each for each in json.loads(file.read_text(encoding="utf-8"))}


def reproduce_all(
    folder: Path, *, trials: int | None, report: Callable[[str], None]
) -> list[Reproduction]:
    """Run every experiment; write their figures, reproduction.md and reproduction.json.

    The two files are written anew after each experiment, so that a run that is ended early leaves
    what it has done. `trials` None: each experiment's own number.
    """
    done: list[Reproduction] = []
    played: Played = {}
    names = list(experiments())
    for name in names:

        def told(text: str, name: str = name) -> None:
            report(f"{name} ({len(done) + 1} of {len(names)}): {text}")

        done.append(reproduce(name, trials=trials, folder=folder, report=told, played=played))
        summaries = json.dumps([each.summary() for each in done], indent=1) + "\n"
        for file, text in ((_PAGE, page(done, len(names))), (_SUMMARIES, summaries)):
            with draft(folder / file) as draft_file:
                draft_file.write(text.encode())
    return done


def told_agreement(summary: Mapping[str, Any]) -> str:
    """Whether an item agrees, in a few words, from its summary."""
    parts = []
    if summary["claims"]:
        parts.append(f"{summary['claims_hold']} of {summary['claims']} claims hold")
    numbers = summary["numbers"]
    if total := sum(numbers.values()):
        near = total - numbers[BEYOND]
        parts.append(f"{near} of {total} numbers within 2.5 % or two standard errors")
    return "; ".join(parts) or "the paper says nothing of it"


def few_trials(trials: int, meant: int) -> str:
    """What is to be said of an item that was run with fewer trials than it is meant for.

    >>> few_trials(3, 1000)
    '3 trials prove nothing for or against a claim: the item is meant for 1,000.'
    """
    few = f"{trials:,d} trials prove nothing for or against a claim"
    return f"{few}: the item is meant for {meant:,d}."


def page(done: Sequence[Reproduction], of: int) -> str:
    """The page of those that are done, of so many."""
    every = counts(each for result in done for each in result.compared)
    lines = [
        "# The published tables and figures, reproduced",
        "",
        f"{len(done)} of {of} items. Numbers are ours ± one standard error, [as printed].",
        "",
        "| item | subject | trials | seconds | agrees |",
        "|---|---|---|---|---|",
        *(
            f"| [{each.name}](#{each.name}) | {each.experiment.title} | {each.trials:,d} |"
            f" {each.seconds:.0f} | {told_agreement(each.summary())} |"
            for each in done
        ),
        "",
        "Printed numbers, by how near ours are: "
        + ", ".join(f"{count} {name}" for name, count in every.items())
        + ".",
    ]
    for result in done:
        lines += ["", *_section(result)]
    return "\n".join(lines) + "\n"


def _section(result: Reproduction) -> list[str]:
    experiment, measured = result.experiment, result.measurements
    lines = [
        f"## {result.name}",
        "",
        f"{experiment.title} ({experiment.source}). {result.trials:,d} trials,"
        f" {result.seconds:.0f} s.",
    ]
    if result.trials < experiment.trials:
        lines += ["", few_trials(result.trials, experiment.trials)]
    if result.figure is not None:
        lines += ["", f"![{result.name}]({result.figure.name})"]
    if result.findings:
        lines += ["", "| the paper says | test | outcome |", "|---|---|---|"]
        lines += [
            f"| “{claim.quote}” (line {claim.line}) | {claim.test} |"
            f" {'holds' if verdict.holds else '**does not hold**'}: {verdict.seen} |"
            for claim, verdict in result.findings
        ]
    heading, *rows = table(measured, list(dict.fromkeys(row.column for row in measured.rows)))
    lines += ["", _line(heading), "|---" * len(heading) + "|", *map(_line, rows)]
    beyond = [each for each in result.compared if each.reason]
    if beyond:
        lines += ["", "Beyond 2.5 % and two standard errors:", ""]
        lines += [
            f"- {each.row.row}, {each.row.column}: {number(each.row)}: {each.reason}"
            for each in beyond
        ]
    return lines + (["", experiment.remark] if experiment.remark else [])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
