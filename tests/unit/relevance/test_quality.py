import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.relevance.quality import Performance, freshness, quality, recall

values = st.floats(0.0, 1.0)
events = st.lists(st.tuples(values, st.booleans(), st.booleans()), min_size=1, max_size=20)


def test_freshness_counts_pages_or_weighs_them():
    fresh, held = [True, True, False, True], [True, True, True, False]
    assert freshness(fresh, held) == pytest.approx(2 / 3)
    assert freshness(fresh, held, [0.1, 0.1, 0.8, 1.0]) == pytest.approx(0.2)


def test_an_empty_collection_has_recall_zero_and_an_empty_topic_recall_one():
    assert recall([0.5, 0.5], [False, False]) == 0.0
    assert recall([], []) == 1.0
    assert freshness([], []) == 1.0
    assert Performance(existing=3.0).quality == 0.0


@settings(max_examples=40)
@given(events)
def test_the_accumulator_agrees_with_the_pure_functions(pages):
    relevance = [r for r, _, _ in pages]
    held = [h for _, h, _ in pages]
    fresh = [f for _, _, f in pages]
    score = Performance(existing=sum(relevance))
    for r, is_held, is_fresh in pages:
        if is_held:
            score.add(0.0, held=r, fresh=r if is_fresh else 0.0)
    if sum(relevance) > 1e-6:
        assert score.recall == pytest.approx(recall(relevance, held))
    if sum(r for r, h, _ in pages if h) > 1e-6:
        assert score.freshness == pytest.approx(freshness(fresh, held, relevance))
    assert score.quality == quality(score.recall, score.freshness)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0.0, 10.0), values), max_size=20))
def test_performance_is_the_integral_of_quality(steps):
    score, now, expected = Performance(existing=20.0), 0.0, 0.0
    for wait, r in steps:
        expected += wait * score.quality
        now += wait
        score.add(now, held=r, fresh=r)
    assert score.performance(now) == pytest.approx(expected)
    assert 0.0 <= score.mean_quality(now) <= 1.0


def test_the_fringe_stands_in_for_what_is_not_known():
    score = Performance(existing=0.0)
    score.add(1.0, held=1.0, fresh=1.0)
    score.set_existing(2.0, fringe=3.0)
    assert score.recall == 0.25


def test_time_must_not_run_backwards():
    score = Performance(existing=1.0, start=5.0)
    with pytest.raises(InputError, match=r"now=4\.0 must not be before 5\.0"):
        score.add(4.0, held=1.0)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_existing_relevance_must_be_a_number(value):
    with pytest.raises(InputError, match="existing="):
        Performance(existing=value)
