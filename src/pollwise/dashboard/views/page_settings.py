"""The form of what is wanted of one page: its fields, what they hold now, and what was changed."""

from collections.abc import Callable
from typing import Any

from pollwise.dashboard.forms import Field, Form
from pollwise.errors import InputError
from pollwise.live.requests import ChangePages
from pollwise.scheduler.bounds import read_bounds
from pollwise.store.records import NewPage
from pollwise.texts import plain
from pollwise.types import Page
from pollwise.units import DAY, HOUR, MINUTE, WEEK
from pollwise.web.urls import scope_of
from pollwise.web.wishes import LONGEST_NAME, read_wishes

__all__ = ["change_of", "settings_form"]

_UNITS = (("second", 1.0), ("minute", MINUTE), ("hour", HOUR), ("day", DAY))
_LONGEST = 10_000
_BOUNDS = ("at_least", "at_most")


def settings_form(page: Page) -> Form:
    """The form of a page, with what holds now."""
    fields = {
        "name": Field(_checked("name"), LONGEST_NAME),
        "tags": Field(_tags),
        "weight": Field(_amount("weight"), 40),
        "cost": Field(_amount("cost"), 40),
        "at_least": Field(_checked("at_least"), 40),
        "at_most": Field(_checked("at_most"), 40),
        "select": Field(_lines("select"), _LONGEST, lines=True),
        "ignore": Field(_lines("ignore"), _LONGEST, lines=True),
        "notify_when": Field(_lines("notify_when"), _LONGEST, lines=True),
    }
    present = {
        "name": page.name,
        "tags": ", ".join(page.tags),
        "weight": plain(page.weight),
        "cost": plain(page.cost),
        "at_least": _frequency(page.longest_interval),
        "at_most": _frequency(page.shortest_interval),
        "select": "\n".join(page.select),
        "ignore": "\n".join(page.ignore),
        "notify_when": "\n".join(page.notify_when),
    }
    return Form("settings", fields, present)


def change_of(form: Form, page: Page) -> ChangePages | None:
    """The request for what was changed in a form that was taken; None: nothing was, or an error
    of it is told in the form.
    """
    told = {name: form.values[name] for name in form.changed}
    if not told:
        return None
    if told.keys() & set(_BOUNDS):
        try:
            read_bounds(*(form.typed[name].strip() or None for name in _BOUNDS))
        except InputError as error:
            form.refuse("at_least", str(error))
            return None
    return ChangePages((NewPage(page.url, scope_of(page.url), **read_wishes(**told)),))


def _require(name: str, wish: Any) -> None:
    """`InputError` for a wish that cannot be used."""
    read_wishes(**{name: wish})


def _checked(name: str) -> Callable[[str], str]:
    """Reads a text that can be a wish by this name."""

    def read(text: str) -> str:
        _require(name, text.strip())
        return text.strip()

    return read


def _tags(text: str) -> list[str]:
    _require("tags", [text])
    return [text]


def _amount(name: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            amount = float(text)
        except ValueError as error:
            raise InputError(f"{name} {text!r}: expected a number above 0, such as 2") from error
        _require(name, amount)
        return amount

    return read


def _lines(name: str) -> Callable[[str], list[str]]:
    """Reads selectors or conditions, one a line; no line: none."""

    def read(text: str) -> list[str]:
        lines = [line for line in text.split("\n") if line.strip()]
        _require(name, lines)
        return lines

    return read


def _frequency(interval: float | None) -> str:
    """The frequency of polls that are so many seconds apart, as forms read it; empty: no bound.

    >>> _frequency(86_400.0), _frequency(7200.0), _frequency(None)
    ('1/day', '12/day', '')
    """
    if interval is None:
        return ""
    for name, size in _UNITS:
        if size >= interval:
            return f"{plain(size / interval, 10)}/{name}"
    return f"{plain(WEEK / interval, 10)}/week"
