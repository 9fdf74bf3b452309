"""Conditions on notices."""

import math
from decimal import Decimal

import pytest

from pollwise.errors import InputError
from pollwise.sources.conditions import Standing, read_conditions, standings
from pollwise.sources.reading import read

FEED = b"""<rss version="2.0"><channel><title>Jobs</title>
<item><guid>1</guid><title>Cook</title><description>pays 1.900 EUR</description></item>
<item><guid>2</guid><title>Nurse</title><description>pays 3.100 EUR</description></item>
</channel></rss>"""


def text(*blocks):
    return read("".join(f"<p>{block}" for block in blocks).encode(), "text/html; charset=utf-8")


def is_met(told, before, now):
    [condition] = read_conditions([told], "notify-when")
    return condition.is_met(now, before)


@pytest.mark.parametrize(
    ("told", "before", "now", "met"),
    [
        ("below 20", "25 EUR", "19,99 EUR", True),
        ("below 20", "19 EUR", "18 EUR", False),
        ("below 20", "25 EUR", "20 EUR", False),
        ("below 20", "sold out", "18 EUR", True),
        ("below 20", "18 EUR", "sold out", False),
        ("below -5", "-4 degrees", "-6 degrees", True),
        ("above 1299,50", "1.299,50 EUR", "1.299,51 EUR", True),
        ("ABOVE 3", "2", "4", True),
        ("has sold  OUT", "In stock", "It is Sold\nout!", True),
        ("has sold out", "sold out", "sold out again", False),
        ('has "sold out"', "In stock", "sold out", True),
        ('has "', "In stock", 'a 15" screen', True),
        ("has aus\xadverkauft", "da", "ausverkauft", True),
        ("lacks sold out", "sold out", "In stock", True),
        ("lacks sold out", "In stock", "In stock: 3", False),
        ("changed data retention", "Data retention: 30 days", "Data retention: 60 days", True),
        ("changed data retention", "Data retention", "Nothing", True),
        ("changed data retention", "Nothing", "Data retention", True),
        ("changed data retention", "Cookies", "No cookies", False),
    ],
)
def test_a_condition_is_met_by_the_change_that_makes_it_true(told, before, now, met):
    assert is_met(told, text(before), text(now)) is met


def test_words_change_only_with_a_block_that_has_them():
    told, before = "changed retention", text("Retention: 30 days", "Cookies: yes")
    assert not is_met(told, before, text("Retention: 30 days", "Cookies: no"))
    assert not is_met(told, before, text("Cookies: yes", "Retention: 30 days"))  # moved
    assert is_met(told, before, text("Retention: 30 days", "Retention: 30 days", "Cookies: yes"))


def test_words_may_go_on_in_the_next_block():
    assert is_met("has stock: yes", text("Stock:", "no"), text("Stock:", "yes"))


@pytest.mark.parametrize("told", ["below 5", "has 4", "lacks 5", "changed 4"])
def test_what_was_not_there_before_held_nothing(told):
    assert is_met(told, None, text("4"))


@pytest.mark.parametrize(
    ("told", "number"),
    [("below 20", "20"), ("above -3.5", "-3.5"), ("below 1299,00", "1299"), ("above .125", ".125")],
)
def test_a_number_is_written_plainly(told, number):
    assert read_conditions([told], "x")[0].number == Decimal(number)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("blow 20", r'^notify-when \'blow 20\': expected "below 20", "above 20", "has WORDS",'),
        ("below", 'expected "below 20"'),
        ("has", 'expected "below 20"'),
        ('has ""', 'expected "below 20"'),
        ('has " "', 'expected "below 20"'),
        ("changed \u200b", 'expected "below 20"'),
        ("below 20 EUR", "expected one number, without a currency or .*, as in below 19.50$"),
        ("above twenty", "expected one number, .* as in above 19.50$"),
        ("below 1 299", "expected one number"),
        ("below 1.299", "write 1299 or 1.2990, as it may be either"),
        ("above -1,299", "write -1299 or -1.2990, as it may be either"),
    ],
)
def test_what_is_no_condition_is_told_in_a_line(told, message):
    with pytest.raises(InputError, match=message) as caught:
        read_conditions([told], "notify-when")
    assert "\n" not in str(caught.value)


def test_it_is_told_how_conditions_stand():
    view = text("Price 1.299,00 EUR", "sold out")
    assert standings(("below 20", "has Sold", "changed sold"), view) == (
        Standing("below 20", "1.299,00", 1299.0, False),
        Standing("has Sold", None, None, True, 1),
        Standing("changed sold", None, None, None, 1),
    )
    assert standings(("below 20",), text("none")) == (Standing("below 20", None, None, None),)
    [long] = standings(("above 20",), text("9" * 1000))
    assert long == Standing("above 20", "9" * 80, math.inf, True)


def test_of_a_list_it_is_told_how_many_items_would_be():
    view = read(FEED, "application/rss+xml")
    told = standings(("above 2000", "lacks pays", "changed nurse"), view)
    assert [one.items for one in told] == [1, 0, 1]
