"""The values are frozen, slotted, and mean what the event log has recorded them to mean."""

import dataclasses
import math
import pickle
from decimal import Decimal

import numpy as np
import pytest

from pollwise import types
from pollwise.types import (
    Budget,
    Item,
    Links,
    Mask,
    Noise,
    NumberTold,
    Observation,
    Outcome,
    Page,
    PageMemory,
    Selection,
    Version,
    discovered_page,
    plain_observation,
    seen_page,
)

VALUES = [
    Page(3),
    Item(0.5, 4.0),
    Observation(3, 5.0, Outcome.CHANGED),
    Links(np.array([1, 2]), ("next", "up")),
    Selection(np.array([1, 2])),
    Budget(0.5),
    PageMemory(),
    Mask(("", "Now"), ("Home", ""), "ab", least=1, most=1, room=20, sample="12:03"),
    Noise(),
    NumberTold(Decimal(20), None),
    Version(3, 5.0, "text/html", b"<p>", "ab"),
]


def test_every_public_value_is_here():
    public = (getattr(types, name) for name in types.__all__)
    assert {type(value) for value in VALUES} == set(filter(dataclasses.is_dataclass, public))


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_cannot_be_changed(value):
    first = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, first, None)
    assert not hasattr(value, "__dict__")


def test_outcomes_keep_the_numbers_that_logs_are_written_with():
    assert {outcome.name: outcome.value for outcome in Outcome} == {
        "UNCHANGED": 0,
        "CHANGED": 1,
        "GONE": 2,
        "FAILED": 3,
        "POSTPONED": 4,
    }


def test_what_is_not_said():
    assert Page(3) == Page(3, url="", scope="", weight=1.0, cost=1.0, seen_at=None)
    assert Observation(3, 5.0, Outcome.FAILED) == Observation(
        3, 5.0, Outcome.FAILED, last_changed_at=None, n_items=None, cost=1.0
    )
    assert Selection(np.array([], np.int64)).wake_at == math.inf
    assert Budget(0.5).burst == 1.0
    assert PageMemory() == PageMemory(None, None, None, None)


def test_equal_values_are_one_key():
    assert len({Page(3), Page(3), Page(4)}) == 2


def test_a_page_that_was_seen_differs_in_nothing_else():
    told = {one.name: f"its {one.name}" for one in dataclasses.fields(Page)}
    page = Page(**told)
    seen = dataclasses.replace(page, seen_at=5.0, changes_in_a_row=3)
    assert seen_page(page, 5.0, 3) == seen


def test_what_is_made_quickly_is_like_any_other():
    made = plain_observation(7, 5.0, Outcome.UNCHANGED, 4.0, 0.5)
    usual = Observation(7, 5.0, Outcome.UNCHANGED, last_changed_at=4.0, cost=0.5)
    pairs = (
        (made, usual),
        (seen_page(Page(3), 5.0, 0), Page(3, seen_at=5.0)),
        (discovered_page(3, "u", "s", "k"), Page(3, "u", "s", site="s", kind="k")),
    )
    for quick, like in pairs:
        assert type(quick) is type(like)
        assert (quick, hash(quick), repr(quick)) == (like, hash(like), repr(like))
        assert pickle.loads(pickle.dumps(quick)) == dataclasses.replace(quick) == like
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(quick, dataclasses.fields(quick)[0].name, 1)
