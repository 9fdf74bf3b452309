"""Elements are escaped whatever is in them, and axes have round numbers."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.dashboard.charts.drawing import (
    Scale,
    drawing,
    element,
    path,
    round_steps,
    time_steps,
)

TEXTS = st.text(
    st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"]).filter(
        lambda one: one not in "\ufffe\uffff"
    )
)


@given(TEXTS, TEXTS)
def test_what_is_told_comes_back_as_it_was_and_is_no_markup(title, text):
    drawn = drawing(title, text, [element("text", text, class_=title)], width=10, height=10)
    root = ET.fromstring(drawn)
    assert [child.tag for child in root] == ["title", "desc", "text"]
    assert (root[0].text or "", root[1].text or "", root[2].text or "") == (title, text, text)
    assert root[2].get("class") == title
    assert root.get("aria-labelledby") == f"{root[0].get('id')} {root[1].get('id')}"


def test_two_charts_of_a_page_have_other_ids():
    one, other = (ET.fromstring(drawing("t", "d", [], width=1, height=1)) for _ in range(2))
    assert one[0].get("id") != other[0].get("id")


def test_scales():
    assert Scale(0.0, 10.0, 100.0, 0.0)(2.5) == 75.0
    assert Scale(1.0, 16.0, 0.0, 80.0, logarithmic=True)(4.0) == 40.0
    assert Scale(0.0, 10.0, 0.0, 10.0)(99.0) == 10.0
    assert Scale(3.0, 3.0, 0.0, 10.0)(3.0) == 5.0


@given(st.floats(1e-9, 1e15), st.integers(2, 6))
def test_round_steps_reach_as_far_as_the_figures_and_not_much_farther(high, steps):
    ticks = round_steps(high, steps)
    assert ticks[0] == 0.0
    assert ticks[-1] >= high * (1 - 1e-6)
    assert len(ticks) <= steps + 2
    assert ticks[-2] < high


def test_paths():
    assert path([(0.0, 0.0), (1.0, 2.5)], closed=True) == "M0 0L1 2.5Z"


@pytest.mark.parametrize("length", [90.0, 5000.0, 86_400.0, 40 * 86_400.0, 4000 * 86_400.0])
def test_time_steps_are_few_and_in_order(length):
    begin = 1_700_000_000.0
    steps = time_steps(begin, begin + length, 8)
    assert 1 <= len(steps) <= 9
    assert [at for at, _ in steps] == sorted(at for at, _ in steps)
    assert all(begin <= at <= begin + length for at, _ in steps)
    assert len({said for _, said in steps}) == len(steps)
