"""What a run is told anew, in words, and what becomes of what was learned."""

from collections.abc import Iterator
from dataclasses import fields

from pollwise.scheduler.budgets import parse_budget
from pollwise.settings import Settings

__all__ = ["changes_of"]

_SILENT = ("topic", "subject", "given", "given_plain", "requests", "workers", "parameters")
"""What cannot change, is not kept, or is told with something else."""
_BUDGETS = ("budget", "first_copies")
_CONSEQUENCES = {
    "budget": "what was learned is kept",
    "objective": "what was learned of the pages is kept, the price of a poll is found anew",
    "revert_worth": "it holds for the changes seen before, too",
    "keep": "older versions go by the new rule",
}


def changes_of(before: Settings | None, now: Settings) -> Iterator[str]:
    """A line for each setting that is another than before; None: there was no run before."""
    if type(before) is not type(now):
        return
    for field in fields(now):
        if field.name in _SILENT or _is_same(field.name, before, now):
            continue
        consequence = _CONSEQUENCES.get(field.name)
        yield (
            f"{field.name.replace('_', '-')} {_shown(field.name, now)}, before"
            f" {_shown(field.name, before)}" + (f"; {consequence}" if consequence else "")
        )


def _is_same(name: str, before: object, now: object) -> bool:
    if name in _BUDGETS:
        return parse_budget(getattr(before, name)) == parse_budget(getattr(now, name))
    return _shown(name, before) == _shown(name, now)


def _shown(name: str, settings: object) -> str:
    value = getattr(settings, name)
    if name == "objective":
        parameters = getattr(settings, "parameters", {})
        named = ", ".join(f"{key} {number:.3g}/s" for key, number in parameters.items())
        return f"{value} ({named})" if named else str(value)
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(value) if isinstance(value, tuple) else str(value)
