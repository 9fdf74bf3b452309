"""Conditions on notices."""

import math
from decimal import Decimal

import pytest

from pollwise.errors import InputError
from pollwise.sources.conditions import Standing, number_of, read_conditions, standings
from pollwise.sources.reading import read
from pollwise.types import NumberTold

FEED = b"""<rss version="2.0"><channel><title>Jobs</title>
<item><guid>1</guid><title>Cook</title><description>pays 1.900 EUR</description></item>
<item><guid>2</guid><title>Nurse</title><description>pays 3.100 EUR</description></item>
</channel></rss>"""


def text(*blocks):
    return read("".join(f"<p>{block}" for block in blocks).encode(), "text/html; charset=utf-8")


def is_met(told, before, now, last=None):
    [condition] = read_conditions([told], "notify-when")
    return condition.is_met(now, before, None if last is None else Decimal(last))


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


@pytest.mark.parametrize(
    ("told", "last", "now", "met"),
    [
        ("falls by 5 %", "100", "95 EUR", True),
        ("falls by 5%", "100", "95,01 EUR", False),
        ("falls by 5 %", "100", "106", False),
        ("falls by 5 %", "-100", "-105", True),
        ("falls by 5 %", "-100", "-104", False),
        ("falls by 0,1 %", "1000", "999", True),
        ("Falls  BY 10", "100", "90", True),
        ("falls by 10", "100", "90,01", False),
        ("rises by 10", "100", "110", True),
        ("rises by 10", "100", "90", False),
        ("rises by .5", "1", "1.5", True),
        ("changes by 2 %", "100", "98", True),
        ("changes by 2 %", "100", "102", True),
        ("changes by 2 %", "100", "101,99", False),
        ("changes by 2 %", "0", "0,01", True),
        ("changes by 2 %", "0", "0", False),
        ("falls by 5 %", None, "1", False),
        ("falls by 5 %", "100", "sold out", False),
        ("changes by 1", "1", "9" * 1000, True),
    ],
)
def test_a_step_is_measured_from_the_number_told_last(told, last, now, met):
    assert is_met(told, text("50"), text(now), last) is met
    assert is_met(told, None, text(now), last) is met


@pytest.mark.parametrize("number", ["9e999999", "-9e999999", "1e-999999"])
def test_a_step_may_be_of_any_size(number):
    view = read(f'{{"price": {number}}}'.encode(), "application/json")
    last = number_of(view)
    assert is_met("changes by 1 %", view, text("5"), last)
    assert is_met("changes by 1 %", None, view, 5)
    assert not is_met("changes by 1 %", view, view, last)


@pytest.mark.parametrize(
    ("told", "before", "now", "met"),
    [
        ("below 20 and lacks sold out", ("25", "sold out"), ("19", "sold out"), False),
        ("below 20 and lacks sold out", ("19", "sold out"), ("19", "in stock"), True),
        ("below 20 and lacks sold out", ("25", "in stock"), ("19", "in stock"), True),
        ("below 20 and lacks sold out", ("19", "in stock"), ("18", "in stock"), False),
        ("above 10 AND  below 20", ("25",), ("15",), True),
        ("above 10 and below 20", ("25",), ("5",), False),
        ("above 10 and below 20", ("5",), ("sold out",), False),
        ("below 20 and changed colour", ("19", "colour: red"), ("19", "colour: blue"), True),
        ("below 20 and changed colour", ("25", "colour: red"), ("19", "colour: red"), False),
        ("has salt and pepper", ("salt",), ("pepper and salt and pepper",), True),
        ("has salt and pepper", ("salt",), ("pepper and salt",), False),
        ('has "salt and has pepper"', ("salt",), ("pepper salt",), False),
        ('has "salt and has pepper" and below 5', ("9",), ("4 salt and has pepper",), True),
        ('has "salt" and has "pepper"', ("salt",), ("pepper salt",), True),
        ('has 15" and below 5', ("9",), ("4", '15"'), True),
        ('has " and below 5', ("9",), ("4", '"'), True),
        ("has this or that", ("that",), ("this or that",), True),
    ],
)
def test_with_and_between_them_all_must_hold(told, before, now, met):
    assert is_met(told, text(*before), text(*now)) is met


def test_a_step_and_another_condition_are_told_when_both_hold():
    told = "falls by 5 % and lacks sold out"
    assert not is_met(told, text("100"), text("90", "sold out"), 100)
    assert is_met(told, text("90", "sold out"), text("90"), 100)
    assert not is_met(told, text("90", "sold out"), text("90"), 90)


@pytest.mark.parametrize("told", ["below 5", "has 4", "lacks 5", "changed 4", "below 5 and has 4"])
def test_what_was_not_there_before_held_nothing(told):
    assert is_met(told, None, text("4"))


@pytest.mark.parametrize(
    ("told", "number"),
    [("below 20", "20"), ("above -3.5", "-3.5"), ("below 1299,00", "1299"), ("above .125", ".125")],
)
def test_a_number_is_written_plainly(told, number):
    assert read_conditions([told], "x")[0].parts[0].number == Decimal(number)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("blow 20", r'^notify-when \'blow 20\': expected "below 20", "above 20", "falls by 5 %",'),
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
        ("falls 5 %", '"falls by 5 %", "rises by 10", "changes by 2 %"'),
        ("falls by", 'expected "below 20"'),
        ("falls by 5 EUR", "expected one number, .* as in falls by 19.50 or falls by 5 %$"),
        ("falls by %", "expected one number, .* as in falls by 19.50 or falls by 5 %$"),
        ("rises by 0 %", "expected a number above 0, as in rises by 5 %$"),
        ("changes by -5", "expected a number above 0, as in changes by 5 %$"),
        ("changed by 5 %", 'write "changes by 5 %"; words like these stand in quotes$'),
        ("below 20 and above ten", "^notify-when 'above ten': expected one number"),
        ("below 20 and", "expected one number"),
        ("below 20 or falls by 5 %", '"or" cannot stand between conditions; give each by itself'),
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


def test_it_is_told_from_where_a_step_is_measured():
    told, view = ("falls by 5 %",), text("95 EUR")
    [first] = standings(told, view)
    assert (first.holds, first.measured_from) == (False, 95.0)
    [later] = standings(told, view, NumberTold(Decimal(100), Decimal(97)))
    assert (later.holds, later.measured_from) == (True, 100.0)


def test_it_is_told_how_each_of_several_stands():
    [both] = standings(("below 20 and lacks sold out",), text("19", "sold out"))
    assert (both.condition, both.holds) == ("below 20 and lacks sold out", False)
    assert both.parts == standings(("below 20", "lacks sold out"), text("19", "sold out"))
    view = text("19", "colour: red")
    assert standings(("below 20 and lacks sold out",), view)[0].holds is True
    assert standings(("below 20 and changed colour",), view)[0].holds is None


def test_of_a_list_it_is_told_how_many_items_would_be():
    view = read(FEED, "application/rss+xml")
    conditions = ("above 2000", "lacks pays", "changed nurse", "above 1000 and has cook")
    told = standings((*conditions, "rises by 1"), view, NumberTold(Decimal(1), None))
    assert [one.items for one in told] == [1, 0, 1, 1, 0]
