"""Conditions on notices: which changes of a page somebody wants to be told of.

`below` and `above` read the first number (`pollwise.sources.numbers`) of the text that counts;
`has` and `lacks` look for words anywhere in it, upper or lower case alike, also within longer
words. They are met by a change after which they hold and before which they did not: a price that
stays below 20 is told once. Text without a number is neither below nor above anything. `changed`
is met by a change for which a block of text with these words came or went. Of a list each new item
is read by itself.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, get_args

from pollwise.errors import InputError
from pollwise.sources.legible import without_unseen
from pollwise.sources.numbers import first_number, number_in
from pollwise.sources.view import ListedItem, View

__all__ = ["Condition", "Standing", "alone", "read_conditions", "standings"]

_Verb = Literal["below", "above", "has", "lacks", "changed"]
_MOST_SHOWN = 80
"""Characters of a number that are shown."""
_EXPECTED = '"below 20", "above 20", "has WORDS", "lacks WORDS" or "changed WORDS"'


@dataclass(frozen=True, slots=True)
class Standing:
    """How a condition stands in a text.

    `reads` is the beginning of the `number` that it reads there, as it is written (None: none).
    `holds`: as the text is now; None: that cannot be said, as a number is missing, or as it is a
    condition on changes or of a list. `blocks` have its words (None: it is of a number, or of a
    list). `items` of a list would be told if they were new (None: it is no list).
    """

    condition: str
    reads: str | None
    number: float | None
    holds: bool | None
    blocks: int | None = None
    items: int | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """What is to be so, in the words of its user; its number (None: it has none), or words."""

    told: str
    verb: _Verb
    words: str
    number: Decimal | None = None

    def is_met(self, now: View, before: View | None) -> bool:
        """Whether a change from one text to another is to be told; None: nothing was there."""
        if self.verb != "changed":
            return bool(self.holds(now)) and not (before is not None and self.holds(before))
        after, earlier = (Counter(() if one is None else one.blocks) for one in (now, before))
        return any(self._blocks_with_words([*(after - earlier), *(earlier - after)]))

    def holds(self, view: View) -> bool | None:
        """Whether it holds in a text; None: that cannot be said."""
        if self.number is not None:
            read = first_number(view)
            if read is None:
                return None
            return read.number < self.number if self.verb == "below" else read.number > self.number
        if self.verb == "changed":
            return None
        return (self.words in _folded(" ".join(view.blocks))) == (self.verb == "has")

    def standing(self, view: View) -> Standing:
        """How it stands in a text."""
        if view.items is not None:
            items = sum(self.is_met(alone(item, view), None) for item in view.items)
            return Standing(self.told, None, None, None, items=items)
        if self.number is None:
            blocks = sum(self._blocks_with_words(view.blocks))
            return Standing(self.told, None, None, self.holds(view), blocks)
        read = first_number(view)
        if read is None:
            return Standing(self.told, None, None, None)
        return Standing(self.told, read.text[:_MOST_SHOWN], float(read.number), self.holds(view))

    def _blocks_with_words(self, blocks: Iterable[str]) -> Iterable[bool]:
        return (self.words in _folded(block) for block in blocks)


def alone(item: ListedItem, listed: View) -> View:
    """What a poll sees of one item of a list: its title, or else its address, and its text."""
    said = (item.found.title or item.found.url, item.text)
    return replace(listed, blocks=tuple(filter(None, said)), items=None)


def read_conditions(told: Sequence[str], where: str) -> tuple[Condition, ...]:
    """The conditions of texts; `InputError` names `where` they stand, and what is wrong.

    >>> read_conditions(["below 19,50"], "notify-when")[0].number
    Decimal('19.50')
    """
    return tuple(_condition(text, where) for text in told)


def standings(told: Sequence[str], view: View) -> tuple[Standing, ...]:
    """How conditions that were read before stand in a text."""
    return tuple(one.standing(view) for one in read_conditions(told, "notify-when"))


def _condition(text: str, where: str) -> Condition:
    first, _, rest = text.partition(" ")
    rest = rest.strip()
    if len(rest) > 1 and rest[0] == rest[-1] == '"':
        rest = rest[1:-1]
    words = _folded(without_unseen(rest))
    for verb in get_args(_Verb):
        if first.lower() == verb and words:
            if verb in ("below", "above"):
                return Condition(text, verb, "", _threshold(rest, text, where))
            return Condition(text, verb, words)
    raise InputError(f"{where} {text[:80]!r}: expected {_EXPECTED}")


def _threshold(told: str, text: str, where: str) -> Decimal:
    """A number without anything to set thousands apart, which would leave a doubt."""
    read = number_in(told)
    plain = told.replace(",", ".").replace("\u2212", "-")
    digits = plain.removeprefix("-").replace(".", "", 1)
    if read is None or not (digits.isascii() and digits.isdecimal()):
        verb = text.split(maxsplit=1)[0].lower()
        raise InputError(
            f"{where} {text[:80]!r}: expected one number, without a currency or a sign between"
            f" thousands, as in {verb} 19.50"
        )
    if read.number != (number := Decimal(plain)):
        whole, _, part = plain.partition(".")
        raise InputError(
            f"{where} {text[:80]!r}: write {whole}{part} or {plain}0, as it may be either"
        )
    return number


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
