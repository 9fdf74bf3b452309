"""Budgets as people write them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.scheduler.budgets import BudgetText, parse_budget, parse_interval, parse_shares
from pollwise.types import Budget

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}


@pytest.mark.parametrize("unit", SECONDS)
@pytest.mark.parametrize("per_page", [False, True])
@given(number=st.floats(1e-6, 1e9))
def test_a_number_a_unit_and_perhaps_page(unit, per_page, number):
    budget = parse_budget(f"{number!r}/{unit}{'/page' if per_page else ''}")
    assert budget.rate == pytest.approx(number / SECONDS[unit])
    assert budget.per_page == per_page


def test_units_may_be_given_by_their_symbols():
    texts = ["20/s", "20/min", "20/h", "20/d"]
    assert [parse_budget(text).rate for text in texts] == [20.0, 20 / 60, 20 / 3600, 20 / 86_400]
    assert parse_budget("0.5/h/page") == parse_budget("0.5/hour/page")
    assert parse_interval("at-most", "2/min") == 30.0


def test_the_total_counts_pages_only_where_the_budget_does():
    assert BudgetText(0.5, per_page=True).total(10) == 5.0
    assert BudgetText(0.5, per_page=False).total(10) == 0.5


def test_spaces_around_and_about_are_forgiven():
    assert parse_budget("  500/hour ") == parse_budget("500/hour")
    assert parse_budget("5e2/hour") == parse_budget("500/hour")


@pytest.mark.parametrize(
    "text",
    ["", "500", "/hour", "500/", "500/fortnight", "0/hour", "-1/hour", "nan/day", "inf/day",
     "many/day", "5/day/host", "5/day/page/page", "5 per day", "1/2/day", "1_0/hour", "1e-320/week",
     "1e308/second/page", "\u0663/hour"],
)  # fmt: skip
def test_what_is_no_budget_is_named_with_the_mend(text):
    with pytest.raises(InputError) as error:
        parse_budget(text)
    message = str(error.value)
    assert repr(text) in message
    assert "500/hour" in message
    assert "\n" not in message


@given(text=st.text(max_size=20))
def test_any_text_is_a_budget_or_an_input_error(text):
    try:
        budget = parse_budget(text)
    except InputError:
        return
    assert 0 < budget.rate < math.inf


def test_less_than_a_poll_in_ten_years_is_none():
    assert parse_interval("at-most", "0.000274/day") < 10 * 366 * 86_400.0
    for text in ("0.00027/day", "0.0000000001/day", "1e-20/second"):
        with pytest.raises(InputError, match=r"at-most .* is less than one poll in ten years"):
            parse_interval("at-most", text)


def test_numbers_are_no_budgets():
    with pytest.raises(InputError, match="budget 500: expected a number above 0, '/' and one of"):
        parse_budget(500)


def test_the_polls_of_one_second_may_come_at_once():
    assert parse_budget("10/second").budget(pages=1) == Budget(10.0, burst=10.0)
    assert parse_budget("6/minute/page").budget(pages=5) == Budget(0.5, burst=1.0)


def test_shares_are_read_with_their_tags():
    assert parse_shares([" shop = 30 %", "a=b=.5%", "all=69.5%"]) == {
        "shop": 0.3,
        "a=b": 0.005,
        "all": 0.695,
    }


@pytest.mark.parametrize(
    "texts",
    [["shop"], ["=30%"], ["shop=30"], ["shop=0%"], ["shop=101%"], ["shop=-5%"], ["shop=nan%"],
     ["shop=1e1%"], ["shop=\u0663%"], ["shop=10%", "shop=20%"], ["a=60%", "b=41%"],
     [f"t{n}=1%" for n in range(33)]],
)  # fmt: skip
def test_other_shares_are_refused(texts):
    with pytest.raises(InputError, match=r"^--share"):
        parse_shares(texts)
