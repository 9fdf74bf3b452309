"""Numbers as people see them."""

import pytest

from pollwise.experiments.experiment import Measurements, Row
from pollwise.experiments.printed import Printed
from pollwise.experiments.wording import number, table

PRINTED = Printed("571.80", 571.8, 0.01, "table 1", "LAKG", "t=1000", line=1)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((571.8123, 0.4132), "571.81 ± 0.41"),
        ((571.8123, 0.4132, PRINTED), "571.81 ± 0.41 [571.80]"),
        ((500.0, 12.3), "500 ± 12"),
        ((0.97699,), "0.97699"),
        ((0.9730, 0.00021), "0.97300 ± 0.00021"),
        ((1000,), "1,000"),
        ((1000.0, 0.0), "1,000"),
        ((2.2e-12,), "2.2e-12"),
        ((None,), "-"),
        ((float("nan"), 0.1, PRINTED), "- [571.80]"),
        ((float("inf"),), "-"),
    ],
)
def test_numbers_have_the_digits_that_make_sense(numbers, text):
    assert number(Row("lakg", "t=1000", *numbers)) == text


def test_no_number_is_no_text():
    assert number(None) == ""


def test_a_table_has_the_rows_of_its_columns():
    measured = Measurements([Row("a", "x", 1.0), Row("b", "y", 2.0), Row("a", "y", 3.0)])
    assert table(measured, ["x"]) == [("", "x"), ("a", "1")]
    assert table(measured, ["x", "y"]) == [("", "x", "y"), ("a", "1", "3"), ("b", "", "2")]
