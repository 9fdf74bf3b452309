"""Which terms of the best pages join the topic vector."""

import numpy as np
import pytest

from pollwise.relevance.parsed_text import term_hashes
from pollwise.relevance.topic_vector import LikelyPage, feedback

HOSTS = ["a.org", "b.org", "c.org"]


def test_words_that_a_host_has_everywhere_do_not_join():
    near = [
        LikelyPage(host, {"whale": 3, "krill": 2, "layer": 5, "ask": 4}, 0.5)
        for host in HOSTS
        for _ in range(4)
    ]
    others = [term_hashes(("layer", "ask", f"word{n}")) for n in range(20)]
    background = dict.fromkeys(HOSTS, others)

    def inverse(hashes):
        return np.ones(len(hashes))

    vector = feedback({"whale": 1.0}, near, inverse, background)
    assert set(vector) == {"whale", "krill"}
    assert sum(weight**2 for weight in vector.values()) == pytest.approx(1)


def test_without_a_word_that_tells_the_own_terms_stay():
    near = [LikelyPage(host, {"whale": 1}, 0.5) for host in HOSTS]
    background = {host: [term_hashes(("ship",))] for host in HOSTS}

    def inverse(hashes):
        return np.ones(len(hashes))

    assert feedback({"whale": 1.0}, near, inverse, background) == {"whale": 1.0}


def test_pages_of_small_hosts_are_compared_with_all_others():
    near = [LikelyPage(f"small{n}.org", {"krill": 2, "layer": 2}, 0.5) for n in range(9)]
    background = {"big.org": [term_hashes(("layer", "ship"))] * 30}

    def inverse(hashes):
        return np.ones(len(hashes))

    assert set(feedback({"whale": 1.0}, near, inverse, background)) == {"whale", "krill"}


def test_a_word_common_on_one_host_only_may_join():
    near = [LikelyPage(host, {"krill": 2}, 0.5) for host in HOSTS for _ in range(4)]
    background = {"a.org": [term_hashes(("krill",))] * 5}
    background |= {host: [term_hashes(("ship",))] * 20 for host in HOSTS[1:]}

    def inverse(hashes):
        return np.ones(len(hashes))

    assert set(feedback({"whale": 1.0}, near, inverse, background)) == {"whale", "krill"}
