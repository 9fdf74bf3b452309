"""Text to terms: what the vector-space model counts.

A term is a word without its ending: English words are stemmed (Porter's algorithm in its second
form, by the library snowballstemmer), those of other languages are taken as they are. Scripts
without spaces between words give pairs of neighbouring characters instead, as is usual in searching
Chinese, Japanese and Korean. Stop words, single letters and numbers are no terms.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from string import ascii_lowercase

from pollwise.relevance.remembered import Remembered

__all__ = ["MAX_TERMS", "STOP_WORDS", "term_counts", "terms", "terms_of_each"]

MAX_TERMS = 2000
"""The distinct terms that one text may have."""

_LONGEST_WORD = 40
_REMEMBERED = 2**17

_STOP_TEXT = """
    about above after again all also although always am among an and another any are as at be
    because been before being below between both but by can cannot could did do does doing done
    down during each either else etc even ever every few for from further get had has have having
    he her here hers herself him himself his how however if in into is it its itself just least
    less like made make many may me might mine more most much must my myself neither no nor not of
    off on once one only onto or other others our ours out over own per quite rather same shall she
    should since so some such than that the their theirs them themselves then there therefore these
    they this those though through thus to too two under until up upon us use used uses using very
    via was we well were what when where whether which while who whom whose why will with within
    without would yes yet you your yours yourself
    don doesn didn isn aren wasn weren hasn haven hadn wouldn shouldn couldn ain ll ve re
    http https www html
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())
"""English words that say nothing about a topic, the remains of words like don't, parts of URLs."""

# Thai, Lao, Burmese, Khmer, kana, Han and Hangul.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and accents belong to the word, though they are no letters to `re`: of European,
# Hebrew and Arabic writing, and of the scripts of India.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u0900-\u0903\u093a-\u094f\u0962\u0963\u0980-\u0dff"
)
_BETWEEN = "\n"
_ASCII_LETTERS = bytes(
    byte if byte in f"{ascii_lowercase}{_BETWEEN}".encode() else ord(" ")
    for byte in bytes(range(256)).lower()
)
"""By byte: the lower case of letters, ends of lines, and spaces for all else."""
_PLAIN_WORD = re.compile("[^\\W\\d_]{2,}")
_HAS_INTRICATE = re.compile(f"[{_MARKS}{_UNSPACED}]").search
_STARTS_UNSPACED = re.compile(f"[{_UNSPACED}]").match
_WORD = re.compile(f"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\\W\\d_][{_MARKS}]*){{2,}}")


def terms(text: str) -> list[str]:
    """The terms of a text, in its order.

    >>> terms("The statistics of 42 marine biologists: naïve Bayes, 海洋生物")
    ['statist', 'marin', 'biolog', 'naïv', 'bay', '海洋', '洋生', '生物']
    """
    return [*filter(None, map(_TERMS.__getitem__, _words(text)))]


def terms_of_each(texts: Sequence[str]) -> list[list[str]]:
    """The terms of each text; of many short ones in half the time.

    >>> terms_of_each(["Whales sing.", "Naïve Bayes"])
    [['whale', 'sing'], ['naïv', 'bay']]
    """
    plain = [text if text.isascii() and _BETWEEN not in text else "" for text in texts]
    lines = _letters(_BETWEEN.join(plain)).split(_BETWEEN)
    known = _TERMS.__getitem__
    return [
        [*filter(None, map(known, line.split()))] if text is own else terms(text)
        for text, own, line in zip(texts, plain, lines, strict=False)  # of no texts one line
    ]


def term_counts(text: str) -> dict[str, int]:
    """How often each term stands in a text; at most `MAX_TERMS` of them, the most frequent."""
    counts: Counter[str] = Counter()
    for word, count in Counter(_words(text)).items():
        if term := _TERMS[word]:
            counts[term] += count
    return dict(counts.most_common(MAX_TERMS) if len(counts) > MAX_TERMS else counts)


def _words(text: str) -> Iterable[str]:
    """The words in lower case, and the pairs of characters of scripts without spaces."""
    if text.isascii():
        return _letters(text).split()
    text = unicodedata.normalize("NFKC", text).casefold()
    if not _HAS_INTRICATE(text):
        return _PLAIN_WORD.findall(text)
    return [part for word in _WORD.findall(text) for part in _pairs(word)]


def _letters(text: str) -> str:
    """A text in ASCII in lower case, with spaces for all but letters and ends of lines."""
    return text.encode().translate(_ASCII_LETTERS).decode()


def _pairs(word: str) -> Iterable[str]:
    if len(word) < 3 or not _STARTS_UNSPACED(word):
        return (word,)
    return map("".join, pairwise(word))


def _term(word: str) -> str:
    """The term of a word in lower case; the empty string where it has none."""
    if word in STOP_WORDS or not 2 <= len(word) <= _LONGEST_WORD:
        return ""
    # Imported here, because it loads the stemmers of all languages, and few runs stem any word.
    from snowballstemmer.english_stemmer import EnglishStemmer

    # A stemmer of its own for each word: stemming is not safe in several threads at once, and
    # this costs a hundredth of the stemming.
    stem: str = EnglishStemmer().stemWord(word)
    return stem


_TERMS = Remembered(_term, _REMEMBERED)
