"""Pages have the same numbers, whether few come or many."""

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pollwise.numbering import Numbering
from pollwise.policies.index import policy
from pollwise.policies.index.policy import _numbered

NAMES = [None, "a", "b", "c", "a"]


@given(st.lists(st.integers(0, 4), max_size=9))
def test_new_keys_get_the_next_numbers(own: list[int]) -> None:
    found = []
    for few in (0, 100):
        known = Numbering[str]()
        for key in ("x", "b"):
            known.take_up(key)
        with mock.patch.object(policy, "_FEW", few):
            numbers = _numbered(known, np.array(own, np.int32), NAMES.__getitem__)
        assert numbers.dtype == np.int64
        expected = {None: -1, **{key: number for number, key in enumerate(known.keys)}}
        assert numbers.tolist() == [expected[NAMES[one]] for one in own]
        found.append(known.keys)
    assert found[0] == found[1]
