"""Which changes notices tell of."""

from decimal import Decimal

import pytest

from pollwise.sources.view import UnreadableError
from pollwise.store.records import FoundItem
from pollwise.types import Mask, NumberTold, Page
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


def prices_told(conditions, *texts, masks=()):
    """The texts of which somebody is told, one after the other, the first one being the first copy,
    and the number from which the next step is measured."""
    told, number, before = [], None, None
    for text in texts:
        now = text.encode()
        found = judged(page(*conditions), masks, now, "text/html", before, (), number)
        if before is not None and not found.held_back:
            told.append(text)
        number, before = found.told_number, Copy(now, "text/html")
    return told, number


def test_small_steps_add_up_from_the_first_copy_and_then_from_what_was_told():
    steps = ["100", "99", "98", "97", "96", "95", "94", "91", "90.25", "90", "85.8", "85.7"]
    told, number = prices_told(["falls by 5 %"], *steps)
    assert told == ["95", "90.25", "85.7"]
    assert number == NumberTold(Decimal("85.7"), Decimal("85.7"))


def test_what_is_measured_is_the_number_that_was_told_last_whatever_came_between():
    told, number = prices_told(["falls by 5 %"], "100", "sold out", "96", "120", "sold out", "95")
    assert told == ["95"]
    assert number.told == 95
    assert prices_told(["changes by 5 %"], "100", "103", "105", "111", "100", "sold out") == (
        ["105", "111", "100"],
        NumberTold(Decimal(100), None),
    )


def test_without_a_number_nothing_is_measured():
    assert prices_told(["rises by 1"], "sold out", "in stock") == ([], None)
    assert prices_told(["rises by 1"], "sold out", "5 EUR", "6 EUR")[0] == ["6 EUR"]


def test_a_notice_for_another_reason_tells_the_number_if_it_shows_it():
    conditions = ["falls by 5 %", "has sold out"]
    shown = ["<p>100", "<p>97<p>sold out", "<p>95", "<p>92"]
    assert prices_told(conditions, *shown)[0] == ["<p>97<p>sold out", "<p>92"]
    hidden = ["<p>100", "<p>97", "<p>97<p>sold out", "<p>95"]
    assert prices_told(conditions, *hidden)[0] == ["<p>97<p>sold out", "<p>95"]


def test_a_step_that_must_wait_for_another_condition_is_told_once():
    texts = ["<p>100", "<p>90<p>sold out", "<p>90", "<p>89", "<p>90<p>sold out", "<p>90", "<p>85"]
    told, number = prices_told(["falls by 5 % and lacks sold out"], *texts)
    assert told == ["<p>90", "<p>85"]
    assert number.told == 85


def test_where_another_number_is_read_now_steps_are_measured_from_the_copy_before():
    wide = judged(page("falls by 5 %"), (), b"<p>1234 visitors<p>25", "text/html", None, ())
    assert wide.told_number.told == 1234
    before = Copy(b"<p>1234 visitors<p id=a>25", "text/html")
    for price, is_told in ((b"24", False), (b"23", True)):
        found = judged(
            page("falls by 5 %", select=("#a",)),
            *((), b"<p>1250 visitors<p id=a>" + price, "text/html", before, (), wide.told_number),
        )
        assert found.held_back is not is_told
        assert found.told_number.told == (23 if is_told else 25)


def test_without_conditions_on_steps_no_number_is_remembered():
    before, told = Copy(b"<p>100", "text/html"), NumberTold(Decimal(100), Decimal(100))
    found = judged(page("below 99"), (), b"<p>98", "text/html", before, (), told)
    assert found.told_number is None


@pytest.mark.parametrize("before", [None, Copy(b"\xff\xfe\x00", "text/html")])
def test_without_a_copy_before_steps_are_measured_from_what_was_told(before):
    told = NumberTold(Decimal(100), Decimal(97))
    found = judged(page("falls by 5 %"), (), b"<p>95", "text/html", before, (), told)
    assert not found.held_back


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
