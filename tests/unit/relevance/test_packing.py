import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.relevance.packing import pack_terms, unpack_terms


@given(st.dictionaries(st.integers(0, 2**32 - 1), st.integers(0, 300)))
def test_there_and_back(counts):
    hashes = np.array(list(counts), np.uint32)
    packed = pack_terms(hashes, np.array(list(counts.values()), np.float64))
    again = dict(zip(*(part.tolist() for part in unpack_terms(packed)), strict=True))
    assert again == {term: min(n, 255) for term, n in counts.items() if n}
    assert len(packed) == 5 * len(again)


def test_damaged_bytes():
    with pytest.raises(InputError, match="7 bytes are not five for each term"):
        unpack_terms(b"1234567")
