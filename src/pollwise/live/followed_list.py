"""A list of pages in a file that is followed: what is changed in it, is changed in the watch."""

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pollwise.errors import InputError
from pollwise.live.control import Carried, carry_out
from pollwise.live.requests import PAGES_AT_ONCE, AddPages, ChangePages, RemovePages
from pollwise.store import Store
from pollwise.store.records import NewPage, usual_cost
from pollwise.texts import file_told
from pollwise.web.url_list import read_url_list

__all__ = ["FollowedList"]

_UNSAID: dict[str, Any] = {
    "weight": 1.0,
    "longest_interval": 0.0,
    "shortest_interval": 0.0,
    "tags": (),
    "select": (),
    "ignore": (),
    "render": False,
    "notify_when": (),
}
"""What takes back each thing that a line may say of a page, but for the cost."""
_Stamp = tuple[int, int, int, int] | None


@dataclass(slots=True)
class _Change:
    """What is still to be done for a file that now has other `pages` than before.

    Pages that were `told` otherwise, or anew, come first; then `missing` ones are removed.
    """

    stamp: _Stamp
    pages: list[NewPage]
    told: list[NewPage]
    missing: list[str]


class FollowedList:
    """The pages of a file; `InputError` if it cannot be read at first.

    Lines that are new or changed hold from then on; what a line says no more is taken back. A page
    that the list brought is removed when its line goes; one that was named otherwise stays. A file
    that is gone, empty or cannot be read changes nothing. `read` gives the pages of the file, and
    tells what people should know of it.
    """

    def __init__(
        self,
        path: Path,
        read: Callable[[Path, Callable[[str], None]], Sequence[NewPage]] = read_url_list,
    ) -> None:
        self._path = path
        self.name = file_told(path)
        """What messages call it."""
        # The name of a file need not be UTF-8.
        self._mark = str(path.absolute()).encode(errors="backslashreplace").decode()
        self._read_file = read
        self._notices: list[str] = []
        self._taken = self._seen = self._stamp()
        self.pages = self._read()
        """The pages that the file names, as it was read last."""
        self._fails = False
        self._found: tuple[_Stamp, list[NewPage]] | None = None
        self._change: _Change | None = None

    def tell(self, say: Callable[[str], None]) -> None:
        """Tell what people should know since the last time."""
        while self._notices:
            say(self._notices.pop(0))

    def carry_out(
        self, store: Store, now: float, followed: Sequence["FollowedList"] = ()
    ) -> list[Carried]:
        """Carry out what the last look found to be changed.

        Of much it is a part, for which polls can wait; ask again for the next one. `followed` are
        all lists that are followed: what another one names stays.
        """
        if self._change is None and self._found is not None:
            self._change = self._to_do(store, followed, *self._found)
            self._found = None
        change = self._change
        if change is None:
            return []
        pages = change.told[:PAGES_AT_ONCE]
        missing = change.missing[: PAGES_AT_ONCE - len(pages)]
        with store.together():
            # Others may have removed some of them, or added them, since the last part.
            watched = store.find_pages([*(page.url for page in pages), *missing])
            new = tuple(page for page in pages if page.url not in watched)
            known = tuple(page for page in pages if page.url in watched)
            gone = tuple(url for url in missing if url in watched)
            done = [carry_out(store, AddPages(new), now)] if new else []
            done += [carry_out(store, ChangePages(known), now)] if known else []
            done += [carry_out(store, RemovePages(gone), now)] if gone else []
        # Only now: when the database is locked, all of this part is tried again.
        del change.told[: len(pages)], change.missing[: len(missing)]
        if not (change.told or change.missing):
            self._taken, self.pages, self._change = change.stamp, change.pages, None
            if self._fails:
                self._fails = False
                self._notices.append(f"{self.name} can be read again, and is followed")
        return done

    def look(self) -> None:
        """Read the file again if it was changed and is whole; of a long one it takes seconds."""
        if self._change is not None or self._found is not None:
            return
        stamp = self._stamp()
        if stamp == self._taken:
            self._seen = stamp
            return
        if stamp != self._seen:  # it may still be being written
            self._seen = stamp
            return
        try:
            if self._path.exists() and not self._path.is_file():  # a pipe would never end
                raise InputError(f"{self.name} is no file any more")
            pages = self._read()
            if not pages:
                raise InputError(f"{self.name} names no page")
        except InputError as error:
            self._taken, self._fails = stamp, True
            self._notices.append(f"{error}; its pages are watched as before")
            return
        self._found = stamp, pages

    def _to_do(
        self,
        store: Store,
        followed: Sequence["FollowedList"],
        stamp: _Stamp,
        pages: list[NewPage],
    ) -> _Change:
        """What is to be done for a file that names these pages now."""
        before = {page.url: page for page in self.pages}
        told = [_told(page, before.get(page.url)) for page in pages if page != before.get(page.url)]
        others = [one for one in followed if one is not self]
        told += store.told_anew(_told_by_others(store, before, pages, others))
        return _Change(stamp, pages, told, self._missing(store, pages, followed))

    def remove_missing(
        self, store: Store, now: float, followed: Sequence["FollowedList"] = ()
    ) -> list[Carried]:
        """Remove the pages that this list brought and that none of the `followed` names now.

        An empty list is taken for a mistake: its pages stay.
        """
        if not self.pages:
            return []
        missing = tuple(self._missing(store, self.pages, followed))
        return [carry_out(store, RemovePages(missing), now)] if missing else []

    def _missing(
        self, store: Store, pages: Sequence[NewPage], followed: Sequence["FollowedList"]
    ) -> list[str]:
        """The URLs of pages that a list brought and that none names now, if this names `pages`."""
        others = [one for one in followed if one is not self]
        urls = [page.url for page in pages]
        # A page that this list named last may have been brought by another one.
        marks = [self._mark, *(other._mark for other in others)]
        listed = store.listed_urls(marks)
        if listed == urls:  # as where nobody has changed a list, which may be long
            return []
        named = set(urls).union(*({p.url for p in o.pages} for o in others))
        return [url for url in listed if url not in named]

    def _read(self) -> list[NewPage]:
        pages = list(self._read_file(self._path, self._notices.append))
        for page in pages:
            page.listed_in = self._mark
        return pages

    def _stamp(self) -> _Stamp:
        """What differs when the file was written, or may be read by others than before; None:
        there is none, or what never ends.
        """
        try:
            status = os.stat(self._path)
        except OSError:  # reading it says why
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _told_by_others(
    store: Store,
    before: Mapping[str, NewPage],
    pages: Sequence[NewPage],
    others: Sequence[FollowedList],
) -> list[NewPage]:
    """The watched pages that a list names no more, as the other lists that name them say."""
    dropped = store.find_pages(list(before.keys() - {page.url for page in pages}))
    named: dict[str, NewPage] = {}
    for page in (page for one in others for page in one.pages if page.url in dropped):
        said = {name: value for name, value in asdict(page).items() if value is not None}
        named[page.url] = replace(named.get(page.url, page), **said)
    return [_told(page, before[url]) for url, page in named.items()]


def _told(page: NewPage, before: NewPage | None) -> NewPage:
    """A page as its line says; what the line said before and says no more is as for a new page."""
    if before is None:
        return page
    unsaid = {**_UNSAID, "cost": usual_cost(bool(page.render))}
    taken_back = {
        name: value
        for name, value in unsaid.items()
        if getattr(page, name) is None and getattr(before, name) is not None
    }
    return replace(page, **taken_back)
