"""What to expect of a budget, as frozen values; `Forecaster` computes them."""

from dataclasses import dataclass

from pollwise.errors import InputError

__all__ = ["Expectation", "Forecast", "Interval", "require_freshness"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A forecast figure: its expected value and its 80 % interval."""

    mean: float
    low: float
    high: float

    def __mul__(self, times: float) -> "Interval":
        """The same for so many units of time, or in a smaller unit."""
        return Interval(self.mean * times, self.low * times, self.high * times)

    def __truediv__(self, unit: float) -> "Interval":
        """The same in another unit, such as days instead of seconds."""
        return Interval(self.mean / unit, self.low / unit, self.high / unit)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a budget brings in the long run.

    `budget` is in cost units a day. `found_per_day` counts the polls that find a change.
    `freshness` is the mean share of time in which the copy of a page equals the page, by weight.
    `delay` is the mean time in seconds from a change to the next poll of its page; infinite if a
    page that changes is never polled. `marginal_found` and `marginal_freshness` are what one more
    cost unit a day would add to `found_per_day` and `freshness`.
    """

    budget: float
    polls_per_day: float
    found_per_day: float
    freshness: float
    delay: float
    marginal_found: float
    marginal_freshness: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """What to expect of the coming `horizon` (seconds); the figures are as in `Expectation`."""

    horizon: float
    found_per_day: Interval
    freshness: Interval
    delay: Interval


def require_freshness(freshness: float) -> None:
    """`InputError` for a freshness that no copies have: it must lie between 0 and 1."""
    if not 0 < freshness < 1:
        raise InputError(
            f"freshness {freshness:g} must be between 0 and 1 (exclusive), such as 0.95"
        )
