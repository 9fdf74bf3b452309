"""The first number of a text."""

import json
from decimal import Decimal

import pytest
from babel.numbers import format_currency, format_decimal, format_percent
from hypothesis import example, given
from hypothesis import strategies as st

from pollwise.sources.numbers import first_number, number_in
from pollwise.sources.reading import read, read_plainly
from pollwise.sources.view import Parts

LOCALES = ("en_US", "en_IN", "de_DE", "de_CH", "de_AT", "fr_FR", "es_ES", "it_CH", "pl_PL", "nb_NO")
LOCALES += ("cs_CZ", "pt_BR", "ru_RU", "sv_SE", "ja_JP", "tr_TR", "ar_EG", "fa_IR", "hi_IN")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.299,00 €", "1299"),
        ("£1,299.00", "1299"),
        ("1 299 Kč", "1299"),
        ("1\u202f299,50 €", "1299.5"),
        ("CHF 1'299.–", "1299"),
        ("1.299", "1299"),
        ("1,299", "1299"),
        ("0.125", "0.125"),
        ("0,999 €/l", "0.999"),
        ("1299.999", "1299.999"),
        ("1.299.000", "1299000"),
        ("₹12,34,567.80", "1234567.8"),
        ("20,– €", "20"),
        ("$.75", "0.75"),
        ("Only $5.", "5"),
        ("-5 %", "-5"),
        ("\u22120,5", "-0.5"),
        ("-€5.00", "-5"),
        ("-US$ 5", "-5"),
        ("Price - 5", "5"),
        ("EUR-5", "5"),
        ("€-5.00", "-5"),
        ("10-20", "10"),
        ("SKU-123", "123"),
        ("USD20", "20"),
        ("Version 2.5.1", "2.5"),
        ("3 of 5", "3"),
        ("1,299,00", "1299"),
        ("\uff11\uff12", "12"),
        ("\uff11\uff0c\uff12\uff19\uff19", "1299"),
        ("\u0661\u066b\u0662\u0669\u0669", "1.299"),
        ("\u0660,\u0661\u0662\u0665", "0.125"),
    ],
)
def test_the_first_number_is_read_as_people_mean_it(text, number):
    assert number_in(text).number == Decimal(number)


def test_text_without_a_digit_has_no_number():
    assert number_in("sold out, ½ price. -") is None


@pytest.mark.parametrize("locale", LOCALES)
@given(number=st.decimals(-10_000_000, 10_000_000, places=2, allow_nan=False))
@example(number=Decimal("1299.00"))
@example(number=Decimal("-0.01"))
def test_prices_as_locales_write_them_are_read_back(locale, number):
    written = format_decimal(number, "#,##0.00", locale)
    # Marks of direction, which browsers do not show, and signs of other scripts.
    assert number_in(_plain(written)).number == number
    priced = _plain(format_currency(number, "EUR", locale=locale))
    if not priced.startswith("EUR-"):
        assert number_in(priced).number == number


@pytest.mark.parametrize("locale", LOCALES)
@given(number=st.integers(-10_000_000, 10_000_000))
def test_whole_numbers_and_percents_as_locales_write_them_are_read_back(locale, number):
    assert number_in(_plain(format_decimal(number, locale=locale))).number == number
    percent = _plain(format_percent(Decimal(number) / 100, locale=locale))
    assert number_in(percent).number == number or percent.startswith("%")


def _plain(text):
    return "".join(sign for sign in text if sign not in "\u200e\u200f\u061c")


@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    found = number_in(text)
    assert (found is None) == (not any(sign.isdecimal() for sign in text))
    assert found is None or found.text in text


def json_view(value, *select):
    return read(json.dumps(value).encode(), "application/json", Parts(select=select))


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
@example(1.299)
@example(1e300)
def test_numbers_of_json_are_read_as_json_means_them(number):
    for view in (json_view({"year 2024": number}), json_view({"price": number}, "json:$.price")):
        assert first_number(view).number == Decimal(json.dumps(number))


@pytest.mark.parametrize("text", ["1.299,00 €", "12,50", "£1,299", 'a "quoted" 12,50'])
def test_texts_in_json_are_read_as_any_other(text):
    assert first_number(json_view({"price": text}, "json:$.price")) == number_in(text)
    assert first_number(json_view({"2 names": ["none", {"x": text}]})) == number_in(text)


def test_json_without_a_number_has_none():
    assert first_number(json_view({"price 1": "sold out"})) is None


def test_the_first_block_that_has_a_number_counts():
    view = read(b"<p>Kettle<p>now 19,99<p>was 30", "text/html")
    assert first_number(view).text == "19,99"


@pytest.mark.parametrize("part", [b'\\"', b'"', b"1,", b"-", b"-$ ", b"1.", b" 1", b"111,", b"11,"])
def test_texts_made_to_hurt_are_read_in_linear_time(part):
    body = b'{"' + part * 100_000
    for content_type in ("application/json", "text/plain"):
        first_number(read_plainly(body, content_type))
