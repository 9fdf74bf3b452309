"""The winner of a tournament is the page of the smallest key, whatever happened before."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.kernel_cache import kernel
from pollwise.policies.structures.tournament import (
    empty_tournament,
    grown_tournament,
    least_key,
    set_key,
    winner,
)

steady = settings(derandomize=True, deadline=None, max_examples=50)

keys = st.one_of(st.floats(-5, 5), st.sampled_from([-math.inf, 0.0, 1.0, math.inf]))


@kernel
def smallest(tree):
    return least_key(tree)


@kernel
def play(tree, pages, keys):
    winners = np.empty(len(pages), np.int64)
    for n in range(len(pages)):
        set_key(tree, pages[n], keys[n])
        winners[n] = winner(tree)
    return winners


@steady
@given(
    rounds=st.lists(st.lists(st.tuples(st.integers(0, 39), keys), max_size=40), max_size=4),
)
def test_the_smallest_key_wins_and_of_equal_ones_the_smallest_id(rounds):
    tree, own = empty_tournament(1), np.full(40, math.inf)
    for room, changes in zip((5, 9, 16, 40), rounds, strict=False):
        tree = grown_tournament(tree, room)
        assert np.array_equal(tree["key"][len(tree) // 2 :][:room], own[:room])
        pages = np.array([page % room for page, _ in changes], np.int64)
        given_keys = np.array([key for _, key in changes])
        winners = play(tree, pages, given_keys)
        for page, key, won in zip(pages, given_keys, winners, strict=True):
            own[page] = key
            if own.min() < math.inf:
                assert won == own.argmin()
        assert smallest(tree) == own.min()


def test_room_doubles_at_least():
    tree = empty_tournament(1)
    for pages, room in ((1, 2), (3, 4), (4, 8), (100, 128)):
        tree = grown_tournament(tree, pages)
        assert len(tree) == 2 * room
