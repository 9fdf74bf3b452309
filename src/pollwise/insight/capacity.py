"""Whether the hosts of a collection take its budget."""

from collections.abc import Callable, Mapping

from pollwise.insight.words import count, number
from pollwise.settings import CollectSettings

__all__ = ["host_delays", "taken_words"]

_UNITS = ((1.0, "a second"), (60.0, "a minute"), (3600.0, "an hour"), (86_400.0, "a day"))


def host_delays(
    settings: CollectSettings, pace_of: Callable[[str], float]
) -> Callable[[str], float]:
    """Gives the seconds between two polls of a scope: its crawl delay, what it asked for itself
    (`pace_of`), or its limit, whichever is the longest.
    """
    limits: Mapping[str, float] = settings.limit_rates()

    def delay(scope: str) -> float:
        limit = 1.0 / limits[scope] if scope in limits else 0.0
        return max(settings.crawl_delay, pace_of(scope), limit)

    return delay


def taken_words(hosts: int, taken: float, allowed: float) -> str:
    """That hosts take fewer requests than allowed (both a second), in the unit that fits both.

    >>> taken_words(6, 6.0, 50.0)
    '6 hosts take 6 requests a second of the 50'
    >>> taken_words(1, 1 / 60, 0.5)
    '1 host takes 1 request a minute of the 30'
    """
    size, unit = next((one for one in _UNITS if taken * one[0] >= 0.995), _UNITS[-1])
    figure = number(taken * size)
    noun = "request" if figure == "1" else "requests"
    verb = "takes" if hosts == 1 else "take"
    return f"{count(hosts, 'host')} {verb} {figure} {noun} {unit} of the {number(allowed * size)}"
