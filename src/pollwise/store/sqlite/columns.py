"""What the columns of the queries hold: SQLite would give anything that a damaged file has.

Each query that reads has a word for each of its columns, with `?` if the column may be NULL.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["COLUMNS", "unsound_among", "unsound_column"]

_ROWS_AT_ONCE = 1000


class _Kind(NamedTuple):
    """The types of a column's values and, of numbers, the least and the greatest."""

    types: frozenset[type]
    least: float = -math.inf
    most: float = math.inf


_INTEGER = frozenset({int})
_REAL = frozenset({int, float})
_NOTHING = type(None)
_LEAST = 5e-324
_GREATEST = 1.7976931348623157e308
_KINDS = {
    "whole": _Kind(_INTEGER, 0, 2**62),
    # Of a page: whoever learns has rows for all ids up to the largest.
    "id": _Kind(_INTEGER, 0, 2**31 - 1),
    "flag": _Kind(_INTEGER, 0, 1),
    # The years 1 (which servers tell for "never") to 9999, which calendars can show.
    "time": _Kind(_REAL, -62_135_596_800.0, 253_402_300_799.0),
    "outcome": _Kind(_INTEGER, 0, 3),
    "kind": _Kind(_INTEGER, 0, 3),
    "interval": _Kind(_REAL, _LEAST, _GREATEST),
    "number": _Kind(_REAL, -_GREATEST, _GREATEST),
    "text": _Kind(frozenset({str})),
    "bytes": _Kind(frozenset({bytes})),
    # Text from the web; bytes where it was no valid UTF-8.
    "told": _Kind(frozenset({str, bytes})),
}

_PAGE = (
    "id text text number number time? told? told? text? text? text time time? outcome?"
    " whole whole whole told? time? number? whole number? told? whole? time? told? time?"
    " interval? interval? text flag text text text text text text text flag flag text text"
)
_CHANGE = "whole whole text time time flag told? text text text flag kind whole? flag"
COLUMNS = {
    query: words.split()
    for query, words in {
        "next_page_id": "whole",
        "live_pages": _PAGE,
        "count_pages": "whole",
        "count_copies": "whole",
        "watched_pages": (
            "id text number time? outcome? flag text told? told? text? text? text text text text"
            " text"
        ),
        "watched_wishes": "id number interval? interval? flag text text text flag text",
        "page_outlines": "id text text told? text flag outcome? time?",
        "first_pages": _PAGE,
        "live_pages_by_url": _PAGE,
        "wishes_by_url": (
            "text text text number number interval? interval? flag text text text text flag text"
        ),
        "scopes_by_url": "id text text",
        "scopes_within": "id text text",
        "listed_urls": "text",
        "count_without_copy": "whole",
        "totals": "whole whole whole whole whole whole",
        "recent_polls": "whole time outcome time? whole? number flag",
        "outcomes": "whole time outcome",
        "learned_layouts": "whole text",
        "learned_pages": "whole whole bytes",
        "learned_shared": "text text text bytes",
        "scheduler_state": "text",
        "sizes": "whole whole",
        "lately": "whole whole time? whole whole",
        "latest_time": "time",
        "pages_after": "whole",
        "times_of_page": "time",
        "clock_set_back": "time number whole",
        "runs": "whole time text",
        "initial_state": "bytes?",
        "events_after": "whole text",
        "changes_after": _CHANGE,
        "unread_changes_after": _CHANGE,
        "changes_of_page": _CHANGE,
        "newest_changes": _CHANGE,
        "newest_changes_of_pages": _CHANGE,
        "count_changes": "whole time?",
        "count_changes_of_pages": "whole time?",
        "latest_change": "whole",
        "written": "whole",
        "page_ids": "id",
        "receivers": "text whole whole time? time? whole text? time?",
        "subscriptions": "id text text text text time time? time? whole text?",
        "waiting_requests": "whole text",
        "answer": "text",
        "content": "text whole bytes",
        "versions": "time told text whole",
        "head": "bytes?",
        "revisits": "time",
        "history_after": "whole whole number? bytes?",
        "terms_of": "flag bytes",
        "terms_after": "whole bytes",
        "documents_after": (
            "whole text text? bytes? number? whole time? time time? whole whole flag text?"
            " text text number interval? interval?"
        ),
        "search": "whole text text number number number bytes",
        "searchable_pages": "whole",
        "count_matches": "whole",
        "state": "bytes",
    }.items()
}
"""The words for the columns of each query that is read."""


def unsound_column(query: str, rows: Sequence[tuple[Any, ...]]) -> str | None:
    """What is wrong with the rows of a query, in words; None: nothing."""
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        # By columns, which is a fraction of the work that the rows' further way takes.
        columns = [*zip(*rows[begin : begin + _ROWS_AT_ONCE], strict=True)]
        if (wrong := unsound_among(query, columns)) is not None:
            return wrong
    return None


def unsound_among(query: str, columns: Sequence[tuple[Any, ...]]) -> str | None:
    """The same of rows by columns."""
    for word, held in zip(COLUMNS[query], columns, strict=True):
        if held.count(held[0]) == len(held):  # as of most pages most columns say the same
            held = held[:1]
        kind = _KINDS[word.removesuffix("?")]
        types = set(map(type, held))
        if _NOTHING in types:
            if not word.endswith("?"):
                return f"nothing for a {word}"
            types.remove(_NOTHING)
            if types and types <= _REAL:
                held = tuple(value for value in held if value is not None)
        if strange := types - kind.types:
            return f"{strange.pop().__name__} for a {word.removesuffix('?')}"
        if types and kind.types <= _REAL and not kind.least <= min(held) <= max(held) <= kind.most:
            return f"{min(held)} to {max(held)} for a {word.removesuffix('?')}"
    return None
