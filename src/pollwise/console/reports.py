"""What people see of `pollwise status`, `explain` and `plan`."""

import math
from collections.abc import Mapping
from typing import Any

from rich.table import Column, Table

from pollwise.console.tables import folded, moment, pairs, stdout

__all__ = ["print_collected", "print_explanation", "print_plan", "print_status"]


def print_status(report: Mapping[str, Any]) -> None:
    """The answer of `pollwise status`."""
    console = stdout()
    rows = [
        ("pages", f"{report['pages']:,} ({report['failing']:,} failing)"),
        ("polls", f"{report['polls']:,}"),
        ("changes found", f"{report['changes']:,}"),
        ("versions kept", f"{report['versions']:,}"),
        ("size", f"{report['bytes'] / 1e6:.1f} MB"),
        ("budget", str(report["budget"] or "-")),
        ("objective", str(report["objective"] or "-")),
        ("last start (UTC)", moment(report["started_at"])),
    ]
    for period, forecast in (report["forecast"] or {}).items():
        rows.append((f"the coming {period}", _forecast_line(forecast)))
    if report["collection"] is not None:
        rows += _collection_rows(report["collection"])
    console.print(pairs(report["database"], rows))
    if report["collection"] is not None and report["collection"]["best"]:
        best = Table("relevance", folded("title"), folded("page"), title="Most relevant")
        for row in report["collection"]["best"]:
            best.add_row(f"{row['relevance']:.2f}", row["title"] or "-", row["url"])
        console.print(best)
    if report["last_changes"]:
        changes = Table("changed (UTC)", "times", folded("page"), title="Latest changes")
        for row in report["last_changes"]:
            changes.add_row(moment(row["changed_at"]), str(row["changes"]), row["url"])
        console.print(changes)
    if report["failures"]:
        failures = Table("in a row", folded("page"), "error", title="Failing pages")
        for row in report["failures"]:
            failures.add_row(str(row["failures"]), row["url"], row["error"] or "-")
        console.print(failures)


def _collection_rows(collection: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("topic", collection["topic"]),
        (
            "documents",
            f"{collection['documents']:,} of {collection['hosts']:,} hosts,"
            f" {collection['relevant']:,} relevant (sum {collection['relevance']:.1f}),"
            f" {collection['copies']:,} copies",
        ),
        ("fringe", f"{collection['fringe']:,} pages known by links only"),
        ("gone", f"{collection['gone']:,}"),
    ]


def print_collected(report: Mapping[str, Any]) -> None:
    """The answer of `pollwise explain` for a page of a collection."""
    relevance = report["relevance"]
    rows = [
        ("title", report["title"] or "-"),
        ("relevance", "not read yet" if relevance is None else f"{relevance:.2f}"),
        ("links from a seed", str(report["depth"])),
        ("copy of", report["duplicate_of"] or "-"),
        ("polls", f"{report['polls']:,}, {report['changes']:,} found a change"),
        ("latest poll (UTC)", f"{moment(report['polled_at'])}, {report['outcome'] or 'none'}"),
        ("latest change (UTC)", moment(report["last_changed_at"])),
    ]
    if report["error"]:
        rows.append(("failed", report["error"]))
    console = stdout()
    console.print(pairs(report["url"], rows))
    if report["linked_from"]:
        links = Table("relevance", "anchor", folded("page"), title="Linked from")
        for row in report["linked_from"]:
            known = "-" if row["relevance"] is None else f"{row['relevance']:.2f}"
            links.add_row(known, row["anchor"], row["url"])
        console.print(links)


def print_explanation(report: Mapping[str, Any]) -> None:
    """The answer of `pollwise explain`."""
    low, high = report["changes_per_day_between"]
    rate = f"{report['changes_per_day']:.3g} a day (90 %: {low:.3g} to {high:.3g})"
    index, chance = report["index"], report["chance"]
    rows = [
        ("polls", f"{report['polls']:,}, {report['changes']:,} found a change"),
        ("latest poll (UTC)", f"{moment(report['polled_at'])}, {report['outcome'] or 'none'}"),
        ("latest change (UTC)", moment(report["last_changed_at"])),
        ("change rate", rate if report["versions"] else "not known yet"),
        ("learned from", _sources(report["learned_from"])),
        ("changed by now", f"with probability {chance:.2f}" if chance == chance else "-"),
        ("weight, cost", f"{report['weight']:g}, {report['cost']:g}"),
        ("index now", f"{index:.3g}" if math.isfinite(index) else "infinite"),
        ("price of a poll", f"{report['price']:.3g}"),
        ("due (UTC)", moment(report["due_at"])),
        ("next poll (UTC)", moment(report["next_poll_at"])),
        ("why", _reason(report)),
    ]
    if report["host_free_at"] is not None:
        rows.append(("its host", f"is left alone until {moment(report['host_free_at'])}"))
    if report["error"]:
        rows.append(("failures in a row", f"{report['failures']}: {report['error']}"))
    recent = ", ".join(
        "changed back" if row["reverted"] else row["outcome"] for row in report["recent"]
    )
    rows.append(("recent polls", recent or "-"))
    stdout().print(pairs(report["url"], rows))


def _sources(learned: Mapping[str, Any]) -> str:
    """Whose changes say how often a page changes."""
    dates = f" ({learned['dates']} of the latest told the time of a change)"
    polls = f"{learned['polls']:,} polls of its own" + (dates if learned["dates"] else "")
    return (
        f"pages like it: {learned['prior_changes_per_day']:.3g} a day; {polls} took away"
        f" {learned['own_share']:.0%} of the uncertainty"
    )


def _reason(report: Mapping[str, Any]) -> str:
    again = report["rests_until"]
    until = "" if again is None else f" until {moment(again)}"
    if report["failures"]:
        return f"its polls fail: it rests{until}, ever longer, but a week at most"
    if report["outcome"] == "gone":
        return f"its server says it is gone: it rests{until}, ever longer, before the next look"
    if math.isinf(report["index"]):
        reason = "there is no copy yet, or it is long overdue: it comes before all others"
    elif math.isinf(report["due_at"]):
        reason = "its index never reaches the price: other pages are worth more, for now"
    elif report["index"] >= report["price"]:
        reason = "its index has reached the price: it is polled as soon as the budget allows"
    else:
        reason = "its index is below the price: until it is due, other pages are worth more"
    if report["host_free_at"] is not None:
        reason += f"; its host is left alone until {moment(report['host_free_at'])}"
    return reason


def _forecast_line(forecast: Mapping[str, Any]) -> str:
    return (
        f"{_between(forecast['found_per_day'], '.3g')} changes found a day, freshness"
        f" {_between(forecast['freshness'], '.3f')}, delay"
        f" {_between(forecast['delay_days'], '.3g')} days"
    )


def _between(interval: Mapping[str, float], form: str) -> str:
    """A figure and its interval, as short as can be."""
    if not math.isfinite(interval["mean"]):
        return "never"
    low, mean, high = (format(interval[end], form) for end in ("low", "mean", "high"))
    return f"{mean} ({low}–{high})"


def _below(interval: Mapping[str, float], form: str) -> str:
    """A figure above its interval."""
    return _between(interval, form).replace(" (", "\n(")


def print_plan(plan: Mapping[str, Any]) -> None:
    """The answer of `pollwise plan`."""
    entries = {f"× {entry['factor']:g}": entry for entry in plan["results"]}
    if "wanted" in plan:
        entries[f"for {plan['wanted_freshness']:g}"] = plan["wanted"]
    table = Table(
        "budget",
        *(Column(heading, justify="right") for heading in _PLAN_COLUMNS),
        title=f"{plan['pages']:,} pages, {plan['budget']}, objective {plan['objective']}",
        caption="In brackets: four weeks of five lie between these. One more cost unit a day finds"
        " so many more changes a day, and adds so much freshness. As if all hosts could keep up.",
    )
    for name, entry in entries.items():
        table.add_row(
            name,
            f"{entry['polls_per_day']:,.4g}",
            _below(entry["found_per_day"], ".3g"),
            _below(entry["freshness"], ".3f"),
            _below(entry["delay_days"], ".3g"),
            f"{entry['marginal_found']:.3g}",
            f"{entry['marginal_freshness']:.2g}",
        )
    stdout().print(table)


_PLAN_COLUMNS = (
    "polls\na day",
    "found\na day",
    "freshness",
    "delay,\ndays",
    "one more\nfinds",
    "and adds\nfreshness",
)
