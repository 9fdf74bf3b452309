"""Pages by columns: what very many pages have is told at once, without an object for each."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pollwise.types import Page

__all__ = [
    "Coded",
    "MadePages",
    "PageColumns",
    "SharedTerms",
    "TellingTexts",
    "as_columns",
    "coded",
    "from_plain",
    "to_plain",
]


T = TypeVar("T")


class SharedTerms(NamedTuple):
    """What many pages have in common; the fields are those of `Page`."""

    scope: str = ""
    site: str = ""
    cost: float = 1.0
    longest_interval: float | None = None
    shortest_interval: float | None = None
    paused: bool = False
    tags: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    render: bool = False
    notify_when: tuple[str, ...] = ()

    @classmethod
    def of(cls, page: Page) -> "SharedTerms":
        """Those of a page."""
        return cls(
            page.scope,
            page.site,
            page.cost,
            page.longest_interval,
            page.shortest_interval,
            page.paused,
            tuple(page.tags),  # people may have given lists
            tuple(page.select),
            tuple(page.ignore),
            page.render,
            tuple(page.notify_when),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Coded(Generic[T]):
    """Values of which few differ: the numbers of all of them among the `distinct` ones.

    >>> coded(["a", "b", "a"]).numbers
    array([0, 1, 0], dtype=int32)
    """

    distinct: Sequence[T]
    numbers: NDArray[np.int32]

    def at(self, places: NDArray[np.integer]) -> "Coded[T]":
        """Those at these places, in this order."""
        return Coded(self.distinct, self.numbers[places])

    def values(self) -> list[T]:
        """All values."""
        distinct = np.empty(len(self.distinct), object)
        for number, value in enumerate(self.distinct):  # else a tuple would be several values
            distinct[number] = value
        values: list[T] = distinct[self.numbers].tolist()
        return values

    def array(self, of: Callable[[T], Any], dtype: Any) -> NDArray[Any]:
        """What `of` gives for each value, to be read."""
        given = np.array([of(value) for value in self.distinct], dtype)
        if len(given) and (given == given[0]).all():  # as most often: it takes no memory
            return np.broadcast_to(given[0], self.numbers.shape)
        return given[self.numbers]


def coded(values: Iterable[T]) -> Coded[T]:
    """Values, which can be hashed, with the equal ones once."""
    numbers: dict[T, int] = {}
    coded_as = [numbers.setdefault(value, len(numbers)) for value in values]
    return Coded(list(numbers), np.array(coded_as, np.int32))


@dataclass(frozen=True, slots=True, eq=False)
class PageColumns(Sequence[Page]):
    """Pages in some order, and their fields by columns in the same order.

    `pages` may make each page when it is asked for. `seen_at` is NaN where there is no copy.

    >>> columns = as_columns([Page(3, scope="a"), Page(5, weight=2.0)])
    >>> columns.ids, columns.weights, columns.only(columns.weights > 1.0)[0].id
    (array([3, 5]), array([1., 2.]), 5)
    """

    pages: Sequence[Page]
    ids: NDArray[np.int64]
    weights: NDArray[np.float64]
    seen_at: NDArray[np.float64]
    changes_in_a_row: NDArray[np.int64]
    kinds: Coded[str]
    terms: Coded[SharedTerms]

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> Page: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Page]: ...
    def __getitem__(self, place: int | slice) -> Page | Sequence[Page]:
        return self.pages[place]

    def __iter__(self) -> Iterator[Page]:
        return iter(self.pages)

    @property
    def costs(self) -> NDArray[np.float64]:
        """The costs of the pages."""
        return self.terms.array(lambda terms: terms.cost, np.float64)

    def only(self, flagged: NDArray[np.bool_]) -> "PageColumns":
        """Those that are flagged."""
        return self if flagged.all() else self.at(np.flatnonzero(flagged))

    def at(self, places: NDArray[np.int64]) -> "PageColumns":
        """Those at these places, in this order."""
        return PageColumns(
            _Picked(self.pages, places),
            self.ids[places],
            self.weights[places],
            self.seen_at[places],
            self.changes_in_a_row[places],
            self.kinds.at(places),
            self.terms.at(places),
        )

    def with_scopes(self, shared: Callable[[str], str]) -> "PageColumns":
        """The same with the politeness scopes that `shared` gives instead of theirs."""
        before = self.terms.distinct
        distinct = [terms._replace(scope=shared(terms.scope)) for terms in before]
        if distinct == before:
            return self
        terms = Coded(distinct, self.terms.numbers)
        return replace(self, pages=_Scoped(self.pages, terms), terms=terms)


@runtime_checkable
class TellingTexts(Protocol):
    """Pages that are made when they are asked for, and tell some texts without that."""

    def texts(self) -> Iterator[tuple[str, str]]:
        """URL and name of each page."""


def to_plain(
    pages: PageColumns, *, texts: bool = True
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Pages for `from_plain`: what JSON can hold, and arrays by name.

    Without `texts` the URLs and names are left out, which then are empty. Instead of a list of
    names there is the name, if that is the same for all.
    """
    urls, names = _texts_of(pages) if texts and len(pages) else ("", "")
    lists = {
        "url": urls,
        "name": names[0] if len(set(names)) == 1 else names,
        "of_kinds": pages.kinds.distinct,
        "of_terms": pages.terms.distinct,
    }
    return lists, {
        "id": pages.ids,
        "weight": pages.weights,
        "seen_at": pages.seen_at,
        "changes_in_a_row": pages.changes_in_a_row,
        "kind": pages.kinds.numbers,
        "terms": pages.terms.numbers,
    }


def _texts_of(pages: PageColumns) -> tuple[Sequence[str], Sequence[str]]:
    """The URLs and the names of pages, at least one."""
    if isinstance(pages.pages, TellingTexts):
        texts = list(pages.pages.texts())
    else:
        texts = [(page.url, page.name) for page in pages]
    urls, names = map(list, zip(*texts, strict=True))
    return urls, names


def from_plain(
    lists: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]] = MappingProxyType({})
) -> tuple[Page, ...]:
    """The pages of `to_plain`; errors of many kinds for anything else.

    Earlier versions had all in `lists`, with the kinds themselves, and fewer terms.
    """
    told = {**lists, **{name: array.tolist() for name, array in arrays.items()}}
    if "of_kinds" in told:
        told["kind"] = [told["of_kinds"][number] for number in told["kind"]]
        told["seen_at"] = [None if math.isnan(time) else time for time in told["seen_at"]]
    page_ids = told["id"]
    of_terms = [_terms(row) for row in told["of_terms"]]
    names = ("url", "weight", "seen_at", "kind", "changes_in_a_row", "name", "terms")
    columns = (
        told[name] if isinstance(told[name], list) else [told[name]] * len(page_ids)
        for name in names
    )
    return tuple(
        Page(
            page_id,
            url,
            weight=weight,
            seen_at=seen_at,
            kind=kind,
            changes_in_a_row=changes_in_a_row,
            name=name,
            **of_terms[number]._asdict(),
        )
        for page_id, url, weight, seen_at, kind, changes_in_a_row, name, number in zip(
            page_ids, *columns, strict=True
        )
    )


def _terms(row: Sequence[Any]) -> SharedTerms:
    values: list[Any] = [tuple(value) if isinstance(value, list) else value for value in row]
    return SharedTerms(*values)


class MadePages(Sequence[Page]):
    """Pages that are made when they are asked for, by `made`."""

    def made(self, place: int) -> Page:
        """The page at this place."""
        raise NotImplementedError

    @overload
    def __getitem__(self, place: int) -> Page: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Page]: ...
    def __getitem__(self, place: int | slice) -> Page | Sequence[Page]:
        if isinstance(place, slice):
            return [self.made(at) for at in range(len(self))[place]]
        return self.made(place)


class _Scoped(MadePages):
    """Pages with other politeness scopes."""

    def __init__(self, pages: Sequence[Page], terms: Coded[SharedTerms]) -> None:
        self._pages = pages
        self._terms = terms

    def __len__(self) -> int:
        return len(self._pages)

    def made(self, place: int) -> Page:
        """See `MadePages`."""
        terms = self._terms.distinct[self._terms.numbers[place]]
        return replace(self._pages[place], scope=terms.scope)


class _Picked(MadePages):
    """The pages at some places of others."""

    def __init__(self, pages: Sequence[Page], places: NDArray[np.int64]) -> None:
        self._pages = pages
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def made(self, place: int) -> Page:
        """See `MadePages`."""
        return self._pages[int(self._places[place])]


def as_columns(pages: Sequence[Page]) -> PageColumns:
    """Pages by columns; those that are so already stay as they are."""
    if isinstance(pages, PageColumns):
        return pages
    return PageColumns(
        pages,
        np.array([page.id for page in pages], np.int64),
        np.array([page.weight for page in pages], np.float64),
        np.array([page.seen_at for page in pages], np.float64),  # None becomes NaN
        np.array([page.changes_in_a_row for page in pages], np.int64),
        coded(page.kind for page in pages),
        coded(SharedTerms.of(page) for page in pages),
    )
