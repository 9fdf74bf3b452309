"""A list of pages in a file that is followed: what is changed in it, is changed in the watch."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pollwise.errors import InputError
from pollwise.live.control import Carried, carry_out
from pollwise.live.requests import AddPages, ChangePages, RemovePages
from pollwise.store import Store
from pollwise.store.records import NewPage
from pollwise.web.url_list import read_url_list

__all__ = ["FollowedList"]

_Stamp = tuple[int, int, int] | None


class FollowedList:
    """The pages of a file; `InputError` if it cannot be read at first.

    Lines that are new or changed hold from then on. A page that the list brought is removed when
    its line goes; one that was named otherwise stays. A file that is gone, empty or cannot be read
    changes nothing. `read` gives the pages of the file.
    """

    def __init__(
        self, path: Path, read: Callable[[Path], Sequence[NewPage]] = read_url_list
    ) -> None:
        self._path = path
        self._mark = str(path.absolute())
        self._read_file = read
        self._taken = self._seen = self._stamp()
        self.pages = self._read()
        """The pages that the file names, as it was read last."""
        self.notices: list[str] = []
        """What people should know; who tells them takes it out."""

    def carry_out(self, store: Store, now: float) -> list[Carried]:
        """Look at the file, and carry out what was changed in it since the last look."""
        stamp = self._stamp()
        if stamp == self._taken:
            self._seen = stamp
            return []
        if stamp != self._seen:  # it may still be being written
            self._seen = stamp
            return []
        self._taken = stamp
        try:
            pages = self._read()
            if not pages:
                raise InputError(f"{self._path} names no page")
        except InputError as error:
            self.notices.append(f"{error}; its pages are watched as before")
            return []
        before = set(self.pages)
        self.pages = pages
        told = [page for page in pages if page not in before]
        known = tuple(page for page in told if store.find_page(page.url) is not None)
        new = tuple(page for page in told if page not in known)
        added = [carry_out(store, AddPages(new), now)] if new else []
        changed = [carry_out(store, ChangePages(known), now)] if known else []
        return added + changed + self.remove_missing(store, now)

    def remove_missing(self, store: Store, now: float) -> list[Carried]:
        """Remove the pages that this list brought and names no more."""
        named = {page.url for page in self.pages}
        missing = tuple(
            record.page.url
            for record in store.pages()
            if record.listed_in == self._mark and record.page.url not in named
        )
        return [carry_out(store, RemovePages(missing), now)] if missing else []

    def _read(self) -> list[NewPage]:
        return [replace(page, listed_in=self._mark) for page in self._read_file(self._path)]

    def _stamp(self) -> _Stamp:
        """What differs when the file was written; None: there is none."""
        try:
            status = os.stat(self._path)
        except OSError:  # reading it says why
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino
