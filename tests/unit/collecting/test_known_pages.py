"""What is counted of the pages of a collection."""

import pytest

from pollwise.collecting.known_pages import KnownPages
from pollwise.types import Outcome


def test_the_fringe_are_the_pages_of_which_no_poll_was_made():
    known = KnownPages()
    for page_id in (7, 3, 5):
        known.note(page_id, "h", None)
    assert known.fringe == 3
    known.note(5, "h", Outcome.POSTPONED)
    assert known.fringe == 3
    known.note(5, "h", Outcome.FAILED)
    known.note(7, "h", Outcome.CHANGED)
    known.note(7, "h", Outcome.UNCHANGED)
    known.note(3, "h", Outcome.GONE)
    assert known.fringe == 0


@pytest.mark.parametrize(
    ("outcomes", "can"),
    [
        ([None], True),
        ([None, None, Outcome.FAILED], False),  # dead, or disallowed
        ([Outcome.FAILED], False),
        ([None, Outcome.FAILED, Outcome.GONE], True),
        ([Outcome.GONE, Outcome.GONE], False),  # there is nothing to ask for
        ([Outcome.FAILED, Outcome.UNCHANGED], True),
        ([Outcome.GONE, Outcome.CHANGED], True),
    ],
)
def test_the_hosts_that_can_take_requests(outcomes, can):
    known = KnownPages()
    for page_id, outcome in enumerate(outcomes):
        known.note(page_id, "h", None)
        known.note(page_id, "h", outcome)
    known.note(9, "other", None)
    assert known.hosts() == (["h", "other"] if can else ["other"])


def test_a_host_that_answers_again_can_take_requests_again():
    known = KnownPages()
    known.note(0, "h", Outcome.FAILED)
    known.note(1, "h", None)
    assert known.hosts() == []
    known.note(0, "h", Outcome.CHANGED)
    assert known.hosts() == ["h"]


def test_silent_are_the_hosts_where_every_poll_failed():
    known = KnownPages()
    outcomes = (Outcome.FAILED, Outcome.CHANGED, Outcome.GONE, None)
    for page_id, outcome in enumerate(outcomes):
        known.note(page_id, f"h{page_id}", outcome)
        known.note(page_id + 10, f"h{page_id}", None)
    assert known.silent_hosts() == ["h0"]
    known.note(10, "h0", Outcome.UNCHANGED)
    known.note(13, "h3", Outcome.FAILED)
    assert known.silent_hosts() == ["h3"]
