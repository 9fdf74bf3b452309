"""What people see of a replay: a row for each policy, and the differences from the first."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Column, Table

from pollwise.console.streams import stdout
from pollwise.console.tables import print_figures

__all__ = ["print_past_checks", "print_replay"]

Figures = Mapping[str, Any]

_FIGURES = {
    "captured": ("changes seen", ".4f"),
    "novel_captured": ("novel seen", ".4f"),
    "freshness": ("freshness", ".4f"),
    "delay_days": ("delay, days", ".2f"),
    "age_days": ("age, days", ".4f"),
    "value_captured": ("value captured", ".4f"),
    "items_captured": ("items captured", ".4f"),
}
"""Heading and format, by key of an entry."""

_COMPARED = ("captured", "freshness", "delay_days")
_WIDTH_OF_FILES = 160


def print_replay(results: Sequence[Figures]) -> None:
    """A row for each entry of `replay_policies`, with weighted figures if there are any."""
    keys = ["policy"]
    if len({result["objective"] for result in results} - {None}) > 1:
        keys.append("objective")
    if len({result["budget"] for result in results}) > 1:
        keys.append("budget")
    weighted = "weighted_" if "weighted_captured" in results[0] else ""
    shown = {key: form for key, form in _FIGURES.items() if weighted + key in results[0]}
    table = _table([*keys, "polls"], shown, title="pages weighted" if weighted else None)
    for result in results:
        numbers = (_number(result[weighted + key], form) for key, (_, form) in shown.items())
        table.add_row(*(result[key] or "-" for key in keys), f"{int(result['polls']):,d}", *numbers)
    console = stdout()
    if not console.is_terminal:
        console.width = _WIDTH_OF_FILES
    print_figures(console, table)
    if "captured" in shown and math.isnan(results[0]["captured"]):
        console.print(
            "No change falls into the time that counts: give a longer history, or a smaller"
            " --warm-up.",
            soft_wrap=True,
        )
    compared = [result for result in results if "against" in result]
    if compared:
        print_figures(console, _differences(compared, keys))


def print_past_checks(results: Sequence[Figures]) -> None:
    """A row for the checks and for each policy of `compare_to_checks`, and what that means."""
    shown = {key: _FIGURES[key] for key in _COMPARED}
    table = _table(["policy", "polls"], shown, title="expected, ± standard error over histories")
    for result in results:
        numbers = (
            f"{result[key]:{form}} ± {result['stderr'][key]:{form}}"
            for key, (_, form) in shown.items()
        )
        table.add_row(result["policy"], f"{result['polls']:,.0f}", *numbers)
    console = stdout()
    print_figures(console, table)
    for result in results[1:]:
        console.print(
            f"With as many polls, {result['policy']} would have seen"
            f" {_more_or_less(result['seen_more'])}, {_sooner_or_later(result['sooner'])}."
        )
    console.print(
        "When pages changed between two checks is not known: these are means over histories drawn"
        " by the rates that explain the checks."
    )


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)


def _more_or_less(share: float) -> str:
    if abs(share) < 0.005:
        return "about as many changes"
    return f"{abs(share):.0%} {'more' if share > 0 else 'fewer'} changes"


def _sooner_or_later(ratio: float) -> str:
    if 0.95 < ratio < 1.05:
        return "about as soon"
    return f"{max(ratio, 1 / ratio):.1f} times {'sooner' if ratio > 1 else 'later'}"


def _differences(results: Sequence[Figures], keys: Sequence[str]) -> Table:
    """The differences of each entry from the one it is compared with."""
    first = results[0]["against"]["policy"]
    objectives = {result["objective"] for result in results} | {results[0]["against"]["objective"]}
    compared = (*_COMPARED, "age_days") if "age" in objectives else _COMPARED
    shown = {key: _FIGURES[key] for key in compared}
    table = _table(keys, shown, title=f"less {first}, ± half of the 95 % interval over pages")
    for result in results:
        cells = []
        for key, (_, form) in shown.items():
            found = result["against"][key]
            low, high = found["interval_95"]
            parts = (_number(found["difference"], f"+{form}"), _number((high - low) / 2, form))
            cells.append(" ± ".join(parts))
        table.add_row(*(result[key] or "-" for key in keys), *cells)
    return table


def _table(keys: Sequence[str], shown: Mapping[str, tuple[str, str]], title: str | None) -> Table:
    heads = [
        Column(key, no_wrap=True, justify="right" if key == "polls" else "left") for key in keys
    ]
    return Table(
        *heads, *(Column(head, justify="right") for head, _ in shown.values()), title=title
    )
