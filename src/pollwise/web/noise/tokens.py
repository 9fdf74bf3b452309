"""The tokens of a text that may vary without being news: numbers, dates, random words.

Which of them do vary, several fetches tell: in "Price: 199 (as of 12:03:04)" only the time, so
another price is news. A date beside a clock varies with it, only later.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["shape_of", "varying_in", "without"]

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_UNIT = r"(?:(?:second|sec|minute|min|hour|day|week|month|year)s?)"
_NAME = (
    rf"(?:{_MONTH}|{_UNIT}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|[ap]m|utc|gmt|ces?t)"
)
# Each alternative begins at the begin of a word, and looks only a little ahead: linear time. A
# token ends at what is no number of its own, so that no word is taken for a part of it.
_TOKEN = re.compile(
    rf"""
    (?<!\w){_NAME}(?!\w)
    | (?<![a-z\d_])(?:
        [\da-f]{{8}}(?:-[\da-f]{{4}}){{3}}-[\da-f]{{12}}(?![a-z\d_])
        | (?=[a-z_]{{0,12}}\d)[a-z\d_]++(?:[.:+/'-](?=\d)[a-z\d_]++|,\d{{3}}(?!\d)|)*+
        | [a-z\d_]{{20,}}+
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_IS_NAME = re.compile(_NAME, re.IGNORECASE)
_IS_MONTH = re.compile(_MONTH, re.IGNORECASE)
_IS_UNIT = re.compile(_UNIT, re.IGNORECASE)
_IS_DATE = re.compile(r"\d{1,4}([./-])\d\d?\1\d{1,4}|\d\d?[dhms]", re.IGNORECASE)
_IS_YEAR = re.compile(r"(?:19|20)\d\d")
_IS_DAY = re.compile(r"\d\d?(?:st|nd|rd|th)?", re.IGNORECASE)
_IS_NUMBER = re.compile(r"\d{1,4}")
_BESIDE = re.compile(r"[\s,.|-]{1,3}")
_BETWEEN_NUMBERS = re.compile("[年月日時时分秒년월일시]\\s?")


def shape_of(text: str) -> str:
    """A text without its tokens.

    >>> shape_of("Updated Sun, 22 Nov 2026 12:03 PM (build 4f1c9e)")
    'Updated #, # # # # # (build #)'
    """
    return _TOKEN.sub("#", text)


def without(text: str, numbers: Sequence[int]) -> str:
    """A text without those of its tokens that have these numbers, from 0.

    >>> without("Price: 199 EUR (as of 12:03:04)", [1])
    'Price: 199 EUR (as of #)'
    """
    left, at = [], 0
    chosen = set(numbers)
    for number, token in enumerate(_TOKEN.finditer(text)):
        if number in chosen:
            left += [text[at : token.start()], "#"]
            at = token.end()
    return "".join([*left, text[at:]])


def varying_in(texts: Sequence[str]) -> tuple[int, ...]:
    """The numbers of the tokens that vary in texts of one shape.

    The other parts of a date or of an amount of time of which one varies do so too.

    >>> varying_in(["1 Nov 2026, 12:03:04, 3 left", "1 Nov 2026, 12:03:05, 3 left"])
    (0, 1, 2, 3)
    """
    tokens = [[token[0] for token in _TOKEN.finditer(text)] for text in texts]
    varying = [len(set(each)) > 1 for each in zip(*tokens, strict=True)]
    words, text = tokens[0], texts[0]
    spans = [token.span() for token in _TOKEN.finditer(text)]
    gaps = [text[one[1] : other[0]] for one, other in pairwise(spans)]
    begin = 0
    for end in range(1, len(words) + 1):
        if end < len(words) and (
            _BESIDE.fullmatch(gaps[end - 1]) or _BETWEEN_NUMBERS.fullmatch(gaps[end - 1])
        ):
            continue
        joined = _of_dates(words[begin:end], gaps[begin : end - 1])
        for order in (range(begin + 1, end), range(end - 2, begin - 1, -1)):
            for n in order:
                nearer = n - 1 if order.step > 0 else n + 1
                varying[n] |= varying[nearer] and joined[n - begin]
        begin = end
    return tuple(n for n, does in enumerate(varying) if does)


def _of_dates(words: Sequence[str], gaps: Sequence[str]) -> list[bool]:
    """Which of some tokens one beside the other are parts of dates or of amounts of time."""
    months = [bool(_IS_MONTH.fullmatch(word)) for word in words]
    signs = [False, *(bool(_BETWEEN_NUMBERS.fullmatch(gap)) for gap in gaps), False]
    around = [False, *months, False]
    followers = [*words[1:], ""]
    return [
        bool(
            _IS_NAME.fullmatch(word)
            or _IS_DATE.fullmatch(word)
            or (_IS_YEAR.fullmatch(word) and any(months))
            or (_IS_DAY.fullmatch(word) and (around[n] or around[n + 2]))
            or (_IS_NUMBER.fullmatch(word) and _IS_UNIT.fullmatch(followers[n]))
            or signs[n]
            or signs[n + 1]
        )
        for n, word in enumerate(words)
    ]
