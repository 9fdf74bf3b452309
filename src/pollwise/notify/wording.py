"""What notices say: a page, what went and came, when it was seen and how old that is."""

from collections.abc import Sequence

from pollwise.insight.changes import ListedChange, happened
from pollwise.insight.difference import lines_of
from pollwise.insight.words import age, count, moment
from pollwise.store.place import Place, command
from pollwise.store.records import ChangeKind
from pollwise.texts import printable

__all__ = [
    "MOST_IN_FULL",
    "difference_lines",
    "headline",
    "short",
    "text_of",
    "title_of",
    "title_of_all",
]

_MOST_CHARACTERS = 300
"""Of a line."""
MOST_IN_FULL = 20
"""Changes of a notice; of the others it says which pages, and the new items of feeds."""
_MOST_ITEMS = 10
"""Of a change of a feed that are named."""
_HEADS = {
    ChangeKind.CHANGED: "Changed",
    ChangeKind.GONE: "Gone",
    ChangeKind.BACK: "Back",
    ChangeKind.BACK_CHANGED: "Back",
}


def title_of(change: ListedChange) -> str:
    """What the page of a change is called: its name, else its title, else its URL."""
    return short(change.called) or change.url


def headline(change: ListedChange) -> str:
    """What happened to which page."""
    return f"{_HEADS[change.kind]}: {title_of(change)}"


def title_of_all(changes: Sequence[ListedChange]) -> str:
    """What a notice of these changes (at least one) is called."""
    if len(changes) == 1:
        return headline(changes[0])
    pages = count(len({change.url for change in changes}), "page")
    heads = {_HEADS[change.kind] for change in changes}
    if len(heads) == 1 and "Changed" not in heads:
        return f"{heads.pop()}: {pages}"
    return f"{count(len(changes), 'change')} of {pages}"


def difference_lines(change: ListedChange) -> list[str]:
    """What went and what came, or the first new items of a feed with their addresses."""
    return [short(line) for line in lines_of(change, _MOST_ITEMS, addresses=True)]


def text_of(changes: Sequence[ListedChange], now: float, db: Place) -> str:
    """What a notice of these changes in `db` says at the time `now` (UTC seconds)."""
    parts = ["\n".join(_lines(change, now, db)) for change in changes[:MOST_IN_FULL]]
    if others := changes[MOST_IN_FULL:]:
        parts.append("\n".join(["Also changed:", *dict.fromkeys(_in_short(one) for one in others)]))
    return "\n\n".join(parts)


def _in_short(change: ListedChange) -> str:
    if not change.kind.is_of_content:
        return f"{change.url} ({happened(change.kind, change.status)})"
    return "\n".join([change.url, *(difference_lines(change) if change.items else ())])


def _lines(change: ListedChange, now: float, db: Place) -> list[str]:
    title = short(change.called)
    back = ", back to an earlier version" if change.reverted else ""
    old = age(max(now - change.seen_at, 0.0), max(now - change.before_at, 0.0))
    return [
        *([title] if title else []),
        change.url,
        *difference_lines(change),
        f"{happened(change.kind, change.status)} {old}{back}; seen {moment(change.seen_at)} UTC",
        f"more: {command(db, 'diff' if change.kind.is_of_content else 'history', change.url)}",
    ]


def short(text: str) -> str:
    """A text on one line of at most 300 characters."""
    folded = printable(text)
    return folded if len(folded) <= _MOST_CHARACTERS else f"{folded[:_MOST_CHARACTERS]}…"
