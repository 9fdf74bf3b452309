"""Full-text search of the collection: the query language, and how pages are ranked.

A query is a list of words, all of which a page must have in its title or text. `"words in quotes"`
must follow one another. Of words with `OR` between them one is enough. A word or phrase with `-`
before it must not occur. Case, accents and English endings make no difference (SQLite's tokenizer
unicode61, and Porter's stemmer). All other characters only separate words.

Pages are ranked by ::

    score = (1 - w) · fit / best fit + w · relevance,        w = 1/4

The fit is Okapi BM25 (S. Robertson, H. Zaragoza, The Probabilistic Relevance Framework: BM25 and
Beyond, 2009), with a word of the title counting as much as four of the text. BM25 has no fixed
scale: it grows with the number and the rarity of the query's words. So it is taken relative to the
best page for this query, and both terms lie between 0 and 1. The relevance says, whatever the
words, whether a page is about the topic of the collection. With w = 1/4 a page on the topic comes
before one off the topic unless it fits the words worse by at least a third of the best fit: enough
to order pages of similar fit, too little to bring a bad fit to the top.
"""

import re
import sqlite3
import unicodedata
from collections.abc import Sequence
from contextlib import closing

from pollwise.errors import InputError
from pollwise.store.records import Hit
from pollwise.store.tables.connection import Connection
from pollwise.store.tables.documents import undamaged, unpack_text

__all__ = ["TOKENIZER", "count_matches", "expression_of", "search"]

TOKENIZER = "porter unicode61 remove_diacritics 2"
"""The tokenizer of the full-text index (`migrations/0003_collection.sql`)."""

_TOPIC_SHARE = 0.25
_TITLE_WEIGHT = 4.0
_SNIPPET_WORDS = 40
_SENTENCE = 60
"""The least characters of a block with a sentence: some ten words."""
_MOST_WORDS = 64
_MOST_HITS = 10_000
_START, _END = "\x02", "\x03"

_PART = re.compile(r'(?P<minus>-)?(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))')


def search(connection: Connection, query: str, limit: int, offset: int) -> list[Hit]:
    """See `Store.search`."""
    if not (0 <= limit <= _MOST_HITS and 0 <= offset < 2**31):
        raise InputError(
            f"a search for {limit} hits from {offset} on; expected at most {_MOST_HITS}"
        )
    wanted, unwanted = expression_of(query)
    rows = connection.rows(
        "search",
        expression=_whole(wanted, unwanted),
        topic_share=_TOPIC_SHARE,
        title_weight=_TITLE_WEIGHT,
        limit=limit,
        offset=offset,
    )
    texts = [(row[2], undamaged(connection.path, row[0], unpack_text, row[6])) for row in rows]
    return [
        Hit(page_id, url, title, *snippet, fit, relevance, score)
        for (page_id, url, title, fit, relevance, score, _), snippet in zip(
            rows, _snippets(texts, wanted), strict=True
        )
    ]


def count_matches(connection: Connection, query: str) -> int:
    """See `Store.count_matches`."""
    count: int = connection.rows("count_matches", expression=_whole(*expression_of(query)))[0][0]
    return count


def _whole(wanted: str, unwanted: str) -> str:
    return f"({wanted}) NOT ({unwanted})" if unwanted else wanted


def expression_of(query: str) -> tuple[str, str]:
    """What a page must have and what it must not have (empty: nothing), as FTS5 expressions.

    `InputError` if there is nothing to look for, or more than 64 words and phrases.

    >>> expression_of('marine biology OR ecology -"job offers"')
    ('("marine") AND ("biology" OR "ecology")', '"job offers"')
    >>> expression_of("whale whale OR whale")[0]
    '("whale")'
    """
    wanted: list[list[str]] = []
    unwanted: list[str] = []
    either = False
    parts = list(_PART.finditer(query))
    if len(parts) > _MOST_WORDS:
        raise InputError(f"the query has {len(parts)} words; expected at most {_MOST_WORDS}")
    for part in parts:
        if part[0] == "OR":
            either = True
            continue
        words = _words(part["phrase"] if part["word"] is None else part["word"])
        if words and part["minus"]:
            unwanted.append(words)
        elif words and either and wanted:
            wanted[-1].append(words)
        elif words:
            wanted.append([words])
        either = False
    if not wanted:
        raise InputError(f"nothing to look for in the query {query!r}: give a word, such as whale")
    # Each once: a word that is said sixty times would be looked for as often.
    groups = dict.fromkeys(f"({' OR '.join(dict.fromkeys(group))})" for group in wanted)
    return " AND ".join(groups), " OR ".join(dict.fromkeys(unwanted))


def _words(text: str) -> str:
    """An FTS5 phrase of the words of the text; empty if there are none."""
    letters = (c if unicodedata.category(c)[0] in "LMN" else " " for c in text)
    words = " ".join("".join(letters).split())
    return f'"{words}"' if words else ""


def _snippets(
    texts: Sequence[tuple[str, str]], expression: str
) -> list[tuple[str, tuple[tuple[int, int], ...]]]:
    """The part of each text that matches best, and where in it the words are.

    It is one of its sentences, unless only the whole text has what is looked for, or any of it.
    """
    # The index stores no texts for snippets; a new one of the few hits, with the same rules, does.
    entries = [
        (number, title, _folded(_sentences(text)), _folded(text))
        for number, (title, text) in enumerate(texts)
    ]
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(
            "CREATE VIRTUAL TABLE hits"
            f" USING fts5 (title, sentences, text, tokenize = '{TOKENIZER}')"
        )
        memory.executemany(
            "INSERT INTO hits (rowid, title, sentences, text) VALUES (?, ?, ?, ?)", entries
        )
        matching = {
            column: {
                number
                for (number,) in memory.execute(
                    "SELECT rowid FROM hits WHERE hits MATCH ?", (f"{column} : ({expression})",)
                )
            }
            for column in ("sentences", "text")
        }
        rows = memory.execute(
            "SELECT rowid, snippet(hits, 1, :start, :end, '…', :words),"
            " snippet(hits, 2, :start, :end, '…', :words) FROM hits WHERE hits MATCH :expression",
            {"start": _START, "end": _END, "words": _SNIPPET_WORDS, "expression": expression},
        ).fetchall()
    only_text = matching["text"] - matching["sentences"]
    marked = {
        number: text
        if number in only_text or (_START in text and _START not in sentences)
        else sentences or text
        for number, sentences, text in rows
    }
    return [_unmarked(marked.get(number, "")) for number in range(len(texts))]


def _sentences(text: str) -> str:
    """The blocks of a text (a line each) that are long enough to be no menu, title or label.

    The number of words tells the main text of a page best (C. Kohlschütter, P. Fankhauser, W.
    Nejdl, Boilerplate detection using shallow text features, WSDM 2010: more than about ten).
    """
    return "\n".join(block for block in text.split("\n") if len(block) >= _SENTENCE)


def _folded(text: str) -> str:
    return " ".join(re.split(r"[\s\0-\x1f]+", text)).strip()


def _unmarked(marked: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text without its marks, and the starts and ends of the marked parts."""
    plain, marks = "", []
    for number, part in enumerate(re.split(f"[{_START}{_END}]", marked)):
        if number % 2:
            marks.append((len(plain), len(plain) + len(part)))
        plain += part
    return plain, tuple(marks)
