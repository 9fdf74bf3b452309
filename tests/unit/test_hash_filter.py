"""What may be among millions of hashes."""

import math

import numpy as np

from pollwise.hash_filter import HashFilter


def test_it_finds_all_and_hardly_more_by_the_share_that_bloom_gives():
    rng = np.random.default_rng(1)
    some = HashFilter(20_000)
    there, others = (rng.integers(-(2**63), 2**63 - 1, 20_000) for _ in range(2))
    some.add(there)
    assert all(map(some.may_have, there.tolist()))
    found = sum(map(some.may_have, others.tolist())) / len(others)
    expected = (1 - math.exp(-4 / 16)) ** 4
    assert abs(found - expected) < 4 * math.sqrt(expected / len(others))
    assert not some.is_full
    some.add([1])
    assert some.is_full


def test_small_numbers_are_told_apart():
    some = HashFilter()
    some.add(range(0, 1000, 2))
    assert sum(map(some.may_have, range(1, 1000, 2))) < 10
