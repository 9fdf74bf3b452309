"""The text of docs/results.md, from the numbers of docs/results.json."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["FIGURES", "document"]

Row = Mapping[str, Any]
Run = Mapping[str, Any]

FIGURES = {"freshness": "freshness", "delay": "delay_days", "detection": "captured"}
"""The figure by which each objective is judged."""

HEAD = """\
# Every policy on every recorded history

Made by `python benchmarks/results.py TRACES`; the numbers, with intervals, are in
[results.json](results.json). These are real pages whose changes were recorded, about half of the
pages of each source. A poll costs one unit; the first 15 % of the time do not count. Every policy
has the same budget. Rules that know only intervals have them scaled to use it up: by a factor that
follows the budget at every moment and, as "one scale", by the constant factor that makes as many
polls over the whole time. That factor is found by trial on the history itself, as an operator would
find it. With one scale a rule may spend many times the budget at the beginning, when all pages are
new to it and most of the time does not count yet: on short histories and with small budgets that
alone puts it ahead.

- **seen**: share of the changes whose version was fetched. **novel**: the same of the changes that
  went back to no earlier version.
- **freshness**: mean share of the time in which the copy was up to date, over all pages.
- **delay**: mean days from a change to the next poll of its page or, if it was never seen, to the
  end of the time or of the page. **age**: mean days, over time and pages, for which the copy had
  been out of date.
- **gap**: (policy − {first}) / (known − {first}), in per cent: how much the policy gains of what
  knowing the mean rates gains over polling all pages alike. Known is `whittle`, told each page's
  mean rate over the whole time, with the objective of the column. Freshness is compared by
  freshness, delay by delay, detection by the changes seen. More than 100 is possible, as there is
  more to know than mean rates.

The constants of `{ours}` were set by trial on the whole of policies, opendata, awspolicies,
peps and curlwww, some on endoflife and scoop
([figures](figures.md#worlds-it-was-not-made-for)), and in simulated worlds of 500 pages
([theory](theory.md)); those of the other policies by their authors. None was set on phpdoc,
opendataall and outages; what a silent poll says was set after a look at topnews.
"""


def document(
    runs: Sequence[Run],
    origins: Mapping[str, str],
    *,
    first: str,
    ours: str,
    known: Sequence[str],
    peers: Sequence[str],
) -> str:
    """The whole text. `runs` have `corpus`, `budget`, `pages`, `days` and `rows` of policies."""
    parts = [HEAD.format(first=first, ours=ours)]
    parts.append(f"## `{ours}` in short\n\n{_summary(runs, first, ours, peers)}")
    for corpus in dict.fromkeys(run["corpus"] for run in runs):
        mine = [run for run in runs if run["corpus"] == corpus]
        pages, days = mine[0]["pages"], mine[0]["days"]
        origin = origins[corpus]
        parts.append(
            f"## {corpus}\n\n{origin[0].upper()}{origin[1:]}: {pages:,} pages, {days:,.0f} days,"
            f" {mine[0]['rows'][0]['changes']:,} changes after the warm-up.\n"
        )
        parts += [f"### {corpus}, {run['budget']}\n\n{_table(run, first, known)}" for run in mine]
    return "\n".join(parts)


def _summary(runs: Sequence[Run], first: str, ours: str, peers: Sequence[str]) -> str:
    lines = [
        "For each objective the gap closed, and the same for the best of the others (uniform\n"
        "included). **Below**: whether that one is better, in the digits that the tables show.\n",
        "| history | polls | "
        + " | ".join(f"{aim} | best other | below" for aim in FIGURES)
        + " |",
        "|---|---|" + "--:|---|---|" * len(FIGURES),
    ]
    for run in runs:
        cells = [run["corpus"], run["budget"]]
        for aim in FIGURES:
            own = _row(run, ours, aim)
            rivals = [row for row in run["rows"] if row["policy"] in (first, *peers)]
            rivals = [row for row in rivals if row["objective"] in (None, aim)]
            best = max(rivals, key=lambda row: _worth(row, aim))
            lead = _rounded(own, aim) - _rounded(best, aim)
            cells += [
                _gap(run, own, aim, first),
                f"{_gap(run, best, aim, first)} {best['policy']}",
                "**yes**" if lead < 0 else "no",
            ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _table(run: Run, first: str, known: Sequence[str]) -> str:
    novel = "novel_captured" in run["rows"][0]
    heads = ["policy", "objective", "polls", "seen", *(["novel"] if novel else [])]
    heads += ["freshness", "delay, d", "age, d", *(f"gap, {aim}" for aim in FIGURES)]
    lines = [f"| {' | '.join(heads)} |", "|---|---|" + "--:|" * (len(heads) - 2)]
    for row in run["rows"]:
        name = f"{row['policy']} (told)" if row["policy"] in known else row["policy"]
        cells = [name, row["objective"] or "-", f"{row['polls']:,}", _digits(row["captured"], 4)]
        if novel:
            cells.append(_digits(row["novel_captured"], 4))
        cells += [_digits(row["freshness"], 4), _digits(row["delay_days"], 3)]
        cells.append(_digits(row["age_days"], 3))
        cells += [_gap(run, row, aim, first) for aim in FIGURES]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _row(run: Run, policy: str, aim: str) -> Row:
    """The entry of a policy for an objective, or its only one."""
    wanted = (policy, aim), (policy, None)
    return next(row for row in run["rows"] if (row["policy"], row["objective"]) in wanted)


def _worth(row: Row, aim: str) -> float:
    """The figure of an objective, larger if better."""
    value = row[FIGURES[aim]]
    if value is None:
        return -math.inf
    return -value if aim == "delay" else value


def _rounded(row: Row, aim: str) -> float:
    return round(_worth(row, aim), 3 if aim == "delay" else 4)


def _gap(run: Run, row: Row, aim: str, first: str) -> str:
    low, high = _worth(_row(run, first, aim), aim), _worth(_row(run, "whittle", aim), aim)
    if not low < high:
        return "-"
    return f"{100 * (_worth(row, aim) - low) / (high - low):.0f}"


def _digits(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
