"""Frozen answers become what JSON knows."""

import json
import math
from dataclasses import dataclass, field

import pytest

from pollwise.insight.documents import ONLY_IF_ASKED, document
from pollwise.types import Outcome


@dataclass(frozen=True)
class Inner:
    outcome: Outcome | None
    rate: float


@dataclass(frozen=True)
class Answer:
    inner: tuple[Inner, ...]
    between: tuple[float, float]
    missing: Inner | None = None
    wanted: Inner | None = field(default=None, metadata=ONLY_IF_ASKED)


def test_a_dataclass_is_its_fields_in_their_order():
    answer = Answer((Inner(Outcome.GONE, 0.5), Inner(None, math.nan)), (-math.inf, 2.0))
    told = document(answer)
    assert told == {
        "inner": [{"outcome": "gone", "rate": 0.5}, {"outcome": None, "rate": None}],
        "between": [None, 2.0],
        "missing": None,
    }
    assert list(told) == ["inner", "between", "missing"]


def test_what_was_asked_for_is_there():
    told = document(Answer((), (0.0, 1.0), wanted=Inner(None, 1.0)))
    assert told["wanted"] == {"outcome": None, "rate": 1.0}


@pytest.mark.parametrize("value", [None, True, 3, 0.1, "text", [], {}, [1, {"a": [2.5]}]])
def test_what_json_knows_stays_as_it_is(value):
    assert document(value) == value
    assert json.loads(json.dumps(document(value))) == value
