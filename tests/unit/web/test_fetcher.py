"""What the fetcher makes of bodies and header values, without a network."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.web.content_coding import decompress
from pollwise.web.fetcher import parse_http_date, parse_retry_after

COMPRESSORS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "identity": bytes,
}


@given(st.binary(max_size=500), st.sampled_from(sorted(COMPRESSORS)))
def test_what_was_compressed_comes_back(body, encoding):
    assert decompress(COMPRESSORS[encoding](body), encoding, 500) == body


@given(st.binary(max_size=500))
def test_deflate_without_its_wrapper_comes_back(body):
    assert decompress(zlib.compress(body, wbits=-15), " Deflate ", 500) == body


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=9), st.binary(max_size=9))
def test_gzip_members_are_joined_and_a_tail_is_ignored(bodies, tail):
    data = b"".join(gzip.compress(body) for body in bodies) + b"\0" + tail
    assert decompress(data, "gzip", 500) == b"".join(bodies)


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


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ],
)
def test_the_three_forms_of_a_date(text):
    assert parse_http_date(text) == 784111777.0


@given(st.text() | st.from_regex(r"\A[A-Z][a-z]{2}, [0-9]{1,9} [A-Z][a-z]{2} [0-9:. +-]{1,30}\Z"))
def test_header_values_never_raise(text):
    parse_http_date(text)
    seconds = parse_retry_after(text, now=1e9)
    assert seconds is None or 0 <= seconds <= 86400


@pytest.mark.parametrize(
    "text", ["Sun, 99999999999999999999 Nov 1994 08:49:37 GMT", "0 Jan 0 0:0:0 +9999", "-1", "1.5"]
)
def test_what_is_no_time(text):
    assert parse_retry_after(text, now=0.0) is None
