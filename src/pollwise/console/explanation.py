"""What people see of `pollwise explain`."""

import math

from rich.table import Table

from pollwise.console.streams import stdout
from pollwise.console.tables import folded, moment, pairs
from pollwise.insight.collection import CollectedExplanation
from pollwise.insight.explanation import Explanation, RateSources
from pollwise.types import Outcome

__all__ = ["print_explanation"]


def print_explanation(page: Explanation | CollectedExplanation) -> None:
    """The answer of `pollwise explain`, for a page of a watch or of a collection."""
    if isinstance(page, CollectedExplanation):
        _print_collected(page)
    else:
        _print_watched(page)


def _polls(page: Explanation | CollectedExplanation) -> list[tuple[str, str]]:
    outcome = "none" if page.outcome is None else page.outcome.name.lower()
    rows = [
        ("polls", f"{page.polls:,}, {page.changes:,} found a change"),
        ("latest poll (UTC)", f"{moment(page.polled_at)}, {outcome}"),
        ("latest change (UTC)", moment(page.last_changed_at)),
    ]
    if page.postponed is not None:
        rows.append(("postponed (UTC)", f"{moment(page.postponed.at)}: {page.postponed.why}"))
    return rows


def _print_collected(page: CollectedExplanation) -> None:
    rows = [
        ("title", page.title or "-"),
        ("relevance", "not read yet" if page.relevance is None else f"{page.relevance:.2f}"),
        ("links from a seed", str(page.depth)),
        ("copy of", page.duplicate_of or "-"),
        *_polls(page),
    ]
    if page.error:
        rows.append(("failed", page.error))
    console = stdout()
    console.print(pairs(page.url, rows))
    if page.linked_from:
        links = Table("relevance", "anchor", folded("page"), title="Linked from")
        for parent in page.linked_from:
            known = "-" if parent.relevance is None else f"{parent.relevance:.2f}"
            links.add_row(known, parent.anchor, parent.url)
        console.print(links)


def _print_watched(page: Explanation) -> None:
    low, high = page.changes_per_day_between
    rate = f"{page.changes_per_day:.3g} a day (90 %: {low:.3g} to {high:.3g})"
    rows = [
        *_polls(page),
        ("change rate", rate if page.versions else "not known yet"),
        ("learned from", _sources(page.learned_from)),
        ("changed by now", "-" if page.chance is None else f"with probability {page.chance:.2f}"),
        ("weight, cost", f"{page.weight:g}, {page.cost:g}"),
        ("index now", f"{page.index:.3g}" if math.isfinite(page.index) else "infinite"),
        ("price of a poll", f"{page.price:.3g}"),
        ("due (UTC)", moment(page.due_at)),
        ("next poll (UTC)", moment(page.next_poll_at)),
        ("why", _reason(page)),
    ]
    if page.host_free_at is not None:
        rows.append(("its host", f"is left alone until {moment(page.host_free_at)}"))
    if page.host_limit is not None:
        rows.append(("limit of its host", f"at most {page.host_limit}"))
    if page.error:
        rows.append(("failures in a row", f"{page.failures}: {page.error}"))
    recent = ", ".join(
        "changed back" if poll.reverted else poll.outcome.name.lower() for poll in page.recent
    )
    rows.append(("recent polls", recent or "-"))
    stdout().print(pairs(page.url, rows))


def _sources(learned: RateSources) -> str:
    dates = f" ({learned.dates} of the latest told the time of a change)"
    polls = f"{learned.polls:,} polls of its own" + (dates if learned.dates else "")
    return (
        f"pages like it: {learned.prior_changes_per_day:.3g} a day; {polls} took away"
        f" {learned.own_share:.0%} of the uncertainty"
    )


def _reason(page: Explanation) -> str:
    until = "" if page.rests_until is None else f" until {moment(page.rests_until)}"
    if page.failures:
        return f"its polls fail: it rests{until}, ever longer, but a week at most"
    if page.outcome is Outcome.GONE:
        return f"its server says it is gone: it rests{until}, ever longer, before the next look"
    if math.isinf(page.index):
        reason = "there is no copy yet, or it is long overdue: it comes before all others"
    elif page.due_at is not None and math.isinf(page.due_at):
        reason = "its index never reaches the price: other pages are worth more, for now"
    elif page.index >= page.price:
        reason = "its index has reached the price: it is polled as soon as the budget allows"
    else:
        reason = "its index is below the price: until it is due, other pages are worth more"
    if page.host_free_at is not None:
        reason += f"; its host is left alone until {moment(page.host_free_at)}"
        if page.host_limited_until == page.host_free_at:
            reason += f": its limit of {page.host_limit} is used up"
    return reason
