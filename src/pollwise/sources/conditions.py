"""Conditions on notices: which changes of a page somebody wants to be told of.

`below` and `above` read the first number (`pollwise.sources.numbers`) of the text that counts;
`has` and `lacks` look for words anywhere in it, upper or lower case alike, also within longer
words. They are met by a change after which they hold and before which they did not: a price that
stays below 20 is told once. Text without a number is neither below nor above anything.

`falls by`, `rises by` and `changes by` are met when that number is so much, or so much per cent,
from the one that was told last, however many steps it took. `changed` is met by a change for which
a block of text with these words came or went. With "and" between them, conditions are met by a
change after which all hold. Of a list each new item is read by itself.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Literal, get_args

from pollwise.errors import InputError
from pollwise.sources.legible import without_unseen
from pollwise.sources.numbers import first_number, number_in
from pollwise.sources.view import ListedItem, View
from pollwise.types import NumberTold

__all__ = ["Condition", "Part", "Standing", "alone", "number_of", "read_conditions", "standings"]

_Verb = Literal["below", "above", "has", "lacks", "changed", "falls by", "rises by", "changes by"]
_BOUNDS = ("below", "above")
_STEPS = ("falls by", "rises by", "changes by")
_VERBS = "|".join(verb.replace(" ", r"\s+") for verb in get_args(_Verb))
_BEGINNING = re.compile(rf"({_VERBS})(?:\s+|$)", re.IGNORECASE)
_BETWEEN = re.compile(rf"\s+(and|or)\s+(?=(?:{_VERBS})\s)", re.IGNORECASE)
_STEP_OF_WORDS = re.compile(r"by [\d.,]+ ?%?")
_MOST_SHOWN = 80
"""Characters of a number that are shown."""
_EXPECTED = (
    '"below 20", "above 20", "falls by 5 %", "rises by 10", "changes by 2 %", "has WORDS",'
    ' "lacks WORDS" or "changed WORDS", and "and" between them'
)
# A text may have any number, also 9e999999: nothing is to overflow.
_DIGITS = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


@dataclass(frozen=True, slots=True)
class Standing:
    """How a condition stands in a text.

    `reads` is the beginning of the `number` that it reads there, as it is written (None: none).
    `holds`: as the text is now; None: that cannot be said, as a number is missing, or as it is a
    condition on changes or of a list. `blocks` have its words (None: it is of a number, or of a
    list). `items` of a list would be told if they were new (None: it is no list). `measured_from`
    is the number from which steps are measured, or will be from now on (None: it is no condition on
    steps, or there is no number). `parts` are several conditions with "and" between them, each by
    itself.
    """

    condition: str
    reads: str | None
    number: float | None
    holds: bool | None
    blocks: int | None = None
    items: int | None = None
    measured_from: float | None = None
    parts: tuple["Standing", ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One of the conditions that must all hold, in the words of its user.

    It has a number (None: none), which may be per cent, or words.
    """

    told: str
    verb: _Verb
    words: str
    number: Decimal | None = None
    per_cent: bool = False

    @property
    def is_of_steps(self) -> bool:
        """Whether it is measured from the number that was told last."""
        return self.verb in _STEPS

    def holds(self, view: View, last: Decimal | None) -> bool | None:
        """Whether it holds in a text, `last` being the number told last; None: that cannot be
        said."""
        if self.number is not None:
            number = number_of(view)
            return None if number is None else self._holds_of(number, last)
        if self.verb == "changed":
            return None
        return (self.words in _folded(" ".join(view.blocks))) == (self.verb == "has")

    def holds_after(self, now: View, before: View | None, last: Decimal | None) -> bool:
        """Whether it holds after a change; None: nothing was there before."""
        if self.verb != "changed":
            return bool(self.holds(now, last))
        after, earlier = (Counter(() if one is None else one.blocks) for one in (now, before))
        return any(self._blocks_with_words([*(after - earlier), *(earlier - after)]))

    def standing(self, view: View, last: Decimal | None) -> Standing:
        """How it stands in a text that is no list."""
        holds = self.holds(view, last)
        if self.number is None:
            return Standing(self.told, None, None, holds, sum(self._blocks_with_words(view.blocks)))
        read = first_number(view)
        if read is None:
            return Standing(self.told, None, None, None)
        shown, number = read.text[:_MOST_SHOWN], float(read.number)
        begin = (number if last is None else float(last)) if self.is_of_steps else None
        return Standing(self.told, shown, number, holds, measured_from=begin)

    def _holds_of(self, number: Decimal, last: Decimal | None) -> bool:
        assert self.number is not None, self.told
        if self.verb in _BOUNDS:
            return number < self.number if self.verb == "below" else number > self.number
        if last is None:
            return False
        step = _DIGITS.subtract(number, last)
        if self.verb == "falls by":
            step = -step
        elif self.verb == "changes by":
            step = abs(step)
        least = self.number
        if self.per_cent:
            least = _DIGITS.multiply(_DIGITS.scaleb(self.number, -2), abs(last))
        return step > 0 and step >= least

    def _blocks_with_words(self, blocks: Iterable[str]) -> Iterable[bool]:
        return (self.words in _folded(block) for block in blocks)


@dataclass(frozen=True, slots=True)
class Condition:
    """What is to be so, in the words of its user: all of its parts."""

    told: str
    parts: tuple[Part, ...]

    @property
    def is_of_steps(self) -> bool:
        """Whether it is measured from the number that was told last."""
        return any(part.is_of_steps for part in self.parts)

    def is_met(self, now: View, before: View | None, last: Decimal | None = None) -> bool:
        """Whether a change from one text to another is to be told; None: nothing was there.

        `last` is the number from which steps are measured; None: there is none yet.
        """
        if not all(part.holds_after(now, before, last) for part in self.parts):
            return False
        # What was told holds no more for those of steps, as they are measured from there.
        if before is None or any(one.is_of_steps or one.verb == "changed" for one in self.parts):
            return True
        return not all(part.holds(before, last) for part in self.parts)

    def standing(self, view: View, last: Decimal | None = None) -> Standing:
        """How it stands in a text; `last` as for `is_met`."""
        if view.items is not None:
            items = sum(self.is_met(alone(item, view), None) for item in view.items)
            return Standing(self.told, None, None, None, items=items)
        parts = tuple(part.standing(view, last) for part in self.parts)
        if len(parts) == 1:
            return parts[0]
        all_hold = [part.holds for part in parts]
        holds = False if False in all_hold else None if None in all_hold else True
        return Standing(self.told, None, None, holds, parts=parts)


def alone(item: ListedItem, listed: View) -> View:
    """What a poll sees of one item of a list: its title, or else its address, and its text."""
    said = (item.found.title or item.found.url, item.text)
    return replace(listed, blocks=tuple(filter(None, said)), items=None)


def number_of(view: View) -> Decimal | None:
    """The number that conditions read in a text, to sixty digits; None: there is none."""
    read = first_number(view)
    return None if read is None else _DIGITS.plus(read.number)


def read_conditions(told: Sequence[str], where: str) -> tuple[Condition, ...]:
    """The conditions of texts; `InputError` names `where` they stand, and what is wrong.

    >>> [condition] = read_conditions(["falls by 5 % and below 19,50"], "notify-when")
    >>> [(part.verb, part.number) for part in condition.parts]
    [('falls by', Decimal('5')), ('below', Decimal('19.50'))]
    """
    return tuple(
        Condition(text, tuple(_part(part, where) for part in _divided(text, where)))
        for text in told
    )


def standings(
    told: Sequence[str], view: View, told_number: NumberTold | None = None
) -> tuple[Standing, ...]:
    """How conditions that were read before stand in a text, by the number that was told last."""
    last = None if told_number is None else told_number.told
    return tuple(one.standing(view, last) for one in read_conditions(told, "notify-when"))


def _divided(text: str, where: str) -> list[str]:
    """A text at each "and" before another condition that is not within quotes."""
    parts, begin = [], 0
    for found in _BETWEEN.finditer(text):
        part = text[begin : found.start()]
        words = _BEGINNING.sub("", part, count=1)
        is_open = words.startswith('"') and (words == '"' or not words.endswith('"'))
        if is_open and '"' in text[found.end() :]:
            continue
        if found[1].lower() == "or":
            raise InputError(
                f'{where} {text[:80]!r}: "or" cannot stand between conditions; give each by itself,'
                " and one of them is enough; words with it stand in quotes"
            )
        parts.append(part)
        begin = found.end()
    return [*parts, text[begin:]]


def _part(text: str, where: str) -> Part:
    found = _BEGINNING.match(text)
    rest = text[found.end() :].strip() if found else ""
    if is_quoted := len(rest) > 1 and rest[0] == rest[-1] == '"':
        rest = rest[1:-1]
    words = _folded(without_unseen(rest))
    if found is None or not words:
        raise InputError(f"{where} {text[:80]!r}: expected {_EXPECTED}")
    told = " ".join(found[1].lower().split())
    verb = next(verb for verb in get_args(_Verb) if verb == told)
    if verb in _BOUNDS:
        return Part(text, verb, "", _number(rest, text, f"{verb} 19.50", where))
    if verb in _STEPS:
        return _step(text, verb, rest, where)
    if verb == "changed" and not is_quoted and _STEP_OF_WORDS.fullmatch(words):
        raise InputError(
            f'{where} {text[:80]!r}: write "changes {words}"; words like these stand in quotes'
        )
    return Part(text, verb, words)


def _step(text: str, verb: _Verb, rest: str, where: str) -> Part:
    per_cent = rest.endswith("%")
    amount = rest.removesuffix("%").rstrip()
    number = _number(amount, text, f"{verb} 19.50 or {verb} 5 %", where)
    if number <= 0:
        raise InputError(f"{where} {text[:80]!r}: expected a number above 0, as in {verb} 5 %")
    return Part(text, verb, "", number, per_cent)


def _number(told: str, text: str, example: str, where: str) -> Decimal:
    """A number without anything to set thousands apart, which would leave a doubt."""
    read = number_in(told)
    plain = told.replace(",", ".").replace("\u2212", "-")
    digits = plain.removeprefix("-").replace(".", "", 1)
    if read is None or not (digits.isascii() and digits.isdecimal()):
        raise InputError(
            f"{where} {text[:80]!r}: expected one number, without a currency or a sign between"
            f" thousands, as in {example}"
        )
    if read.number != (number := Decimal(plain)):
        whole, _, part = plain.partition(".")
        raise InputError(
            f"{where} {text[:80]!r}: write {whole}{part} or {plain}0, as it may be either"
        )
    return number


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
