"""Bodies come back as they were, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.store.tables.bodies import pack_body, unpack_body


@given(st.binary() | st.builds(bytes.__mul__, st.binary(max_size=3), st.integers(0, 5000)))
def test_a_body_comes_back_and_is_never_stored_larger(body: bytes) -> None:
    codec, data = pack_body(body)
    assert unpack_body(codec, len(body), data) == body
    assert len(data) <= len(body)


def test_only_what_gets_smaller_is_compressed() -> None:
    assert pack_body(b"a" * 1000)[0] == "zlib"
    assert pack_body(bytes(range(256))) == ("raw", bytes(range(256)))


def test_a_damaged_body_is_an_error() -> None:
    codec, data = pack_body(b"a" * 1000)
    with pytest.raises(ValueError, match="incorrect data check"):
        unpack_body(codec, 1000, data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ValueError, match="1000 bytes, not 999"):
        unpack_body(codec, 999, data)
