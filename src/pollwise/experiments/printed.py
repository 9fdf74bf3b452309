"""The numbers that the papers print, transcribed: one CSV file a paper, in `papers/printed`.

Each number has the item that it stands in (a table, or the text about one), its row and column as
printed, and the line of the paper's plain text. Tests read every number again from excerpts of
these texts.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pollwise.units import HOUR, MINUTE

__all__ = ["Printed", "printed_in"]

_SECONDS = {"s": 1.0, "min": MINUTE, "hours": HOUR}
_NUMBER = re.compile(r"(?P<digits>[\d,]+(?:\.(?P<decimals>\d+))?) ?(?P<unit>[a-z]*)")


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as a paper prints it (`text`), and where; `value` has times in seconds.

    `step` is one unit of its last digit. A printed number stands for all that it may have been
    rounded from, or cut from: the thesis cuts (the optimum 752.475 is printed as 752.4).
    """

    text: str
    value: float
    step: float
    item: str
    row: str
    column: str
    line: int

    def distance(self, value: float) -> float:
        """How far a value is from what may be printed like this; 0 if it may."""
        low, high = self.value - self.step / 2, self.value + self.step
        return max(low - value, value - high, 0.0)


def _read(record: Mapping[str, str]) -> Printed:
    text, place = record["value"], (record["item"], record["row"], record["column"])
    number = _NUMBER.fullmatch(text)
    assert number is not None, f"{place}: {text!r}"
    unit = _SECONDS.get(number["unit"], 1.0)
    value = float(number["digits"].replace(",", "")) * unit
    step = unit * 10.0 ** -len(number["decimals"] or "")
    return Printed(text, value, step, *place, line=int(record["line"]))


@cache
def _of(paper: str) -> tuple[Printed, ...]:
    file = resources.files("pollwise.experiments.papers") / "printed" / f"{paper}.csv"
    return tuple(map(_read, csv.DictReader(file.read_text(encoding="utf-8").splitlines())))


def printed_in(paper: str, item: str) -> dict[tuple[str, str], Printed]:
    """The numbers of an item of a paper by row and column as printed, such as table 8.2.

    >>> printed_in("gpoks", "table 8.2")["GPOKS:TS 0.75/0.25", "t=1000"].value
    787.9
    """
    return {(each.row, each.column): each for each in _of(paper) if each.item == item}
