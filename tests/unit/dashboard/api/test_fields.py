"""What programs tell, field by field."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.dashboard.api.fields import Told, read_body_fields, read_query_fields
from pollwise.dashboard.api.refusals import RefusedError
from pollwise.dashboard.api.schema import told_schema


class Kind(StrEnum):
    one = "one"
    two = "two"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """All kinds of fields."""

    urls: Annotated[tuple[str, ...], Told("URLs", least=1, most=2, longest=5)]
    number: Annotated[int, Told("a number", least=1, most=9)] = 3
    weight: Annotated[float | None, Told("a weight", above=0)] = None
    name: Annotated[str | None, Told("a name", most=4)] = None
    kind: Annotated[Kind, Told("a kind")] = Kind.one
    render: Annotated[bool | None, Told("whether")] = None
    seqs: Annotated[tuple[int, ...], Told("numbers", most=3)] = ()


def test_what_is_told_is_there_and_the_rest_as_usual():
    told = {"urls": ["a", "b"], "weight": 2, "kind": "two", "render": False, "seqs": [1, 2]}
    assert read_body_fields(Wishes, told) == Wishes(
        urls=("a", "b"), weight=2.0, kind=Kind.two, render=False, seqs=(1, 2)
    )


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"urls": []}, "urls"),
    ({"urls": ["a", "b", "c"]}, "urls"),
    ({"urls": ["too long"]}, "urls"),
    ({"urls": "a"}, "urls"),
    ({"urls": [1]}, "urls"),
    ({"urls": ["\ud800"]}, "urls"),
    ({"urls": ["\0"]}, "urls"),
    ({"urls": None}, "urls"),
    ({}, "urls"),
    ({"urls": ["a"], "number": 0}, "number"),
    ({"urls": ["a"], "number": 10}, "number"),
    ({"urls": ["a"], "number": True}, "number"),
    ({"urls": ["a"], "number": 1.0}, "number"),
    ({"urls": ["a"], "number": "1"}, "number"),
    ({"urls": ["a"], "weight": 0}, "weight"),
    ({"urls": ["a"], "weight": float("nan")}, "weight"),
    ({"urls": ["a"], "weight": float("inf")}, "weight"),
    ({"urls": ["a"], "weight": 10**400}, "weight"),
    ({"urls": ["a"], "weight": None}, "weight"),
    ({"urls": ["a"], "name": "longer"}, "name"),
    ({"urls": ["a"], "kind": "three"}, "kind"),
    ({"urls": ["a"], "kind": ["one"]}, "kind"),
    ({"urls": ["a"], "render": 1}, "render"),
    ({"urls": ["a"], "seqs": [-1]}, "seqs"),
    ({"urls": ["a"], "seqs": [2**60]}, "seqs"),
    ({"urls": ["a"], "seqs": ["1"]}, "seqs"),
    ({"urls": ["a"], "wait": 1}, "wait"),
]


@pytest.mark.parametrize(("told", "field"), REFUSED)
def test_what_cannot_be_used_is_named(told: dict[str, Any], field: str):
    with pytest.raises(RefusedError) as refused:
        read_body_fields(Wishes, told)
    assert (refused.value.field, refused.value.status) == (field, 400)
    assert field in str(refused.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a query can tell."""

    limit: Annotated[int, Told("rows", least=1, most=100)] = 50
    freshness: Annotated[float | None, Told("fresh", above=0, most=1)] = None
    unread: Annotated[bool, Told("unread")] = False
    sort: Annotated[Kind, Told("sorted by")] = Kind.one


def test_a_query_is_texts():
    query = {"limit": "7", "freshness": "0.5", "unread": "true", "sort": "two"}
    assert read_query_fields(Asked, query) == Asked(
        limit=7, freshness=0.5, unread=True, sort=Kind.two
    )


@pytest.mark.parametrize(
    "query",
    [
        *({"limit": text} for text in ("", "0", "101", "1.0", "1e1", "٣", " 1", "9" * 5000)),
        *({"freshness": text} for text in ("nan", "inf", "1e999", "0", "-0.1", "..", "1_0")),
        *({"unread": text} for text in ("True", "1", "yes", "")),
        *({"sort": text} for text in ("One", "three", "")),
        {"offset": "1"},
    ],
)
def test_other_texts_are_refused(query: dict[str, str]):
    with pytest.raises(RefusedError) as refused:
        read_query_fields(Asked, query)
    assert refused.value.field == next(iter(query))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
NAMES = ["urls", "number", "weight", "name", "kind", "render", "seqs"]
NEARLY = st.fixed_dictionaries(
    {"urls": st.lists(st.text(max_size=6), max_size=3)},
    optional={
        "number": st.integers(-1, 11),
        "weight": st.floats() | st.integers(),
        "name": st.text(max_size=5),
        "kind": st.sampled_from(["one", "two", "three"]),
        "render": st.booleans() | st.none(),
        "seqs": st.lists(st.integers(-1, 2**60), max_size=4),
    },
)


@given(st.dictionaries(st.sampled_from(NAMES), JSON) | NEARLY | JSON)
def test_the_schema_says_what_is_read(told: Any):
    try:
        validator = jsonschema_rs.validator_for(told_schema(Wishes))
        is_valid = validator.is_valid(told)
    except ValueError:  # no JSON: not finite
        is_valid = False
    try:
        read_body_fields(Wishes, told)
    except RefusedError:
        # Zero characters and halves of characters are no matter of schemas; 1.0 is a whole number
        # for them.
        assert not is_valid or "\0" in repr(told) or ".0" in repr(told) or "\\x00" in repr(told)
    else:
        assert is_valid
