"""What people see of the numbers of an experiment."""

import pytest

from pollwise.console.experiments import _number
from pollwise.experiments.experiment import Row


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((571.8123, 0.4132), "571.81 ± 0.41"),
        ((571.8123, 0.4132, 571.8), "571.81 ± 0.41 [571.8]"),
        ((500.0, 12.3), "500 ± 12"),
        ((0.97699,), "0.97699"),
        ((0.9730, 0.00021), "0.97300 ± 0.00021"),
        ((1000,), "1,000"),
        ((1000.0, 0.0), "1,000"),
        ((2.2e-12,), "2.2e-12"),
        ((None,), "-"),
        ((float("nan"), 0.1, 240.0), "- [240]"),
        ((float("inf"),), "-"),
    ],
)
def test_numbers_have_the_digits_that_make_sense(numbers, text):
    assert _number(Row("lakg", "t=1000", *numbers)) == text


def test_no_number_is_no_text():
    assert _number(None) == ""
