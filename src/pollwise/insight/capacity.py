"""Whether hosts take the budget, as people are told."""

from collections.abc import Callable, Mapping

from pollwise.insight.words import count, duration, number
from pollwise.scheduler.capacity import Shortfall, SlowHost
from pollwise.settings import CollectSettings
from pollwise.units import DAY, HOUR, MINUTE

__all__ = ["host_delays", "shortfall_words", "taken_words"]

_UNITS = ((1.0, "a second"), (MINUTE, "a minute"), (HOUR, "an hour"), (DAY, "a day"))
_MOST_NAMED = 3
_ALL = 1.0 - 1e-9
_FEWEST = 100.0
"""So many a unit of time at least, or a longer unit tells more."""


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
    size, unit = _unit_of(taken, 0.995)
    figure = number(taken * size)
    noun = "request" if figure == "1" else "requests"
    verb = "takes" if hosts == 1 else "take"
    return f"{count(hosts, 'host')} {verb} {figure} {noun} {unit} of the {number(allowed * size)}"


def shortfall_words(short: Shortfall, budget: str, budget_per_day: float) -> str:
    """What hosts take at most, and that a larger budget brings nothing there.

    `budget` is how people say the present one, of so many cost units a day. Hosts may well take
    that, if the shortfall is of a larger one.

    >>> slow = SlowHost("example.org", 9, polls_per_day=17_280.0, pause=4.5, answers_in=0.5)
    >>> short = Shortfall(144_000.0, 17_280.0, 17_280.0, 0.12, slow=1, hosts=(slow,))
    >>> print(shortfall_words(short, "6000/hour", 144_000.0))
    example.org can take 720 polls an hour (answers in 0.5 s, then a pause of 4.5 s): 12 % of the \
budget of 6000/hour; a larger budget brings nothing there. See docs/limits.md
    >>> print(shortfall_words(short, "300/hour", 7_200.0))
    example.org can take 720 polls an hour (answers in 0.5 s, then a pause of 4.5 s); a budget \
above that brings nothing there. See docs/limits.md
    """
    most = _polls(short.polls_per_day)
    if short.slow == 1 and short.hosts[0].polls_per_day >= _ALL * short.polls_per_day:
        told = f"{short.hosts[0].host} can take {most} ({_why(short.hosts[0])})"
    else:
        named = [
            f"{host.host} {_polls(host.polls_per_day)} ({_why(host)})"
            for host in short.hosts[:_MOST_NAMED]
        ]
        more = f" and {short.slow - len(named):,} more" if short.slow > len(named) else ""
        told = f"all hosts can take {most}, of which {', '.join(named)}{more}"
    share = short.taken_per_day / budget_per_day
    if share < 1.0:
        part = f": {number(100 * share)} % of the budget of {budget}; a larger budget"
    else:
        part = "; a budget above that"
    return f"{told}{part} brings nothing there. See docs/limits.md"


def _why(host: SlowHost) -> str:
    pause = f"a pause of {duration(host.pause)}"
    return f"answers in {duration(host.answers_in)}, then {pause}" if host.answers_in else pause


def _polls(per_day: float) -> str:
    size, unit = _unit_of(per_day / DAY, _FEWEST)
    return f"{number(per_day / DAY * size)} polls {unit}"


def _unit_of(rate: float, least: float) -> tuple[float, str]:
    """The shortest unit of time in which a rate (a second) comes to so many at least."""
    return next((one for one in _UNITS if rate * one[0] >= least), _UNITS[-1])
