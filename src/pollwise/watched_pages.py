"""The pages of a run with what is remembered of them: very many, in little memory."""

import marshal
import math
import zlib
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pollwise.array_growth import long_enough
from pollwise.hash_filter import HashFilter
from pollwise.number_texts import pack_number, unpack_number
from pollwise.numbering import Numbering
from pollwise.page_columns import Coded, MadePages, PageColumns, SharedTerms
from pollwise.types import Noise, Outcome, Page, PageMemory

__all__ = [
    "PackedColumns",
    "Texts",
    "Watched",
    "WatchedPages",
    "WatchedPart",
    "count_of_scope",
    "id_of_url",
    "memory_of",
    "packed",
]

_NOTHING = PageMemory()
"""One for the million pages that were never polled."""
_NO_OUTCOME = -1
_OUTCOMES: dict[int, Outcome | None] = {_NO_OUTCOME: None, **{int(one): one for one in Outcome}}
_MOST_WHOLE = 30_000
"""Pages that are kept as they are, those put or unpacked last: they take some 30 MB, and packing
and unpacking a tenth of the time of a poll."""
_PLAIN = "http:"


@dataclass(slots=True)  # not frozen: each poll makes one, which would take three times as long
class Watched:
    """A page, and what is remembered of it for the next poll: the one copy that a run holds.

    `gone`: the latest poll that did not fail found it so. `outcome` is that of the latest poll that
    was made; None: none was.
    """

    page: Page
    memory: PageMemory
    gone: bool = False
    outcome: Outcome | None = None


class Texts(NamedTuple):
    """The texts of some pages by columns; hashes, items and numbers are joined by spaces."""

    urls: Sequence[str]
    names: Sequence[str]
    etags: Sequence[str | None]
    last_modified: Sequence[str | None]
    body_hashes: Sequence[str | None]
    text_hashes: Sequence[str | None]
    earlier_hashes: Sequence[str]
    items: Sequence[str]
    told_numbers: Sequence[str]


class PackedColumns(NamedTuple):
    """Some pages by columns, in the order of their ids, as `WatchedPages` keeps them.

    `terms` and `kinds` are numbers of what many have, `noise` is by id.
    """

    ids: NDArray[np.int64]
    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    seen_at: NDArray[np.float64]
    kinds: NDArray[np.int32]
    outcomes: NDArray[np.int8]
    gone: NDArray[np.bool_]
    plain: NDArray[np.bool_]
    url_hashes: NDArray[np.uint32]
    texts: list[bytes]
    noise: dict[int, Noise]

    @classmethod
    def of(
        cls,
        *,
        ids: Sequence[int],
        terms: Sequence[int],
        weights: Sequence[float],
        seen_at: Sequence[float | None],
        kinds: Sequence[int],
        outcomes: Sequence[int | None],
        gone: Sequence[bool],
        texts: Texts,
        noise: dict[int, Noise],
    ) -> Self:
        """`seen_at` and `outcomes` are None where there is none; other noise says nothing."""
        return cls(
            np.array(ids, np.int64),
            np.array(terms, np.int32),
            np.array(weights, np.float64),
            np.array(seen_at, np.float64),  # None becomes NaN
            np.array(kinds, np.int32),
            np.array([_NO_OUTCOME if one is None else one for one in outcomes], np.int8),
            np.array(gone, np.bool_),
            np.array([url.startswith(_PLAIN) for url in texts.urls], np.bool_),
            np.array([*map(_hash_of, texts.urls)], np.uint32),
            [*map(marshal.dumps, zip(*texts, strict=True))],
            noise,
        )


class WatchedPart(NamedTuple):
    """Some pages, in the order of their ids: first those of the first columns.

    Their `terms` and `kinds` are those that the numbers in the columns stand for.
    """

    columns: Sequence[PackedColumns]
    terms: Sequence[SharedTerms]
    kinds: Sequence[str]


class WatchedPages(MutableMapping[int, Watched]):
    """Pages by id, in its order: all but those that were put or unpacked last are packed.

    A page takes some 80 bytes, and its texts, instead of a kilobyte. As ids are dense, what is kept
    is by id.

    >>> watched = WatchedPages()
    >>> watched[3] = Watched(Page(3, "https://example.org/", "example.org"), PageMemory())
    >>> len(watched), watched[3].page.url, watched.columns()[0].id
    (1, 'https://example.org/', 3)
    """

    def __init__(self) -> None:
        self._count = 0
        self._there = np.zeros(0, np.bool_)
        self._weights = np.zeros(0)
        self._seen_at = np.zeros(0)
        self._changes_in_a_row = np.zeros(0, np.int32)
        self._outcomes = np.zeros(0, np.int8)
        self._gone = np.zeros(0, np.bool_)
        self._plain = np.zeros(0, np.bool_)
        self._url_hashes = np.zeros(0, np.uint32)
        self._known_urls: HashFilter | None = None
        """Their hashes, also those of pages that were removed; None: none was looked for yet."""
        # Of each page the numbers of what many have, and these, with their numbers.
        self._terms = np.zeros(0, np.int32)
        self._kinds = np.zeros(0, np.int32)
        self._all_terms = Numbering[SharedTerms]()
        self._all_kinds = Numbering[str]()
        self._texts: list[bytes | None] = []
        """What only the page has, packed; None: it is only whole."""
        self._noise: dict[int, Noise] = {}
        # Of a dict, what was put first is found behind all that was taken out of its front.
        self._whole: OrderedDict[int, Watched] = OrderedDict()
        """Those that were put or unpacked last, the one before all others first."""

    def extend(self, part: WatchedPart) -> None:
        """Take in pages with larger ids than those so far."""
        terms = np.array([*map(self._all_terms.take_up, part.terms)], np.int32)
        kinds = np.array([*map(self._all_kinds.take_up, part.kinds)], np.int32)
        for columns in part.columns:
            self._take_in(columns, terms, kinds)

    def _take_in(
        self, columns: PackedColumns, terms: NDArray[np.int32], kinds: NDArray[np.int32]
    ) -> None:
        """Take in pages whose numbers stand for these numbers of terms and kinds."""
        ids = columns.ids
        first, last = ids.item(0), ids.item(-1)
        self._grow(last + 1)
        places: Any = slice(first, last + 1)
        if len(ids) == last + 1 - first:
            self._texts[places] = columns.texts
        else:
            places = ids
            for page_id, packed in zip(ids.tolist(), columns.texts, strict=True):
                self._texts[page_id] = packed
        self._terms[places] = terms[columns.terms]
        self._kinds[places] = kinds[columns.kinds]
        self._there[places] = True
        self._weights[places] = columns.weights
        self._seen_at[places] = columns.seen_at
        self._outcomes[places] = columns.outcomes
        self._gone[places] = columns.gone
        self._plain[places] = columns.plain
        self._url_hashes[places] = columns.url_hashes
        self._known_urls = None
        for page_id, noise in columns.noise.items():
            self._noise[page_id] = noise
            self._changes_in_a_row[page_id] = noise.changes_in_a_row
        self._count += len(ids)

    def columns(self) -> PageColumns:
        """All pages as they are now."""
        self._pack_all()
        ids = np.flatnonzero(self._there)
        texts = self._texts[: len(ids)]
        if not self._there[: len(ids)].all():  # some were removed
            texts = [self._texts[page_id] for page_id in ids.tolist()]
        weights, seen_at = self._weights[ids], self._seen_at[ids]
        in_a_row = self._changes_in_a_row[ids].astype(np.int64)
        kinds = Coded(list(self._all_kinds.keys), self._kinds[ids])
        terms = Coded(list(self._all_terms.keys), self._terms[ids])
        pages = _PackedPages(ids, weights, seen_at, in_a_row, kinds, terms, texts)
        return PageColumns(pages, ids, weights, seen_at, in_a_row, kinds, terms)

    def find(self, url: str) -> int | None:
        """The id of the page with this URL; None: there is none.

        Of ten million pages this takes some milliseconds if there is one, and two seconds the first
        time.
        """
        known = self._known_urls or self._learn_urls()
        sought = _hash_of(url)
        if not known.may_have(sought):
            return None
        for page_id in np.flatnonzero(self._url_hashes == sought).tolist():
            if self._has(page_id) and self[page_id].page.url == url:
                return int(page_id)
        return None

    def count_by_scope(
        self, *, plain: bool | None = None, polled: bool | None = None
    ) -> Counter[str]:
        """How many pages each politeness scope has.

        With `plain` only those with a URL of http, or only the others; with `polled` only those of
        which a poll was made, or only the others.
        """
        self._pack_all()
        which = self._there.copy()
        if plain is not None:
            which &= self._plain == plain
        if polled is not None:
            which &= (self._outcomes != _NO_OUTCOME) == polled
        counted: Counter[str] = Counter()
        pages = np.bincount(self._terms[which], minlength=len(self._all_terms)).tolist()
        for terms, count in zip(self._all_terms.keys, pages, strict=True):
            if count:
                counted[terms.scope] += count
        return counted

    def count_without_copy(self) -> int:
        """Of how many pages there is no copy."""
        self._pack_all()
        return int(np.isnan(self._seen_at[self._there]).sum())

    def with_outcome(self, outcomes: Sequence[Outcome], *, without_copy: bool = False) -> list[int]:
        """The ids of the pages whose latest poll had one of these outcomes; perhaps only of those
        of which there is no copy.
        """
        self._pack_all()
        fits = self._there & np.isin(self._outcomes, outcomes)
        if without_copy:
            fits &= np.isnan(self._seen_at)
        found: list[int] = np.flatnonzero(fits).tolist()
        return found

    def __len__(self) -> int:
        return self._count

    def __contains__(self, page_id: object) -> bool:
        return isinstance(page_id, int) and self._has(page_id)

    def __iter__(self) -> Iterator[int]:
        return iter(np.flatnonzero(self._there).tolist())

    def __getitem__(self, page_id: int) -> Watched:
        own = self._whole.get(page_id)
        if own is None:
            if not self._has(page_id):
                raise KeyError(page_id)
            own = self._unpacked(page_id)
            self._keep(page_id, own)
        return own

    def get(self, page_id: int, default: Any = None, /) -> Any:
        """As of any mapping; here, as each poll asks for it several times."""
        own = self._whole.get(page_id)
        if own is not None:
            return own
        return self[page_id] if self._has(page_id) else default

    def __setitem__(self, page_id: int, own: Watched) -> None:
        if page_id in self._whole:  # as a rule
            self._texts[page_id] = None
            self._note_url(page_id, own.page.url)
            self._whole[page_id] = own
            self._whole.move_to_end(page_id)
            return
        if not self._has(page_id):
            self._grow(page_id + 1)
            self._there[page_id] = True
            self._count += 1
        self._texts[page_id] = None
        self._note_url(page_id, own.page.url)
        self._keep(page_id, own)

    def __delitem__(self, page_id: int) -> None:
        if not self._has(page_id):
            raise KeyError(page_id)
        self._there[page_id] = False
        self._count -= 1
        self._whole.pop(page_id, None)
        self._noise.pop(page_id, None)
        self._texts[page_id] = None

    def _note_url(self, page_id: int, url: str) -> None:
        own = _hash_of(url)
        if self._url_hashes[page_id] == own:  # as a rule
            return
        self._url_hashes[page_id] = own
        if self._known_urls is not None:
            self._known_urls.add([own])
            if self._known_urls.is_full:
                self._learn_urls()

    def _learn_urls(self) -> HashFilter:
        self._known_urls = known = HashFilter(2 * len(self._url_hashes))
        known.add(self._url_hashes)
        return known

    def _has(self, page_id: int) -> bool:
        return 0 <= page_id < len(self._there) and bool(self._there[page_id])

    def _grow(self, room: int) -> None:
        """Make room for ids below `room`, and for an eighth more."""
        if room <= len(self._there):
            return
        self._there = long_enough(self._there, room)
        self._weights = long_enough(self._weights, room)
        self._seen_at = long_enough(self._seen_at, room)
        self._changes_in_a_row = long_enough(self._changes_in_a_row, room)
        self._outcomes = long_enough(self._outcomes, room)
        self._gone = long_enough(self._gone, room)
        self._plain = long_enough(self._plain, room)
        self._url_hashes = long_enough(self._url_hashes, room)
        self._terms = long_enough(self._terms, room)
        self._kinds = long_enough(self._kinds, room)
        self._texts += [None] * (len(self._there) - len(self._texts))

    def _keep(self, page_id: int, own: Watched) -> None:
        """Keep a page as it is, and pack the one that was put or unpacked before all others."""
        self._whole[page_id] = own
        if len(self._whole) > _MOST_WHOLE:
            oldest = next(iter(self._whole))
            self._pack(oldest)
            del self._whole[oldest]

    def _pack_all(self) -> None:
        for page_id in self._whole:
            self._pack(page_id)

    def _pack(self, page_id: int) -> None:
        """Pack a page that is kept as it is, unless it is as it was when it was unpacked."""
        if self._texts[page_id] is not None:
            return
        own = self._whole[page_id]
        page, memory = own.page, own.memory
        self._terms[page_id] = self._all_terms.take_up(SharedTerms.of(page))
        self._kinds[page_id] = self._all_kinds.take_up(page.kind)
        self._weights[page_id] = page.weight
        self._seen_at[page_id] = math.nan if page.seen_at is None else page.seen_at
        self._changes_in_a_row[page_id] = page.changes_in_a_row
        self._outcomes[page_id] = _NO_OUTCOME if own.outcome is None else own.outcome
        self._gone[page_id] = own.gone
        self._plain[page_id] = page.url.startswith(_PLAIN)
        if memory.noise == _NOTHING.noise:
            self._noise.pop(page_id, None)
        else:
            self._noise[page_id] = memory.noise
        self._texts[page_id] = marshal.dumps(
            (
                page.url,
                page.name,
                memory.etag,
                memory.last_modified,
                memory.body_hash,
                memory.text_hash,
                " ".join(memory.earlier_hashes),
                " ".join(memory.items),
                pack_number(memory.told_number),
            )
        )

    def _unpacked(self, page_id: int) -> Watched:
        texts = self._texts[page_id]
        assert texts is not None, page_id
        page = _page(
            page_id,
            float(self._weights[page_id]),
            float(self._seen_at[page_id]),
            int(self._changes_in_a_row[page_id]),
            self._all_kinds.keys[self._kinds[page_id]],
            self._all_terms.keys[self._terms[page_id]],
            texts,
        )
        noise = self._noise.get(page_id, _NOTHING.noise)
        _, _, etag, modified, body_hash, text_hash, earlier, items, number = marshal.loads(texts)
        memory = memory_of(etag, modified, body_hash, text_hash, earlier, items, number, noise)
        outcome = _OUTCOMES[int(self._outcomes[page_id])]
        return Watched(page, memory, bool(self._gone[page_id]), outcome)


def _hash_of(url: str) -> int:
    """32 bits by which a URL is looked for: in all processes the same ones."""
    return zlib.crc32(url.encode("utf-8", "surrogatepass"))


class _PackedPages(MadePages):
    """Pages that are unpacked when they are asked for."""

    def __init__(
        self,
        ids: NDArray[np.int64],
        weights: NDArray[np.float64],
        seen_at: NDArray[np.float64],
        changes_in_a_row: NDArray[np.int64],
        kinds: Coded[str],
        terms: Coded[SharedTerms],
        texts: Sequence[bytes | None],
    ) -> None:
        self._ids = ids
        self._weights = weights
        self._seen_at = seen_at
        self._changes_in_a_row = changes_in_a_row
        self._coded = kinds, terms
        self._texts = texts

    def texts(self) -> Iterator[tuple[str, str]]:
        """URL and name of each page."""
        return (marshal.loads(texts)[:2] for texts in self._texts if texts is not None)

    def __len__(self) -> int:
        return len(self._texts)

    def made(self, place: int) -> Page:
        """See `MadePages`."""
        kinds, terms = self._coded
        texts = self._texts[place]
        assert texts is not None, place
        return _page(
            self._ids.item(place),
            self._weights.item(place),
            self._seen_at.item(place),
            self._changes_in_a_row.item(place),
            kinds.distinct[kinds.numbers[place]],
            terms.distinct[terms.numbers[place]],
            texts,
        )


def packed(pages: PageColumns) -> PageColumns:
    """The same pages without an object for each; each is made when it is asked for."""
    if isinstance(pages.pages, MadePages):
        return pages
    texts = [marshal.dumps((page.url, page.name)) for page in pages]
    made = _PackedPages(
        pages.ids,
        pages.weights,
        pages.seen_at,
        pages.changes_in_a_row,
        pages.kinds,
        pages.terms,
        texts,
    )
    return replace(pages, pages=made)


def _page(
    page_id: int,
    weight: float,
    seen_at: float,
    changes_in_a_row: int,
    kind: str,
    terms: SharedTerms,
    texts: bytes,
) -> Page:
    """A page; `seen_at` is NaN if there is no copy."""
    url, name, *_ = marshal.loads(texts)
    return Page(
        page_id,
        url,
        terms.scope,
        weight,
        terms.cost,
        None if math.isnan(seen_at) else seen_at,
        terms.site,
        kind,
        terms.longest_interval,
        terms.shortest_interval,
        changes_in_a_row,
        terms.paused,
        terms.tags,
        terms.select,
        terms.ignore,
        name,
        terms.render,
        terms.notify_when,
    )


def memory_of(
    etag: str | None,
    last_modified: str | None,
    body_hash: str | None,
    text_hash: str | None,
    earlier_hashes: str,
    items: str,
    told_number: str,
    noise: Noise,
) -> PageMemory:
    """What is remembered of a page; hashes, items and numbers are joined by spaces.

    `ValueError` for a number that is none.

    >>> memory_of(None, None, "0f", "0e", "0a 0b", "", "", Noise()).earlier_hashes
    ('0a', '0b')
    """
    says_nothing = noise == _NOTHING.noise
    if says_nothing and not (
        body_hash or etag or last_modified or text_hash or earlier_hashes or items or told_number
    ):
        return _NOTHING
    return PageMemory(
        etag,
        last_modified,
        body_hash,
        text_hash,
        tuple(earlier_hashes.split()) if earlier_hashes else (),
        _NOTHING.noise if says_nothing else noise,
        tuple(items.split()) if items else (),
        unpack_number(told_number),
    )


def id_of_url(watched: Mapping[int, Watched], url: str) -> int | None:
    """The id of the page with this URL; None: there is none."""
    if isinstance(watched, WatchedPages):
        return watched.find(url)
    return next((page_id for page_id, own in watched.items() if own.page.url == url), None)


def count_of_scope(watched: Mapping[int, Watched], scope: str) -> int:
    """How many pages a politeness scope has."""
    if isinstance(watched, WatchedPages):
        return watched.count_by_scope()[scope]
    return sum(own.page.scope == scope for own in watched.values())
