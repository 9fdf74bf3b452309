"""Descriptions of engines: nearness is a cosine, and nothing that a peer says does harm."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pollwise.search.description import Description, read_description

WEIGHTS = st.dictionaries(st.text(min_size=1, max_size=5), st.floats(0.01, 1), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def unit(weights: dict[str, float]) -> dict[str, float]:
    length = math.hypot(*weights.values())
    return {term: weight / length for term, weight in weights.items()}


@given(WEIGHTS, st.lists(st.text(min_size=1, max_size=5), max_size=5))
def test_nearness_is_the_cosine(weights: dict[str, float], terms: list[str]) -> None:
    vector = unit(weights)
    nearness = Description("x", (), vector, 0).nearness(terms)
    assert 0 <= nearness <= 1
    assert (nearness > 0) == bool(vector.keys() & set(terms))
    if vector:
        equal = Description("x", (), unit(dict.fromkeys(vector, 1.0)), 0)
        assert equal.nearness(list(vector)) == pytest.approx(1)


@given(WEIGHTS)
def test_a_description_is_read_as_it_was_written(weights: dict[str, float]) -> None:
    told = Description("sea", ("whale",), unit(weights), 12)
    heard = read_description(json.loads(json.dumps(told.document())))
    assert (heard.name, heard.topic, heard.documents) == ("sea", ("whale",), 12)
    assert dict(heard.topic_vector) == pytest.approx(dict(told.topic_vector), abs=1e-5)


FIELDS = {"name": "x", "topic": ["y"], "topic_vector": {"z": 0.5, "none": 0}, "documents": 1}


def test_a_vector_gains_nothing_by_large_weights() -> None:
    heard = read_description({**FIELDS, "topic_vector": {"a": 1, "b": 1, "c": 1}})
    assert heard.nearness(["a"]) == pytest.approx(1 / math.sqrt(3))


def test_texts_of_peers_can_be_sent_on() -> None:
    heard = read_description({**FIELDS, "name": "\ud800" + "x" * 1000})
    assert heard.name == "?" + "x" * 199
    assert json.dumps(heard.document(), ensure_ascii=False).encode()


@given(st.sampled_from([*FIELDS, ""]), JSON)
@example("topic_vector", {"z": math.nan})
@example("topic_vector", {"z": -1})
@example("topic_vector", {str(number): 1 for number in range(1001)})
@example("topic", ["x"] * 1001)
@example("documents", True)
@example("documents", 10**400)
def test_nonsense_is_a_value_error(field: str, value: object) -> None:
    document = {**FIELDS, field: value} if field else value
    try:
        heard = read_description(document)
    except ValueError:
        return
    json.dumps(heard.document(), ensure_ascii=False, allow_nan=False).encode()
    assert len(heard.topic_vector) <= 1000
