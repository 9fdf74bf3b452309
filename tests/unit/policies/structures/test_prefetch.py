"""Elements are fetched without any other effect."""

import numpy as np
import pytest

from pollwise.policies.structures.prefetch import prefetch

WIDE = np.dtype([("number", "f8"), ("more", "u1", (300,))])


@pytest.mark.parametrize("index", [0, 2, 3, 10**6, -1, -6])
@pytest.mark.parametrize("turn", [1, -1], ids=["forwards", "backwards"])
def test_nothing_changes_and_there_need_be_no_such_element(index, turn):
    array = np.zeros(3, WIDE)
    array["number"] = 1.0, 2.0, 3.0
    prefetch(array[::turn], index)
    assert array["number"].tolist() == [1.0, 2.0, 3.0]
