"""The characters of a body that is compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.web.visible_text import readable

HTML = "text/html"


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("мир".encode(), "text/html; charset=windows-1251", "мир"),
        ("мир".encode("cp1251"), "text/html; charset=windows-1251", "мир"),
        ("<meta charset=koi8-r>мир".encode("koi8-r"), HTML, "<meta charset=koi8-r>мир"),
        ("鯨".encode("shift_jis"), "text/plain; charset=Shift_JIS", "鯨"),
        ("é".encode("latin-1"), HTML, "é"),
        ("é".encode("latin-1"), None, "é"),
        (b"\x81\xe9", "text/html; charset=windows-1252", "\x81é"),
        (b"\xe9a", "text/html; charset=utf-16", "éa"),
        (b"\xe9", "text/html; charset=utf-8", "é"),
        (b"\xe9", "text/html; charset=nonsense", "é"),
    ],
)
def test_bodies_are_read_in_the_encoding_that_they_are_in(body, content_type, text):
    assert readable(body, content_type) == text


@given(st.binary(max_size=8), st.binary(max_size=8))
def test_different_bytes_of_one_encoding_stay_different(one, other):
    for encoding in ("windows-1251", "iso-8859-7"):
        texts = [readable(body, f"text/html; charset={encoding}") for body in (one, other)]
        if all(_is_in(body, encoding) for body in (one, other)):
            assert (texts[0] == texts[1]) == (one == other)


def _is_in(body: bytes, encoding: str) -> bool:
    """Whether a body is in an encoding, and not in UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return body.decode(encoding, "ignore").encode(encoding) == body
    return False
