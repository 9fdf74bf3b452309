"""What a robot knows of the web: tables of pages, links, directories, words and hosts.

The tables grow by half of their length at a time. They are plain arrays of records, so that
compiled kernels work on them; -1 stands for "none" in all fields that hold a place in a table.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.policies.collecting.matching import Aim, match_new, match_texts
from pollwise.policies.collecting.words import phrases, url_parts
from pollwise.policies.structures.heap import HEAP
from pollwise.types import Links, Page

__all__ = [
    "ABSENT",
    "AIMED",
    "BIAS",
    "BIAS_SLOPE",
    "EXPLORATION",
    "FETCHED",
    "FETCHES",
    "FRINGE",
    "HELD",
    "MARK",
    "RELEVANCE",
    "TEXTS",
    "KnownWeb",
    "Web",
]

Table = NDArray[Any]

ABSENT, FRINGE, HELD, FETCHED = 0, 1, 2, 3
"""Where a page is: HELD is known by links only, but leased or held back."""

_TOTALS = range(8)
RELEVANCE, FETCHES, BIAS, BIAS_SLOPE, MARK, EXPLORATION, TEXTS, AIMED = _TOTALS
"""Places in `Web.totals`."""

_PAGE = np.dtype(
    [
        ("where", np.int8),
        ("learned", np.bool_),
        ("host", np.int32),
        ("directory", np.int32),
        ("first_word", np.int64),
        ("end_word", np.int64),
        ("discoverer", np.int32),
        ("last_link", np.int32),
        ("first_link", np.int32),
        ("end_link", np.int32),
        ("n_out", np.int32),
        ("n_in", np.int32),
        ("in_sum", np.float64),
        ("match", np.float64),
        ("led_match", np.float64),
        ("hub_sum", np.float64),
        ("hub_count", np.int32),
        ("relevance", np.float64),
        ("distance", np.int32),
        ("planned", np.float64),
        ("value", np.float64),
        ("child", np.int32),
        ("sibling", np.int32),
        ("before", np.int32),
    ]
)
"""Of links to a page only those from fetched pages are known: `n_in`, and `in_sum`, the sum of the
relevance of these pages. `hub_sum` is the relevance of the fetched pages among those that it links
to. `match` is that of its URL with the topic, `led_match` that of all that led to it when it was
fetched. `distance` is the number of links that lead from a relevant page to it, as far as known.
`value` and the fields after it are those of the heap of its host; `planned` is NaN where there is
no plan."""

_LINK = np.dtype(
    [
        ("source", np.int32),
        ("target", np.int32),
        ("anchor", np.int32),
        ("around", np.int32),
        ("earlier", np.int32),
    ]
)
"""`around` is the text around the link, and `earlier` the link to the same target that was found
before."""

_TALLY = np.dtype(
    [
        ("parent", np.int32),
        ("count", np.int32),
        ("sum", np.float64),
        ("numbered", np.bool_),
    ]
)
"""A directory: the fetched pages in it and below, and their relevance. One that is `numbered` has a
name without letters, such as 2026, and is one of many alike."""
_WORD = np.dtype(
    [
        ("count", np.int32),
        ("sum", np.float64),
        ("weight", np.float64),
        ("slope", np.float64),
        ("mark", np.int64),
        ("plain", np.bool_),
        ("texts", np.int32),
        ("aim", np.float64),
        ("link_count", np.int32),
        ("link_sum", np.float64),
    ]
)
"""`count` and `sum` are of fetched pages with the word in their URLs or anchors; `link_count` is of
fetched pages with the word in anchors of their links, `link_sum` the sum of their relevance.
`texts` are the URLs, anchors and texts around links with the word, and `aim` is its worth to
the topic; only `plain` ones, which are no pairs, count for matches."""
_TEXT = np.dtype([("first_word", np.int64), ("end_word", np.int64), ("match", np.float64)])
_HOST = np.dtype(
    [
        ("place", np.int32),
        ("root", np.int32),
        ("directory", np.int32),
        ("blocks", np.int32),  # while there are any, no page of the host is the best one
    ]
)


class Web(NamedTuple):
    """The tables, and `totals`, with one number for each of RELEVANCE ... AIMED.

    `found` and `chain` are room for the words of one page and for its directories, so that nobody
    has to make any.
    """

    pages: Table
    links: Table
    directories: Table
    words: Table
    anchors: Table
    surroundings: Table
    page_words: NDArray[np.int32]
    anchor_words: NDArray[np.int32]
    surrounding_words: NDArray[np.int32]
    hosts: Table
    host_heap: Table
    totals: NDArray[np.float64]
    found: NDArray[np.int64]
    chain: NDArray[np.int64]


def _grown(table: Table, length: int, fill: Table) -> Table:
    """A copy that is longer by at least half."""
    longer = np.full(max(length, len(table) + len(table) // 2, 64), fill, table.dtype)
    longer[: len(table)] = table
    return longer


def _blank(dtype: np.dtype[Any], **fields: float) -> Table:
    record = np.zeros((), dtype)
    for name, value in fields.items():
        record[name] = value
    return record


_MOST_WORDS = 200
_MOST_DIRECTORIES = 20
"""Of one page, that are looked at."""
_FAR = 1 << 30
_NO_PAGE = _blank(
    _PAGE,
    discoverer=-1,
    last_link=-1,
    distance=_FAR,
    child=-1,
    sibling=-1,
    before=-1,
    planned=np.nan,
)
_NO_HOST = _blank(_HOST, root=-1)
_NO_LINK = _blank(_LINK, source=-1, around=-1)
_START_BIAS = -2.0


class KnownWeb:
    """Takes in pages and links, and gives every text its place in the tables."""

    def __init__(self) -> None:
        empty = np.zeros(0, np.int64)
        self.web = Web(
            np.zeros(0, _PAGE),
            np.zeros(0, _LINK),
            np.zeros(64, _TALLY),
            np.zeros(0, _WORD),
            np.zeros(0, _TEXT),
            np.zeros(0, _TEXT),
            empty.astype(np.int32),
            empty.astype(np.int32),
            empty.astype(np.int32),
            np.zeros(0, _HOST),
            np.zeros(1, HEAP),
            np.zeros(len(_TOTALS)),
            np.zeros(_MOST_WORDS, np.int64),
            np.zeros(_MOST_DIRECTORIES, np.int64),
        )
        self.web.directories["parent"][0] = -1
        self.web.totals[BIAS] = _START_BIAS
        self.n_links = 0
        self._directories: dict[str, int] = {"": 0}
        self._words: dict[str, int] = {}
        self._anchors: dict[str, int] = {}
        self._anchor_texts: list[str] = []
        self._surroundings: dict[str, int] = {}
        self._hosts: dict[str, int] = {}
        self._later_links: dict[int, list[slice]] = {}
        self._n_page_words = self._n_anchor_words = self._n_surrounding_words = 0
        self._told: Mapping[str, float] = {}
        self._aim = Aim({})

    def aim(self, weights: Mapping[str, float]) -> None:
        """Take up the topic, as the weights of its terms."""
        if self.web.totals[AIMED] and weights == self._told:
            return
        self._told, self._aim = dict(weights), Aim(weights)
        self.web.totals[AIMED] = 1.0
        for text, word in self._words.items():
            if text.isalpha():
                self.web.words["aim"][word] = self._aim.credit(text)
        self.match()

    def match(self) -> None:
        """Match all texts anew, as words turned out to be more or less frequent."""
        web, texts = self.web, float(self.web.totals[TEXTS])
        match_texts(web.words, web.page_words, web.pages, len(web.pages), texts)
        match_texts(web.words, web.anchor_words, web.anchors, len(self._anchors), texts)
        match_texts(
            web.words, web.surrounding_words, web.surroundings, len(self._surroundings), texts
        )

    def add(self, pages: Sequence[Page]) -> None:
        """Take in what the URLs of pages say, each page once; those of an earlier traversal stay as
        they are.
        """
        ids = np.array([page.id for page in pages])
        self._grow(pages=int(ids.max()) + 1)
        new = self.web.pages["end_word"][ids] == 0
        self._enter([page for page, is_new in zip(pages, new.tolist(), strict=True) if is_new])

    def _enter(self, pages: Sequence[Page]) -> None:
        hosts, directories, words = [], [], []
        ends = [self._n_page_words]
        for page in pages:
            parts = url_parts(page.url)
            host_key = parts.host + "/"
            directory = self._directory(host_key, 0)
            hosts.append(self._host(host_key, directory))
            for inner in parts.directories:
                directory = self._directory(host_key + inner, directory)
            directories.append(directory)
            words += [self._word(word) for word in (*parts.words, host_key)]
            ends.append(self._n_page_words + len(words))
        self._grow(page_words=ends[-1])
        self.web.page_words[ends[0] : ends[-1]] = words
        self._n_page_words = ends[-1]
        ids, table = np.array([page.id for page in pages], np.int64), self.web.pages
        table["host"][ids], table["directory"][ids] = hosts, directories
        table["first_word"][ids], table["end_word"][ids] = ends[:-1], ends[1:]
        self._match_new(self.web.page_words, table, ids)

    def _host(self, key: str, directory: int) -> int:
        known = self._hosts.get(key)
        if known is not None:
            return known
        host = self._hosts[key] = len(self._hosts)
        self._grow(hosts=host + 1)
        self.web.hosts["directory"][host] = directory
        return host

    def _match_new(self, places: Table, texts: Table, new: NDArray[np.int64]) -> None:
        """Count and match the new texts of a table."""
        totals = self.web.totals
        match_new(self.web.words, places, texts, new, totals[TEXTS], totals[AIMED] != 0)
        totals[TEXTS] += len(new)

    def add_links(self, page_id: int, links: Links) -> tuple[int, int]:
        """Take in the new links of a page; gives first and end of their places in the table.

        Earlier links stay: that a page once linked to another is evidence too.
        """
        targets = np.asarray(links.targets, np.int64)
        anchors = [self._anchor(text) for text in links.anchors]
        new = (targets >= 0) & (targets < len(self.web.pages))
        if self.web.pages[page_id]["n_out"]:
            new &= ~np.isin(targets, self.targets_of(page_id))
        first = self.n_links
        self.n_links = end = first + int(new.sum())
        self._grow(links=end)
        if not self.web.pages[page_id]["n_out"]:
            self.web.pages[page_id]["first_link"] = first
            self.web.pages[page_id]["end_link"] = end
        elif end > first:
            self._later_links.setdefault(page_id, []).append(slice(first, end))
        rows = self.web.links[first:end]
        rows["source"] = page_id
        rows["target"] = targets[new]
        rows["anchor"] = np.array(anchors, np.int32)[new]
        rows["around"] = -1
        if links.around:
            told = [links.around[place] for place in np.flatnonzero(new).tolist()]
            rows["around"] = [self._surrounding(text) for text in told]
        return first, end

    def anchor_text(self, link: int) -> str:
        """The text of the link at this place in the table; empty for -1."""
        return "" if link < 0 else self._anchor_texts[int(self.web.links["anchor"][link])]

    def targets_of(self, page_id: int) -> NDArray[np.int32]:
        """The pages that a page was found to link to, the first time and later."""
        record = self.web.pages[page_id]
        places = [slice(int(record["first_link"]), int(record["end_link"]))]
        places += self._later_links.get(page_id, [])
        return np.concatenate([self.web.links["target"][place] for place in places])

    def _grow(self, **lengths: int) -> None:
        fills = {"pages": _NO_PAGE, "hosts": _NO_HOST, "links": _NO_LINK}
        grown = {}
        for name, length in lengths.items():
            table = getattr(self.web, name)
            if length <= len(table):
                continue
            grown[name] = _grown(table, length, fills.get(name, np.zeros((), table.dtype)))
        if "hosts" in grown:
            room = len(grown["hosts"]) + 1
            grown["host_heap"] = _grown(self.web.host_heap, room, np.zeros((), HEAP))
        if grown:
            self.web = self.web._replace(**grown)

    def _directory(self, key: str, parent: int) -> int:
        known = self._directories.get(key)
        if known is not None:
            return known
        directory = self._directories[key] = len(self._directories)
        self._grow(directories=directory + 1)
        self.web.directories["parent"][directory] = parent
        name = key.rpartition("/")[2]
        self.web.directories["numbered"][directory] = name != "" and not any(map(str.isalpha, name))
        return directory

    def _word(self, text: str) -> int:
        known = self._words.get(text)
        if known is not None:
            return known
        word = self._words[text] = len(self._words)
        self._grow(words=word + 1)
        if text.isalpha():
            self.web.words[word]["plain"] = True
            self.web.words[word]["aim"] = self._aim.credit(text)
        return word

    def _anchor(self, text: str) -> int:
        known = self._anchors.get(text)
        if known is not None:
            return known
        anchor = self._anchors[text] = len(self._anchors)
        self._anchor_texts.append(text)
        words = [self._word(word) for word in dict.fromkeys([*phrases(text), f"={text.lower()}"])]
        first = self._n_anchor_words
        self._n_anchor_words = end = first + len(words)
        self._grow(anchors=anchor + 1, anchor_words=end)
        self.web.anchor_words[first:end] = words
        self.web.anchors[anchor] = (first, end, 0.0)
        self._match_new(self.web.anchor_words, self.web.anchors, np.array([anchor]))
        return anchor

    def _surrounding(self, text: str) -> int:
        """The place of a text around a link; -1 if it has no words."""
        known = self._surroundings.get(text)
        if known is not None:
            return known
        # Of pairs of words there are too many here, and none of them counts for matches.
        words = [self._word(word) for word in dict.fromkeys(phrases(text)) if word.isalpha()]
        if not words:
            return -1
        around = self._surroundings[text] = len(self._surroundings)
        first = self._n_surrounding_words
        self._n_surrounding_words = end = first + len(words)
        self._grow(surroundings=around + 1, surrounding_words=end)
        self.web.surrounding_words[first:end] = words
        self.web.surroundings[around] = (first, end, 0.0)
        self._match_new(self.web.surrounding_words, self.web.surroundings, np.array([around]))
        return around
