"""Queries of strangers and answers of peers: refused in one line, or sound."""

import json
import math
import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.search.description import Description, read_description
from pollwise.search.results import Answer, merge, read_results
from pollwise.store.sqlite.search import TOKENIZER, expression_of

queries = st.text() | st.lists(
    st.sampled_from(
        [
            "whale",
            "OR",
            "AND",
            "NOT",
            "NEAR(",
            '"',
            '""',
            "-",
            '-"',
            "*",
            ":",
            "^",
            "(",
            ")",
            "{",
            "+",
        ]
    )
    | st.text(max_size=3),
    max_size=70,
).map(" ".join)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def index() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE hits USING fts5 (text, tokenize = '{TOKENIZER}')")
    connection.execute("INSERT INTO hits VALUES ('a blue whale')")
    yield connection
    connection.close()


@given(queries)
@example("\0")
@example('"\ud800"')
@example("\u0301")
@example("a\0b")
def test_a_query_is_an_expression_or_refused(index: sqlite3.Connection, query: str) -> None:
    try:
        wanted, unwanted = expression_of(query)
    except InputError as error:
        line = str(error)
    else:
        line = ""
        whole = f"({wanted}) NOT ({unwanted})" if unwanted else wanted
        index.execute("SELECT rowid FROM hits WHERE hits MATCH ?", (whole,)).fetchall()
    assert "\n" not in line


@given(documents)
def test_what_peers_tell_is_read_or_refused(document: object) -> None:
    for read in (read_description, lambda told: read_results(told, "http://a.example", 10)):
        try:
            found = read(document)
        except ValueError:
            continue
        assert found is not None


def told(**parts: object) -> dict[str, object]:
    return {"name": "x", "topic": [], "topic_vector": {"a": 1.0}, "documents": 1, **parts}


@given(
    st.dictionaries(st.text(), st.floats(0, 1) | st.integers(0, 1) | documents, max_size=5),
    st.lists(st.text()),
    st.text(),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
@example({"a": 5e-324}, [], "")
@example({"a": 1e-200, "b": 1e-200}, [], "")
@example({"a": 0}, [], "")
def test_topic_vectors_of_peers_have_length_1(
    vector: dict[str, object], topic: list[str], name: str
) -> None:
    try:
        description = read_description(told(topic_vector=vector, topic=topic, name=name))
    except ValueError:
        return
    assert isinstance(description, Description)
    assert all(0 <= weight <= 1 for weight in description.topic_vector.values())
    assert math.hypot(*description.topic_vector.values()) == pytest.approx(1.0) or not (
        description.topic_vector
    )
    assert 0 <= description.nearness(["a", "b"]) <= 1
    json.dumps(description.document(), allow_nan=False).encode()


entries = st.fixed_dictionaries(
    {
        "url": st.text().map(lambda text: f"http://{text}") | st.text(),
        "title": st.text(),
        "snippet": st.text(),
        "marks": st.lists(st.tuples(st.integers(-1, 9), st.integers(-1, 9)).map(list)),
        "relevance": st.floats(0, 1) | documents,
        "score": st.floats(0, 1) | documents,
    }
)


@given(st.lists(entries, max_size=5), st.integers() | documents)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_results_of_peers_can_be_merged_and_sent_on(found: list[object], matches: object) -> None:
    try:
        results, number = read_results({"results": found, "matches": matches}, "http://a", 10)
    except ValueError:
        return
    merged = merge([Answer("http://a", 0.5, 9, number, results)])
    for result in merged:
        assert 0 <= result.score <= 1
        assert all(0 <= start < end <= len(result.snippet) for start, end in result.marks)
        f"{result.url}{result.title}{result.snippet}".encode()
