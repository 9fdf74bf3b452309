"""The topic filter on judged pages, of which only one half was tuned to."""

from pathlib import Path

import numpy as np
import pytest

from pollwise.relevance.topic_filter import TopicFilter
from pollwise.testing.judged_pages import JudgedPages

DATA = JudgedPages.read(Path(__file__).parents[2] / "data" / "topics")


@pytest.fixture(scope="module", params=["few words", "a dozen words"])
def held_out(request):
    """Relevances of the held-out pages of all topics, and whether they are about them."""
    names, rows = list(DATA.pages), []
    for topic, ways in DATA.topics.items():
        relevance = TopicFilter(ways[request.param])
        for place in np.random.default_rng(0).permutation(len(names)):
            host, path = names[place]
            relevance.observe(host, DATA.pages[host, path])
        rows += [
            (relevance.score(page.host, DATA.pages[page.host, page.path]), page.is_about)
            for page in DATA.judged
            if page.topic == topic and page.is_held_out
        ]
    relevances, about = zip(*rows, strict=True)
    return np.array(relevances), np.array(about)


def test_there_are_three_topics_of_a_hundred_pages():
    for topic in DATA.topics:
        judged = [page for page in DATA.judged if page.topic == topic]
        assert len({(page.host, page.path) for page in judged}) == 100
        assert all((page.host, page.path) in DATA.pages for page in judged)
        assert 15 <= sum(page.is_about for page in judged if page.is_held_out) <= 40


def test_most_pages_about_a_topic_are_kept_and_few_others(held_out):
    relevances, about = held_out
    kept = relevances > 0
    assert kept[about].mean() > 0.65
    assert about[kept].mean() > 0.65
    likely = relevances >= 0.5
    assert likely[about].mean() > 0.6
    assert about[likely].mean() > 0.7


def test_relevance_is_a_probability(held_out):
    relevances, about = held_out
    assert np.mean(np.square(relevances - about)) < 0.17
    likely = relevances >= 0.5
    assert abs(relevances[likely].mean() - about[likely].mean()) < 0.15
