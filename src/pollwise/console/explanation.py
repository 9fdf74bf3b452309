"""What people see of `pollwise explain`."""

import math
from collections.abc import Callable

from rich.table import Table

from pollwise.console.conditions import condition_rows
from pollwise.console.masked_parts import masked_rows
from pollwise.console.quantities import count, not_known, number, rate, rate_between, worth
from pollwise.console.remedies import always_remedy
from pollwise.console.streams import stdout
from pollwise.console.tables import folded, moment, pairs
from pollwise.insight.collection import CollectedExplanation
from pollwise.insight.explanation import Explanation, RateSources, RecentPoll
from pollwise.relevance.languages import LANGUAGE_NAMES
from pollwise.scheduler.bounds import ALWAYS
from pollwise.store.place import Place, command
from pollwise.texts import plain
from pollwise.types import Outcome

__all__ = [
    "collected_reason_told",
    "hours_told",
    "match_told",
    "print_explanation",
    "reason_told",
    "sources_told",
]


def print_explanation(page: Explanation | CollectedExplanation, db: Place) -> None:
    """The answer of `pollwise explain`, for a page of a watch or of a collection in `db`."""
    if isinstance(page, CollectedExplanation):
        _print_collected(page)
    else:
        _print_watched(page, db)


def _polls(page: Explanation | CollectedExplanation) -> list[tuple[str, str]]:
    outcome = "" if page.outcome is None else page.outcome.name.lower()
    if page.outcome is Outcome.CHANGED and page.changes == 0:
        outcome = "first copy"
    changed_at = moment(page.last_changed_at)
    if page.last_changed_at is not None and page.changes == 0:
        changed_at += ", as its server tells"
    rows = [
        ("polls", f"{page.polls:,}, of which {page.changes:,} found a change"),
        ("latest poll (UTC)", f"{moment(page.polled_at)}, {outcome}" if outcome else "none yet"),
        ("latest change (UTC)", changed_at),
    ]
    if page.postponed is not None:
        rows.append(("postponed (UTC)", f"{moment(page.postponed.at)}: {page.postponed.why}"))
    return rows


def _print_collected(page: CollectedExplanation) -> None:
    rows = [
        ("title", page.title or "-"),
        ("relevance", "not read yet" if page.relevance is None else f"{page.relevance:.2f}"),
        *_value(page),
        *([] if (told := match_told(page)) is None else [("topic in its text", told)]),
        ("why", collected_reason_told(page)),
        ("links from a seed", str(page.depth)),
        ("copy of", page.duplicate_of or "-"),
        *([] if page.indexed is not False else [("noindex", "a search does not find it")]),
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


def collected_reason_told(page: CollectedExplanation) -> str:
    """When a page of a collection is polled next, as far as that is known, and why; in words."""
    if page.left_out_by is not None:
        return f"it is not polled, by {page.left_out_by}"
    if page.outcome is Outcome.GONE:
        return "its server says it is gone: it is tried again if another page newly links to it"
    if page.relevance is not None:
        return (
            "it is in the collection: it is looked at again when that is worth more than to follow"
            " a link, not before it may have changed; the time is not known ahead"
        )
    if page.outcome is Outcome.FAILED:
        return "it is in the fringe, but could not be had: other links are followed first"
    if page.polled_at is not None:
        return "it was polled, and has no text to judge"
    if page.value is not None:
        return "it is in the fringe: its links are among those that are followed next"
    return "it is in the fringe: by the latest run, other links are followed first"


def match_told(page: CollectedExplanation) -> str | None:
    """What the text of a page has of the topic, in words; None: it was not read."""
    text = page.text
    if text is None:
        return None
    if not text.words:
        return "it has no text that is read"
    spoken = LANGUAGE_NAMES.get(text.language or "")
    language = "" if spoken is None else f" in {spoken}"
    if text.nearness is None or text.floor is None:
        return f"{count(text.words, 'word')}{language}, which a function of yours judges"
    if not text.terms:
        return f"none of the main terms is among its {count(text.words, 'word')}{language}"
    terms = ", ".join(f"{one.term} {100 * one.share:.0f} %" for one in text.terms)
    of_its_kind = f" for pages{language}" if language else ""
    side = "above" if text.nearness > text.floor else "not above"
    return (
        f"its nearness is {text.nearness:.2f}, {side} the floor of {text.floor:.2f}{of_its_kind};"
        f" of that {terms}"
    )


def _value(page: CollectedExplanation) -> list[tuple[str, str]]:
    if page.value is None:
        return []
    return [("expected relevance", f"{page.value:.2f}, of a request")]


def _print_watched(page: Explanation, db: Place) -> None:
    resumes = command(db, "resume", page.url)
    rows = [
        *([("name", page.name)] if page.name else []),
        *_polls(page),
        ("change rate", _rate(page)),
        *([("hours of changes", hours)] if (hours := hours_told(page)) else []),
        ("learned from", sources_told(page.learned_from)),
        ("changed by now", "-" if page.chance is None else f"with probability {page.chance:.2f}"),
        ("weight, cost", f"{plain(page.weight)}, {plain(page.cost)}"),
        ("index now", _index(page)),
        ("price of a poll", _price(page)),
        *_times(page),
        ("why", reason_told(page, resume=f"`{resumes}` lets it be polled again")),
    ]
    if page.tags:
        rows.append(("tags", " ".join(page.tags)))
    if page.share_of is not None:
        rows.append(("share of the budget", f"that of {page.share_of}"))
    if page.signal is not None:
        told = f"{moment(page.signalled_at)}, true with probability {page.signal:.2f}"
        rows.append(("signalled (UTC)", told))
    if page.select:
        rows.append(("what counts", "\n".join(page.select)))
    if page.ignore:
        rows.append(("what does not", "\n".join(page.ignore)))
    if page.render:
        rows.append(("rendered", "a browser runs its scripts before it is read"))
    if page.conditions:
        rows += condition_rows(page.conditions)
    elif page.notify_when:
        rows.append(("notify when", "\n".join(page.notify_when)))
    if page.host_free_at is not None:
        rows.append(("its host", _host(page)))
    if page.host_limit is not None:
        rows.append(("limit of its host", f"at most {page.host_limit}"))
    if page.error:
        rows.append(("failures in a row", f"{page.failures}: {page.error}"))
    recent = ", ".join(map(_found, page.recent))
    rows.append(("recent polls", recent or "-"))
    if page.changes_in_row >= ALWAYS:
        told = f"the latest {page.changes_in_row} all found a change: {always_remedy(db, page.url)}"
        rows.append(("differs at every poll", told))
    rows += masked_rows(page.masked)
    if any(part.number is not None for part in page.masked):
        unmasks = command(db, "unmask", page.url, "NUMBER")
        rows.append(("to unmask", f"`{unmasks}`; without a number all of them"))
    console = stdout()
    console.print(pairs(page.url, rows))
    console.print("A page is polled when its index reaches the price.")


def _host(page: Explanation) -> str:
    told = f"is left alone until {moment(page.host_free_at)}"
    if page.host_blocked_by is None:
        return told
    return (
        f"{told}, as it asked for that at {page.host_blocked_by.url}: {page.host_blocked_by.error}"
    )


def _index(page: Explanation) -> str:
    if page.paused:
        return "none: it is paused"
    told = worth(page.index) if math.isfinite(page.index) else "infinite"
    trouble = _trouble(page)
    return told if trouble is None else f"{told}, which does not count, as {trouble}"


def _trouble(page: Explanation) -> str | None:
    """Why a page rests, or did until now; None: its latest poll found it."""
    if page.failures:
        return "its polls fail"
    return "its server says it is gone" if page.outcome is Outcome.GONE else None


def _times(page: Explanation) -> list[tuple[str, str]]:
    """When it is polled; a page that is paused is not."""
    if page.paused:
        return []
    return [
        ("due (UTC)", moment(page.due_at)),
        ("next poll (UTC)", _next_poll(page)),
        ("at the latest (UTC)", moment(page.latest_poll_at)),
    ]


def _next_poll(page: Explanation) -> str:
    """When a poll may be made; one that nothing but the budget holds back is not foretold."""
    return "when the budget allows" if _is_due(page) else moment(page.next_poll_at)


def _is_due(page: Explanation) -> bool:
    """Whether nothing but the budget holds the page back, neither its index nor a rest."""
    waits_for = page.rests_until if page.due_at is None else page.due_at
    holds = (page.earliest_poll_at, page.host_free_at, page.quiet_until)
    is_held_back = any(until is not None for until in holds)
    if is_held_back or waits_for is None or page.next_poll_at is None:
        return False
    return waits_for < page.next_poll_at


def _price(page: Explanation) -> str:
    if page.host_price is None:
        return worth(page.price)
    factor = number(page.host_price)
    return f"{worth(page.price)}, {factor} times that of other hosts, as its own cannot keep up"


def _found(poll: RecentPoll) -> str:
    if poll.first_copy:
        return "first copy"
    return "changed back" if poll.reverted else poll.outcome.name.lower()


def _rate(page: Explanation) -> str:
    if page.changes_per_day is None or page.changes_per_day_between is None:
        return not_known(page.learned_from.polls, page.learned_from.polls_needed)
    low, high = page.changes_per_day_between
    return rate_between(page.changes_per_day, low, high, "90 %")


def hours_told(page: Explanation) -> str:
    """Between which times of the day a page changes, if by the clock; else nothing."""
    if page.daily_between is None:
        return ""
    begin, end = (f"{at // 3600:02.0f}:{at % 3600 // 60:02.0f}" for at in page.daily_between)
    return f"between {begin} and {end} UTC"


def sources_told(learned: RateSources) -> str:
    """What a change rate was learned from, in words."""
    own = f"{count(learned.polls, 'poll')} of its own"
    if learned.dates:
        own += f" ({learned.dates} of the latest told the time of a change)"
    if learned.prior_changes_per_day is None:
        return own
    others = f"pages like it: {rate(learned.prior_changes_per_day)}"
    if not learned.polls:
        return f"{others}; none of its own polls has told anything yet"
    return f"{others}; {own} took away {100 * learned.own_share:.0f} % of the uncertainty"


def reason_told(
    page: Explanation,
    at: Callable[[float | None], str] = moment,
    *,
    resume: str,
) -> str:
    """Why a page is polled next or not, in words; `at` says times, `resume` how to go on."""
    if page.paused:
        return f"it is paused: {resume}"
    if page.quiet_until is not None:
        return f"these are quiet hours: no poll begins until {at(page.quiet_until)}"
    if (why := _trouble(page)) is not None:
        if _is_due(page):
            return f"{why}: it has rested, and is polled as soon as the budget allows"
        rests_until, free_at = page.rests_until, page.host_free_at
        if rests_until is not None and free_at is not None and free_at > rests_until:
            return f"{why}, and its host is left alone until {at(free_at)}"
        until = "" if rests_until is None else f" until {at(rests_until)}"
        how_long = "but a week at most" if page.failures else "before the next look"
        return f"{why}: it rests{until}, ever longer, {how_long}"
    if math.isinf(page.index):
        lack = "it is long overdue" if page.versions else "there is no copy yet"
        reason = f"{lack}: it comes before all others"
    elif page.earliest_poll_at is not None and page.slowed:
        reason = (
            "it differs at every poll: it gets its share of the budget and no more, until"
            f" {at(page.earliest_poll_at)}"
        )
    elif page.earliest_poll_at is not None and page.index >= page.price:
        reason = f"it is polled as often as it may be: not before {at(page.earliest_poll_at)}"
    elif page.due_at is not None and page.due_at == page.latest_poll_at:
        why = "at-least asks for it" if page.demanded else "no page may wait for longer"
        reason = (
            "its index does not reach the price by then, as other pages are worth more: it is"
            f" polled because {why}"
        )
    elif page.index >= page.price:
        reason = "its index has reached the price: it is polled as soon as the budget allows"
    else:
        reason = (
            "its index is below the price: until it is due, other pages are worth more; it is"
            " polled ahead of time if none of them can be, as the budget is not used up"
        )
    if page.host_free_at is not None:
        reason += f"; its host is left alone until {at(page.host_free_at)}"
        if page.host_limited_until == page.host_free_at:
            reason += f": its limit of {page.host_limit} is used up"
    return reason
