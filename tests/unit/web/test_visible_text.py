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
        ("мир".encode("utf-16"), "text/html; charset=utf-8", "мир"),
        ("\ufeffмир".encode("utf-16-be"), None, "мир"),
        (b"\xff\xfea", HTML, "ÿþa"),
        (b"\xe9", "text/html; charset=utf-8", "é"),
        ("мир ".encode() + b"\xe9t\xe9, " + "é".encode(), "text/html; charset=utf-8", "мир été, é"),
        (b"<meta charset=utf8>\xe2\x82\xac \x80", HTML, "<meta charset=utf8>€ \x80"),
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


@given(st.binary(max_size=8), st.integers(0, 7), st.integers(1, 255))
def test_a_changed_byte_of_bad_utf_8_changes_its_text(body, place, change):
    other = (
        body[:place] + bytes(byte ^ change for byte in body[place : place + 1]) + body[place + 1 :]
    )
    texts = [readable(each, "text/plain; charset=utf-8") for each in (body, other)]
    assert (texts[0] == texts[1]) == (body == other)
    "".join(texts).encode()  # no surrogates: they can be stored


def _is_in(body: bytes, encoding: str) -> bool:
    """Whether a body is in an encoding, and not in UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return body.decode(encoding, "ignore").encode(encoding) == body
    return False
