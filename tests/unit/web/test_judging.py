"""Which changes notices tell of."""

import pytest

from pollwise.sources.view import UnreadableError
from pollwise.store.records import FoundItem
from pollwise.types import Mask, Page
from pollwise.web.judging import judged
from pollwise.web.noise.looks import Copy

FEED = b"""<rss version="2.0"><channel><title>Shop</title>
<item><guid>1</guid><title>Kettle</title><description>was 30, now 19,99</description></item>
<item><guid>2</guid><title>Kettle 18</title></item>
<item><guid>3</guid><title>Mug</title><description>4 EUR</description></item>
</channel></rss>"""


def page(*conditions, **wishes):
    return Page(0, "http://a.example/", notify_when=conditions, **wishes)


def is_held_back(page, before, now, *masks):
    copy = None if before is None else Copy(before, "text/html")
    return judged(page, masks, now, "text/html", copy, ()).held_back


def judged_list(condition, *new):
    items = tuple(map(FoundItem, new))
    judgement = judged(page(*condition), (), FEED, "application/rss+xml", None, items)
    return [item.held_back for item in judgement.items], judgement.held_back


def test_one_condition_that_is_met_is_enough():
    before, now = b"<p>25 EUR<p>in stock", b"<p>30 EUR<p>sold out"
    assert is_held_back(page("below 20"), before, now)
    assert not is_held_back(page("below 20", "has sold out"), before, now)


def test_only_the_parts_that_count_are_read():
    before, now = b"<p>5 left<p id=price>25", b"<p>4 left<p id=price>19"
    assert is_held_back(page("below 20"), before, now)
    assert not is_held_back(page("below 20", select=("#price",)), before, now)
    assert not is_held_back(page("below 20", ignore=("p:first-child",)), before, now)


def test_a_page_is_read_as_people_do():
    before, now = b"<p>&#36;25 sold&nbsp;out", b"<p>&#36;1&nbsp;299"
    assert is_held_back(page("below 20", "above 2000"), before, now)
    assert not is_held_back(page("above 1000"), before, now)
    assert not is_held_back(page("lacks sold out"), before, now)


def test_what_is_masked_is_not_read():
    mask = Mask(("\x02", "\x02"), ("25", "\x03"), "", 1, 1, 9, "12:03")
    assert is_held_back(page("below 20"), b"<p>12:03<p>25", b"<p>11:03<p>25")
    assert is_held_back(page("below 20"), b"<p>30:03<p>25", b"<p>11:03<p>25", mask)
    assert not is_held_back(page("below 20"), b"<p>11:03<p>25", b"<p>12:03<p>19", mask)


@pytest.mark.parametrize("before", [None, b"<p>no such part", b"\xff\xfe\x00"])
def test_what_cannot_be_read_of_the_copy_before_was_not_there(before):
    assert not is_held_back(page("below 20", select=("b",)), before, b"<b>19</b>")
    assert is_held_back(page("below 20", select=("b",)), before, b"<b>21</b>")


def test_a_copy_that_cannot_be_read_is_not_judged():
    with pytest.raises(UnreadableError):
        is_held_back(page("below 20", select=("b",)), None, b"<p>19")


def test_of_a_list_each_new_item_is_judged_by_itself():
    assert judged_list(["below 20", "has KETTLE"], "1", "3") == ([False, False], False)
    assert judged_list(["has kettle"], "1", "3") == ([False, True], False)
    assert judged_list(["above 100"], "1", "3") == ([True, True], True)


def test_items_by_the_same_key_are_told_if_one_meets_a_condition():
    of_one = b"<item><title>Kettle</title><description>%s</description></item>"
    feed = FEED.replace(b"</channel>", of_one % b"30" + of_one % b"19" + of_one % b"25")
    feed += b"</channel>"
    new = (FoundItem("Kettle"),)
    judgement = judged(page("below 20"), (), feed, "application/rss+xml", None, new)
    assert not judgement.held_back


def test_a_list_that_changed_without_a_new_item_is_held_back():
    assert judged_list(["has kettle"]) == ([], True)
