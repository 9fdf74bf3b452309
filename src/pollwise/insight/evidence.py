"""How much must have been seen before figures are told: less is a guess of what pages are like."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["FEWEST_OTHERS", "Evidence", "of_page", "of_pages"]

_FEWEST_POLLS = 40
_FEWEST_OWN_POLLS = 7
FEWEST_OTHERS = 5
"""Pages whose polls told something, before it is said what pages like another one do.

After one page another may change once a year or every few seconds, for all that is known.
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The polls that told something, and about how many are `needed` before figures are told.

    A poll tells something if it found the page and there was an earlier copy to compare with.
    `docs/theory.md` says how the numbers needed were measured.
    """

    polls: int
    needed: int

    @property
    def suffices(self) -> bool:
        """Whether figures can be told."""
        return self.polls >= self.needed


def of_pages(told: Sequence[int]) -> Evidence:
    """What there is for forecasts of all pages, given the polls of each that told something.

    Needed are 40 in all, or one for each page, if that is more.
    """
    return Evidence(polls=sum(told), needed=max(_FEWEST_POLLS, len(told)))


def of_page(told: int) -> Evidence:
    """What there is for the change rate of one page, given its polls that told something: 7."""
    return Evidence(polls=told, needed=_FEWEST_OWN_POLLS)
