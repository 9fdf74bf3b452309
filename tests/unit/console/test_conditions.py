"""How people see the conditions of notices."""

import math

import pytest

from pollwise.console.conditions import condition_rows, standing_told
from pollwise.sources.conditions import Standing


@pytest.mark.parametrize(
    ("standing", "told"),
    [
        (Standing("below 20", "25", 25.0, False), "does not hold now, as it reads 25"),
        (Standing("below 20", "1.299", 1299.0, False), "as it reads 1.299, that is 1299"),
        (Standing("above 20", "1e999", math.inf, True), "holds now, as it reads 1e999"),
        (Standing("below 20", None, None, None), "cannot hold, as there is no number in what"),
        (Standing("lacks x", None, None, True, 0), "holds now"),
        (Standing("changed x", None, None, None, 0), "the words are in 0 blocks now"),
        (Standing("changed x", None, None, None, 1), "the words are in 1 block now"),
        (Standing("has x", None, None, None, items=3), "3 items of those there now would be told"),
        (
            Standing("falls by 5 %", "1.299", 1299.0, True, measured_from=1500.5),
            "holds now, as it reads 1.299, that is 1299; measured from 1500.5",
        ),
        (Standing("rises by 5", "5", 5.0, False, measured_from=math.inf), "not hold now, as it"),
    ],
)
def test_it_is_told_how_a_condition_stands(standing, told):
    assert told in standing_told(standing)
    assert "Infinity" not in standing_told(standing)


def test_each_condition_has_a_row():
    rows = condition_rows([Standing("has x", None, None, True, 1)] * 2)
    assert rows == [("notify when", "has x: holds now")] * 2


@pytest.mark.parametrize(
    ("holds", "told"),
    [
        (True, "holds now"),
        (False, "does not hold now"),
        (None, "cannot be said to hold now"),
    ],
)
def test_each_of_several_that_must_hold_has_a_line(holds, told):
    parts = (Standing("has x", None, None, True, 1), Standing("changed y", None, None, None, 2))
    both = Standing("has x and changed y", None, None, holds, parts=parts)
    assert condition_rows([both]) == [
        (
            "notify when",
            f"has x and changed y: {told}\n  has x: holds now\n"
            "  changed y: the words are in 2 blocks now",
        )
    ]
