import numpy as np
import pytest

from pollwise.relevance.page_sample import PageSample, floor
from pollwise.relevance.parsed_text import parse_text


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


def offer(sample, text, host="a.example"):
    page = parse_text([text])
    sample.offer(host, page, page.term_counts())


def test_pages_without_a_word_take_no_place_of_others():
    sample = PageSample()
    offer(sample, "whales")
    for _ in range(5000):
        offer(sample, "")
    assert [host for host, _ in sample.pages()] == ["a.example"]
    assert len(sample.pages()[0][1]) == 5


def test_those_that_were_sampled_once_are_left_out():
    sample, later = PageSample(), PageSample()
    offer(sample, "whales")
    sample._heap.append((0, "b.example", b""))
    later.load_state_dict(sample.state_dict())
    assert [host for host, _ in later.pages()] == ["a.example"]
