"""The pages that a scheduler knows: millions, of which more come without a pause."""

from collections.abc import Iterator, Mapping
from typing import Any

from pollwise.page_columns import Coded, PageColumns
from pollwise.scheduler.leases import Terms

__all__ = ["KnownPages"]


class KnownPages(Mapping[int, Terms]):
    """What the scheduler needs of each page, by its id, in the order of ids.

    As ids are dense, they are the places of a list. It takes 9 bytes a page and grows where it is;
    a dictionary takes 42, and to grow beyond 5.6 million pages .8 seconds of a busy machine. Pages
    may come and go while somebody goes through it.

    >>> from pollwise.page_columns import as_columns
    >>> from pollwise.types import Page
    >>> known = KnownPages()
    >>> known.add(as_columns([Page(2, scope="a")]))
    >>> 2 in known, 1 in known, known[2].scope, list(known), len(known)
    (True, False, 'a', [2], 1)
    """

    def __init__(self) -> None:
        self._terms: list[Terms | None] = []
        self._count = 0

    def add(self, pages: PageColumns) -> None:
        """Take in pages that are not known."""
        made = _terms_of(pages)
        if not made:
            return
        first, end = int(pages.ids.min()), int(pages.ids.max()) + 1
        self._terms += [None] * (end - len(self._terms))
        if end - first == len(made) and (pages.ids[1:] > pages.ids[:-1]).all():
            self._terms[first:end] = made
        else:
            for page_id, own in zip(pages.ids.tolist(), made, strict=True):
                self._terms[page_id] = own
        self._count += len(made)

    def put(self, page_id: int, terms: Terms) -> None:
        """Know this of a known page from now on."""
        self._terms[page_id] = terms

    def take_out(self, page_id: int) -> Terms | None:
        """Forget a page; None: it was not known."""
        own: Terms | None = self.get(page_id)
        if own is not None:
            self._terms[page_id] = None
            self._count -= 1
        return own

    def get(self, page_id: int, default: Any = None, /) -> Any:
        """As of any mapping; here, as each poll asks for it several times."""
        try:
            own = self._terms[page_id]
        except IndexError:
            return default
        return default if own is None or page_id < 0 else own

    def __getitem__(self, page_id: int) -> Terms:
        try:
            own = self._terms[page_id]
        except IndexError:
            own = None
        if own is None or page_id < 0:
            raise KeyError(page_id)
        return own

    def __contains__(self, page_id: Any) -> bool:
        try:
            return self._terms[page_id] is not None and page_id >= 0
        except IndexError:
            return False

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        return (page_id for page_id, own in enumerate(self._terms) if own is not None)


def _terms_of(pages: PageColumns) -> list[Terms]:
    """The terms of pages: one object for all that have the same, as most have."""
    distinct, weights = pages.terms.distinct, pages.weights
    if len(distinct) <= len(weights) and (weights == weights[:1]).all():  # as in most long lists
        of_all = [Terms(one.scope, one.cost, weights.item(0), one.tags) for one in distinct]
        return Coded(of_all, pages.terms.numbers).values()
    known: dict[tuple[int, float], Terms] = {}
    made = []
    for number, weight in zip(pages.terms.numbers.tolist(), pages.weights.tolist(), strict=True):
        key = number, weight
        if (own := known.get(key)) is None:
            terms = pages.terms.distinct[number]
            own = known[key] = Terms(terms.scope, terms.cost, weight, terms.tags)
        made.append(own)
    return made
