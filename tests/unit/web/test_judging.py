"""Which changes notices tell of."""

import pytest

from pollwise.sources.view import UnreadableError
from pollwise.store.records import FoundItem, PollResult
from pollwise.types import Mask, Noise, Observation, Outcome, Page, PageMemory
from pollwise.web.judging import judged
from pollwise.web.noise.looks import Copy

CHANGED = PollResult(Observation(0, 9.0, Outcome.CHANGED), PageMemory())
FEED = b"""<rss version="2.0"><channel><title>Shop</title>
<item><guid>1</guid><title>Kettle</title><description>was 30, now 19,99</description></item>
<item><guid>2</guid><title>Kettle 18</title></item>
<item><guid>3</guid><title>Mug</title><description>4 EUR</description></item>
</channel></rss>"""


def page(*conditions, **wishes):
    return Page(0, "http://a.example/", notify_when=conditions, **wishes)


def is_held_back(page, before, now, poll=CHANGED):
    copy = None if before is None else Copy(before, "text/html")
    return judged(poll, page, now, "text/html", copy).held_back


def test_one_condition_that_is_met_is_enough():
    before, now = b"<p>25 EUR<p>in stock", b"<p>30 EUR<p>sold out"
    assert is_held_back(page("below 20"), before, now)
    assert not is_held_back(page("below 20", "has sold out"), before, now)


def test_only_the_parts_that_count_are_read():
    before, now = b"<p>5 left<p id=price>25", b"<p>4 left<p id=price>19"
    assert is_held_back(page("below 20"), before, now)
    assert not is_held_back(page("below 20", select=("#price",)), before, now)
    assert not is_held_back(page("below 20", ignore=("p:first-child",)), before, now)


def test_what_is_masked_is_not_read():
    mask = Mask(("\x02", "\x02"), ("25", "\x03"), "", 1, 1, 9, "12:03")
    noisy = PollResult(CHANGED.observation, PageMemory(noise=Noise((mask,))))
    assert is_held_back(page("below 20"), b"<p>12:03<p>25", b"<p>11:03<p>25")
    assert is_held_back(page("below 20"), b"<p>30:03<p>25", b"<p>11:03<p>25", noisy)
    assert not is_held_back(page("below 20"), b"<p>11:03<p>25", b"<p>12:03<p>19", noisy)


@pytest.mark.parametrize("before", [None, b"<p>no such part", b"\xff\xfe\x00"])
def test_what_cannot_be_read_of_the_copy_before_was_not_there(before):
    assert not is_held_back(page("below 20", select=("b",)), before, b"<b>19</b>")
    assert is_held_back(page("below 20", select=("b",)), before, b"<b>21</b>")


def test_a_copy_that_cannot_be_read_is_not_judged():
    with pytest.raises(UnreadableError):
        judged(CHANGED, page("below 20", select=("b",)), b"<p>19", "text/html", None)


def test_of_a_list_each_new_item_is_judged_by_itself():
    new = PollResult(CHANGED.observation, PageMemory(), items=(FoundItem("1"), FoundItem("3")))
    told = judged(new, page("below 20", "has KETTLE"), FEED, "application/rss+xml", None)
    assert [item.held_back for item in told.items] == [False, False]
    told = judged(new, page("has kettle"), FEED, "application/rss+xml", None)
    assert ([item.held_back for item in told.items], told.held_back) == ([False, True], False)
    told = judged(new, page("above 100"), FEED, "application/rss+xml", None)
    assert ([item.held_back for item in told.items], told.held_back) == ([True, True], True)


def test_a_list_that_changed_without_a_new_item_is_held_back():
    assert judged(CHANGED, page("has kettle"), FEED, "application/rss+xml", None).held_back
