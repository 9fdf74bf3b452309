from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.relevance.boilerplate import Boilerplate, FrequentItems
from pollwise.relevance.parsed_text import parse_text, term_hashes

MENU = ["Home", "Marine biology portal", "Contact and imprint"]


def page(*blocks):
    return parse_text([*MENU, *blocks])


def counted(frames, host, text):
    counts = frames.counts(host, text)
    return {term: n for term, n in zip(text.terms, counts.tolist(), strict=True) if n}


def how_often(summary, items):
    """How often each item came, as far as it was counted."""
    return sum(summary.came_more_often(items, times).astype(int) for times in range(101)).tolist()


@settings(max_examples=40)
@given(st.lists(st.sets(st.integers(0, 60)), max_size=60))
def test_counts_are_exact_while_there_is_room_and_never_too_high(batches):
    exact = Counter(item for batch in batches for item in batch)
    items = np.arange(61, dtype=np.uint32)
    for capacity in (64, 8):
        summary = FrequentItems(capacity)
        for batch in batches:
            summary.add(np.array(sorted(batch), np.uint32))
        counts = how_often(summary, items)
        if capacity == 64:
            assert counts == [exact[item] for item in range(61)]
        assert all(count <= exact[item] for item, count in enumerate(counts))
        assert len(summary) <= capacity + capacity // 4


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_frequent_items_survive_a_flood_of_rare_ones(seed):
    generator = np.random.default_rng(seed)
    summary, frequent = FrequentItems(100), np.arange(10, dtype=np.uint32)
    for _ in range(100):
        rare = np.unique(generator.integers(10, 2**32, 60, np.uint32))
        summary.add(np.concatenate([frequent, rare]))
    assert how_often(summary, frequent) == [100] * 10


def test_the_menu_goes_and_the_content_stays():
    frames = Boilerplate()
    for number in range(6):
        frames.observe("site", page(f"Whales {'abcdef'[number] * 3} swim"))
    assert counted(frames, "site", page("Biology of whales")) == {"biolog": 1.0, "whale": 1.0}
    assert "portal" in counted(frames, "other", page("Biology of whales"))


def test_a_small_host_about_the_topic_keeps_its_words():
    frames = Boilerplate()
    whale = term_hashes(["whale"])
    for number in range(5):
        frames.observe("site", page(f"Whales {'abcde'[number] * 3} swim"))
    assert not frames.common("site", whale).any()
    for number in range(40):
        frames.observe("site", page(f"Whales {'xyz'[number % 3] * (number + 3)} swim"))
    assert frames.common("site", whale).all()


def test_the_state_goes_there_and_back():
    frames, again = Boilerplate(), Boilerplate()
    for number in range(9):
        frames.observe(f"site{number % 2}", page(f"Whales {'abcdefghi'[number] * 3}"))
    again.load_state_dict(frames.state_dict())
    text = page("Whales dive")
    for host in ("site0", "site1", "site2"):
        assert counted(again, host, text) == counted(frames, host, text)
    again.load_state_dict(Boilerplate().state_dict())
    assert "portal" in counted(again, "site0", text)


def test_hosts_seen_long_ago_give_way(monkeypatch):
    monkeypatch.setattr("pollwise.relevance.boilerplate._MAX_HOSTS", 3)
    frames = Boilerplate()
    for host in ("a", "a", "a", "a", "b", "c", "a", "d"):
        frames.observe(host, page("Whales"))
    assert frames.state_dict()["host_names"].tobytes().decode().split("\n") == ["c", "a", "d"]


def test_states_of_earlier_versions_had_wider_numbers():
    """Those of 0.6.0 and before have the rows of hosts by 64 bits."""
    frames, page = Boilerplate(), parse_text(["whales sing", "ships sail"])
    for _ in range(5):
        frames.observe("h", page)
    state = frames.state_dict()
    earlier = Boilerplate()
    earlier.load_state_dict({**state, "host_items": state["host_items"].astype(np.int64)})
    assert earlier.counts("h", page).tolist() == frames.counts("h", page).tolist() == [0.0] * 4
    again = earlier.state_dict()
    assert all(np.array_equal(again[name], state[name]) for name in state)
