import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.relevance.packing import pack_terms, unpack_terms


@given(st.dictionaries(st.integers(0, 2**32 - 1), st.integers(0, 300)), st.sampled_from(["", "de"]))
def test_there_and_back(counts, spoken):
    hashes = np.array(list(counts), np.uint32)
    packed = pack_terms(hashes, np.array(list(counts.values()), np.float64), spoken)
    hashes, again_counts, language = unpack_terms(packed)
    again = dict(zip(hashes.tolist(), again_counts.tolist(), strict=True))
    assert language == spoken
    assert again == {term: min(n, 255) for term, n in counts.items() if n}
    assert len(packed) == 5 * len(again) + len(spoken)


@pytest.mark.parametrize("packed", [b"1234567", b"123456", b"12345de4"])
def test_damaged_bytes(packed):
    with pytest.raises(InputError, match=f"{len(packed)} bytes are not five for each term"):
        unpack_terms(packed)
