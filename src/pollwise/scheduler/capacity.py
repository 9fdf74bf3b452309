"""How many polls the hosts take, whatever the budget is."""

from collections.abc import Callable, Iterable

__all__ = ["rate_taken"]


def rate_taken(scopes: Iterable[str], delay_of: Callable[[str], float], enough: float) -> float:
    """The polls a second that these politeness scopes take at most, or `enough` if that is less.

    `delay_of` gives the seconds between two polls of a scope. It is asked for as many scopes as it
    takes to come to `enough`.

    >>> rate_taken(["a.example", "b.example"], lambda scope: 0.5, 50.0)
    4.0
    """
    taken = 0.0
    for scope in scopes:
        delay = delay_of(scope)
        if delay <= 0 or taken + 1.0 / delay >= enough:
            return enough
        taken += 1.0 / delay
    return taken
