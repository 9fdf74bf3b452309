"""Pages that redirect to pages which are watched as well: what changes there is told once."""

from collections import Counter
from collections.abc import Mapping

from pollwise.watched_pages import Watched, id_of_url

__all__ = ["Redirects"]


class Redirects:
    """Knows which pages are the same document as another one, and what was told of it last.

    >>> from pollwise.types import Page, PageMemory
    >>> pages = (Page(1, "http://a.example/"), Page(2, "http://b.example/"))
    >>> watched = {page.id: Watched(page, PageMemory()) for page in pages}
    >>> redirects = Redirects()
    >>> [redirects.note(1, "http://b.example/", watched) for _ in range(2)]
    [True, False]
    >>> redirects.leads_elsewhere(1), redirects.leads_elsewhere(2)
    (True, False)
    >>> [redirects.tell(page_id, content) for page_id, content in ((2, "x"), (1, "x"), (1, "y"))]
    [True, False, True]
    """

    def __init__(self) -> None:
        self._targets: dict[int, int] = {}
        """For pages that redirect to one that is watched, that one; by ids."""
        self._led_to: Counter[int] = Counter()
        """How many pages redirect to each of these."""
        self._told: dict[int, str] = {}
        """What was told last of pages that others redirect to."""

    def note(self, page_id: int, answered_by: str | None, watched: Mapping[int, Watched]) -> bool:
        """Note which URL answered for a page (None: its own), when it is polled.

        Whether it is that of another page of the `watched` ones, and was not before.
        """
        before = self._targets.pop(page_id, None)
        if before is not None:
            self._led_to[before] -= 1
        if answered_by is None:
            return False
        known = None if before is None else watched.get(before)
        if known is not None and known.page.url == answered_by:  # as a rule
            target = before
        else:
            target = id_of_url(watched, answered_by)
        if target is None or target == page_id:
            return False
        self._targets[page_id] = target
        self._led_to[target] += 1
        return target != before

    def leads_elsewhere(self, page_id: int) -> bool:
        """Whether a page redirects to another one that is watched."""
        return page_id in self._targets

    def tell(self, page_id: int, content: str) -> bool:
        """Whether that a page is so now is to be told: another one may have been found so before.

        `content` is any text that is equal for what is the same.
        """
        target = self._targets.get(page_id, page_id)
        if target == page_id and not self._led_to[page_id]:
            return True
        is_new = self._told.get(target) != content
        self._told[target] = content
        return is_new
