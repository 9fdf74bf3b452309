"""Pages that lead to others that are watched: what is told of them."""

from pollwise.console.redirects import Redirects
from pollwise.types import Page, PageMemory
from pollwise.watched_pages import Watched

URLS = [f"http://{name}.example/" for name in "abcd"]
WATCHED = {i: Watched(Page(i, url), PageMemory()) for i, url in enumerate(URLS)}


class Unsearched(dict[int, int]):
    """What may be looked up, but not gone through, as there may be as many as pages."""

    def values(self):
        raise AssertionError

    __iter__ = items = values


def test_what_leads_where_is_known_at_once():
    redirects = Redirects()
    redirects._targets = Unsearched()
    for page_id in (1, 2):
        assert redirects.note(page_id, URLS[0], WATCHED)
    assert redirects.tell(0, "x")
    assert [redirects.tell(page_id, "x") for page_id in (0, 1, 2)] == [False] * 3
    assert redirects.tell(3, "x")


def test_a_page_that_nobody_leads_to_any_more_is_told_as_others():
    redirects = Redirects()
    for page_id in (1, 2):
        redirects.note(page_id, URLS[0], WATCHED)
    redirects.note(1, None, WATCHED)
    assert [redirects.tell(0, "x") for _ in range(2)] == [True, False]
    redirects.note(2, URLS[3], WATCHED)
    assert [redirects.tell(0, "x") for _ in range(2)] == [True, True]
    assert [redirects.tell(page_id, "y") for page_id in (3, 2)] == [True, False]


def test_a_page_that_is_removed_or_replaced_meanwhile_leads_nowhere():
    redirects = Redirects()
    assert redirects.note(1, URLS[0], WATCHED)
    others = {page_id: own for page_id, own in WATCHED.items() if page_id != 0}
    assert not redirects.note(2, URLS[0], others)
    another = others | {0: Watched(Page(0, "http://e.example/"), PageMemory())}
    assert not redirects.note(2, URLS[0], another)
    assert not redirects.leads_elsewhere(2)
