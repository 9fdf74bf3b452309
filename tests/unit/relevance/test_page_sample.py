import numpy as np
import pytest

from pollwise.relevance.page_sample import floor


def test_the_floor_lies_in_the_gap():
    rng = np.random.default_rng(1)
    for share in (0.03, 0.2, 0.5, 0.8):
        topic = rng.random(1000) < share
        cosines = np.where(topic, rng.normal(0.3, 0.03, 1000), rng.exponential(0.015, 1000))
        above = cosines > floor(cosines)
        assert above[topic].mean() > 0.98
        assert above[~topic].mean() < 0.02


def test_where_there_is_no_gap_few_pages_are_above_the_floor():
    cosines = np.random.default_rng(2).normal(0.1, 0.02, 1000)
    middle = np.median(cosines)
    assert floor(cosines) > middle
    assert (cosines > floor(cosines)).mean() < 0.3


@pytest.mark.parametrize("cosines", [[], [0.2], [0.1] * 9])
def test_a_floor_of_hardly_any_pages(cosines):
    assert 0 <= floor(np.array(cosines)) <= 0.2
