"""Results of several engines: merged by score and nearness, each URL once."""

import json
import math
from dataclasses import asdict, replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pollwise.search.results import Answer, Result, merge, read_results

SHARES = st.floats(0, 1)
COUNTS = st.integers(0, 2**53)
PAGE = Result("http://a.example/", "A", "a whale", ((2, 7),), 0.5, 0.75, "http://x.example")


def answer(engine: int, matches: int, documents: int, scores: dict[int, float]) -> Answer:
    address = f"http://engine{engine}.example"
    found = [
        replace(PAGE, url=f"http://a.example/{page}", score=score, engine=address)
        for page, score in sorted(scores.items(), key=lambda item: -item[1])
    ]
    return Answer(address, 0.5, documents, matches, found)


ANSWERS = st.lists(
    st.tuples(COUNTS, COUNTS, st.dictionaries(st.integers(0, 9), SHARES, max_size=6)), max_size=4
).map(lambda told: [answer(number, *one) for number, one in enumerate(told)])


@given(ANSWERS)
def test_every_url_once_and_best_first(answers: list[Answer]) -> None:
    merged = merge(answers)
    urls = [result.url for result in merged]
    assert len(urls) == len(set(urls))
    assert set(urls) == {result.url for one in answers for result in one.results}
    scores = [result.score for result in merged]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@given(ANSWERS)
def test_the_results_of_one_engine_keep_their_order(answers: list[Answer]) -> None:
    merged = merge(answers)
    for one in answers:
        order = [result.url for result in merged if result.engine == one.engine]
        places = {result.url: place for place, result in enumerate(one.results)}
        assert [places[url] for url in order] == sorted(places[url] for url in order)


@given(COUNTS, st.dictionaries(st.integers(0, 9), SHARES, max_size=6))
def test_one_engine_alone_keeps_its_scores(matches: int, scores: dict[int, float]) -> None:
    one = answer(0, matches, matches, scores)
    merged = merge([one, answer(1, 0, 9, {})])
    assert [result.url for result in merged] == [result.url for result in one.results]
    assert [result.score for result in merged] == pytest.approx([r.score for r in one.results])


def test_of_equal_fits_that_of_the_engine_with_more_matches_comes_first() -> None:
    few, many = answer(0, 50, 1000, {0: 0.9, 1: 0.45}), answer(1, 800, 1000, {2: 0.9, 1: 0.4})
    merged = merge([few, many])
    assert [result.url[-1] for result in merged] == ["2", "0", "1"]
    # Beliefs of 50 / 250 and 800 / 1000.
    assert [result.score for result in merged] == pytest.approx([0.9, 0.9 * 1.1 / 1.4, 0.4])
    assert merged[2].engine == many.engine


def test_the_same_number_of_matches_says_less_of_a_large_engine() -> None:
    small, large = answer(0, 10, 100, {0: 0.5}), answer(1, 10, 10_000, {1: 0.5})
    assert [result.url[-1] for result in merge([large, small])] == ["0", "1"]


def test_what_an_engine_sends_is_what_another_reads() -> None:
    pages = [PAGE, replace(PAGE, url="https://b.example/")]
    document = {"results": [asdict(page) for page in pages], "matches": 7}
    sent = json.loads(json.dumps(document))
    read, matches = read_results(sent, "http://y.example", 10)
    assert read == [replace(page, engine="http://y.example") for page in pages]
    assert matches == 7
    assert len(read_results(sent, "http://y.example", 1)[0]) == 1


FIELDS = {**asdict(PAGE), "marks": [[2, 7]]}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.sampled_from([*FIELDS, ""]), VALUES)
@example("url", "javascript:alert(1)")
@example("url", "http://a.example/\nb")
@example("url", "http://a.example/\ud800")
@example("url", "http://" + "a" * 4000)
@example("score", math.nan)
@example("score", 1e9)
@example("marks", [[5, 2], [0, 10**30], [-3, 2]])
@example("marks", [[0.5, 2]])
@example("snippet", "\ud800")
@example("title", "x" * 10**5)
def test_nonsense_is_a_value_error(field: str, value: object) -> None:
    entry = {**FIELDS, field: value} if field else value
    try:
        [read], _ = read_results({"results": [entry], "matches": 1}, "http://y.example", 10)
    except ValueError:
        return
    sent = json.dumps(asdict(read), ensure_ascii=False, allow_nan=False).encode()
    assert len(sent) < 20_000
    assert all(0 <= start < end <= len(read.snippet) for start, end in read.marks)


@pytest.mark.parametrize("document", [None, [], {}, {"results": None}, {"results": {}}, 3])
def test_a_document_without_results(document: object) -> None:
    with pytest.raises(ValueError, match="no results of a search"):
        read_results(document, "http://y.example", 10)


@pytest.mark.parametrize("matches", [None, -1, 0.5, True, "1", 10**400])
def test_results_without_the_number_of_matches(matches: object) -> None:
    with pytest.raises(ValueError, match="without the number of matches"):
        read_results({"results": [], "matches": matches}, "http://y.example", 10)
