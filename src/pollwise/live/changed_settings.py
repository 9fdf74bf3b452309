"""What a run is told anew, in words, and what becomes of what was learned."""

import math
from collections.abc import Iterator
from dataclasses import fields

from pollwise.scheduler.budgets import parse_budget
from pollwise.settings import Settings
from pollwise.texts import plain

__all__ = ["changes_of"]

_SILENT = ("topic", "given", "given_plain", "requests", "workers", "parameters")
"""What cannot change, is not kept, or is told with something else."""
_BUDGETS = ("budget", "first_copies")
_OPTIONS = {
    "headers": "header",
    "groups": "group",
    "host_limits": "host-limit",
    "shares": "share",
    "subject": "topic",
}
"""Fields that are not named as their options."""
_CONSEQUENCES = {
    "budget": "what was learned is kept",
    "objective": "what was learned of the pages is kept, the price of a poll is found anew",
    "revert_worth": "it holds for the changes seen before, too",
    "notify": "new receivers hear of changes from now on",
    "subject": "by their stems these are the same words, so all that is known of the topic stays",
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
        option = _OPTIONS.get(field.name, field.name.replace("_", "-"))
        yield (
            f"{option} {_shown(field.name, now)}, before {_shown(field.name, before)}"
            + (f"; {consequence}" if consequence else "")
        )


def _is_same(name: str, before: object, now: object) -> bool:
    if name in _BUDGETS:
        return parse_budget(getattr(before, name)) == parse_budget(getattr(now, name))
    return _shown(name, before) == _shown(name, now)


def _shown(name: str, settings: object) -> str:
    value = getattr(settings, name)
    if name == "objective":
        decay = getattr(settings, "parameters", {}).get("decay")
        half_life = "" if decay is None else f" (half-life {math.log(2) / decay / 3600:.3g} hours)"
        return f"{value}{half_life}"
    if value in (None, (), ""):
        return "none"
    if name == "notify":
        # Here, as few need what sends mail and the like.
        from pollwise.notify.receivers import name_of

        return ", ".join(map(name_of, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return plain(value)
    return ", ".join(value) if isinstance(value, tuple) else str(value)
