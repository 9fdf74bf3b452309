"""Pages have the same numbers, whether few come or many."""

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pollwise.policies.index import policy
from pollwise.policies.index.policy import _numbered

NAMES = [None, "a", "b", "c", "a"]


@given(st.lists(st.integers(0, 4), max_size=9))
def test_new_keys_get_the_next_numbers(own: list[int]) -> None:
    found = []
    for few in (0, 100):
        known = {"x": 0, "b": 1}
        with mock.patch.object(policy, "_FEW", few):
            numbers = _numbered(known, np.array(own, np.int32), NAMES.__getitem__)
        assert numbers.dtype == np.int64
        assert numbers.tolist() == [known.get(NAMES[one], -1) for one in own]
        found.append(known)
    assert list(found[0].items()) == list(found[1].items())
