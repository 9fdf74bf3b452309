"""A list that is filtered, sorted and shown in pages: what of it is asked for, by links."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar
from urllib.parse import urlencode

from starlette.requests import Request

from pollwise.dashboard.api.parameters import text_asked, whole_number_asked
from pollwise.errors import InputError
from pollwise.insight.hosts import HostColumn
from pollwise.insight.page_table import Column

__all__ = ["AT_ONCE", "Listing", "choice_asked", "listing_asked"]

AT_ONCE = 50
"""Rows of a page of a list."""
_MOST_PAGES = 1_000_000

C = TypeVar("C", bound=Enum)


@dataclass(frozen=True, slots=True)
class Listing:
    """The `page`-th page (from 1) of a list at `path`, by a column.

    `filters` are those that are set; `descending` None: as is usual for the column.
    """

    path: str
    filters: Mapping[str, str]
    column: Column | HostColumn
    is_default: bool
    descending: bool | None
    page: int

    @property
    def offset(self) -> int:
        """How many rows are before those that are shown."""
        return (self.page - 1) * AT_ONCE

    @property
    def down(self) -> bool:
        """Whether the largest comes first."""
        return self.column.descends if self.descending is None else self.descending

    @property
    def query(self) -> dict[str, str]:
        """What is asked for, as in the address."""
        asked = dict(self.filters)
        if not self.is_default:
            asked["sort"] = self.column.value
        if self.descending is not None:
            asked["order"] = "down" if self.descending else "up"
        return asked if self.page == 1 else {**asked, "page": str(self.page)}

    def url(self, **other: str | int) -> str:
        """The address of what is asked for, with some of it otherwise; empty: without that."""
        asked = {name: value for name, value in {**self.query, **other}.items() if value != ""}
        return f"{self.path}?{urlencode(asked)}" if asked else self.path

    def sorted_by(self, name: str) -> str:
        """The address of the list by a column; by the present one, the other way round."""
        order = ""
        if name == self.column.value:
            order = "up" if self.down else "down"
        return self.url(sort=name, order=order, page="")

    def sort_of(self, name: str) -> str:
        """`ascending` or `descending` if it is sorted by this column, else empty."""
        if name != self.column.value:
            return ""
        return "descending" if self.down else "ascending"


def listing_asked(
    request: Request, path: str, default: Column | HostColumn, *filters: str
) -> Listing:
    """What the query of the URL asks for; `InputError` names what cannot be used."""
    asked = {name: text for name in filters if (text := text_asked(request, name).strip())}
    column: Column | HostColumn | None
    if isinstance(default, Column):
        column = choice_asked(request, "sort", Column)
    else:
        column = choice_asked(request, "sort", HostColumn)
    order = request.query_params.get("order", "")
    if order not in ("", "up", "down"):
        raise InputError(f"order={order[:20]!r} must be up or down")
    page = whole_number_asked(request, "page", 1, least=1, most=_MOST_PAGES)
    return Listing(
        path,
        asked,
        column or default,
        column in (None, default),
        order == "down" if order else None,
        page,
    )


def choice_asked(request: Request, name: str, choices: type[C]) -> C | None:
    """One of the choices; None: it is not told, or empty."""
    text = request.query_params.get(name, "")
    if not text:
        return None
    try:
        return choices(text)
    except ValueError:
        known = ", ".join(one.value for one in choices)
        raise InputError(f"{name}={text[:20]!r} must be one of {known}") from None
