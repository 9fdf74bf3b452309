"""Bodies in pieces, compressed, broken and too large."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.web.content_coding import BodyReader

COMPRESSORS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "identity": bytes,
}


def decompress(data, encoding, max_bytes, piece=1000, room=1000):
    """The body of what arrives in pieces of so many bytes."""
    reader = BodyReader(encoding, max_bytes=max_bytes, room=room)
    for begin in range(0, len(data), piece):
        reader.feed(data[begin : begin + piece])
        if reader.is_full:
            assert encoding == "identity" or reader.size == room + 1
            reader.make_room()
    assert reader.wire_bytes == len(data)
    return reader.body()


PIECES = st.sampled_from([1, 2, 7, 1000])


@given(st.binary(max_size=500), st.sampled_from(sorted(COMPRESSORS)), PIECES)
def test_what_was_compressed_comes_back(body, encoding, piece):
    assert decompress(COMPRESSORS[encoding](body), encoding, 500, piece) == body


@pytest.mark.parametrize("encoding", ["", "none", "None", "UTF-8 "])
def test_what_names_no_encoding_is_passed_over(encoding):
    assert decompress(b"hello", encoding, 500) == b"hello"


@pytest.mark.parametrize("encoding", ["gzip, identity", "identity,GZIP", "utf-8, gzip", "gzip,"])
def test_what_names_no_encoding_is_passed_over_beside_one_that_does(encoding):
    assert decompress(gzip.compress(b"hello"), encoding, 500) == b"hello"


@given(
    st.lists(st.binary(max_size=50), min_size=1, max_size=5),
    st.sampled_from(sorted(COMPRESSORS)),
    PIECES,
    st.integers(1, 200),
)
def test_what_waited_for_room_comes_back(bodies, encoding, piece, room):
    many = bodies if encoding == "gzip" else [b"".join(bodies)]
    data = b"".join(COMPRESSORS[encoding](body) for body in many)
    assert decompress(data, encoding, 500, piece, room) == b"".join(bodies)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_before_there_is_room_hardly_more_than_that_is_held(encoding):
    """Once, one piece was inflated to as much as a body may have."""
    body = bytes(10_000_000)
    reader = BodyReader(encoding, max_bytes=10_000_000, room=256)
    reader.feed(COMPRESSORS[encoding](body))
    assert (reader.is_full, reader.size) == (True, 257)
    reader.make_room()
    assert not reader.is_full
    assert reader.body() == body


@given(st.binary(max_size=500), PIECES)
def test_deflate_without_its_wrapper_comes_back(body, piece):
    assert decompress(zlib.compress(body, wbits=-15), " Deflate ", 500, piece) == body


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=9), st.binary(max_size=9), PIECES)
def test_gzip_members_are_joined_and_a_tail_is_ignored(bodies, tail, piece):
    data = b"".join(gzip.compress(body) for body in bodies) + b"\0" + tail
    assert decompress(data, "gzip", 500, piece) == b"".join(bodies)


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", "br", ""]))
def test_garbage_is_a_value_error_at_worst(data, encoding):
    try:
        body = decompress(data, encoding, 1000)
    except ValueError:
        return
    assert len(body) <= 1000


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_the_limit_is_exact(encoding):
    data = COMPRESSORS[encoding](b"x" * 1000)
    assert len(decompress(data, encoding, 1000)) == 1000
    with pytest.raises(ValueError, match="larger than 999 bytes"):
        decompress(data, encoding, 999)


def test_members_count_together():
    with pytest.raises(ValueError, match="larger than 10 bytes"):
        decompress(gzip.compress(b"x" * 6) * 2, "gzip", 10)


def test_members_without_end():
    with pytest.raises(ValueError, match="members"):
        decompress(gzip.compress(b"") * 1000, "gzip", 10)
