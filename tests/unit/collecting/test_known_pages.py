"""What is counted of the pages of a collection."""

from pollwise.collecting.known_pages import KnownPages
from pollwise.types import Outcome


def test_the_fringe_are_the_pages_of_which_no_poll_was_made():
    known = KnownPages()
    for page_id in (7, 3, 5):
        known.note(page_id, None)
    assert known.fringe == 3
    known.note(5, Outcome.POSTPONED)
    assert known.fringe == 3
    known.note(5, Outcome.FAILED)
    known.note(7, Outcome.CHANGED)
    known.note(7, Outcome.UNCHANGED)
    known.note(3, Outcome.GONE)
    assert known.fringe == 0
