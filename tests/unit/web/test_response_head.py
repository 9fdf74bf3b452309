"""The head of an answer: what of it is kept."""

import pytest

from pollwise.web.response_head import kept_head

OK = b"HTTP/1.1 200 OK"


def test_headers_are_kept_as_they_were_received():
    received = [(b"date", b"now"), (b"X-Odd", b"caf\xe9\ttab"), (b"Link", b"<a>"), (b"link", b"")]
    assert kept_head(OK, received) == OK + b"\r\n".join(
        [b"", b"date: now", b"X-Odd: caf\xe9\ttab", b"Link: <a>", b"link: "]
    )


@pytest.mark.parametrize(
    "name",
    [
        *(b"Set-Cookie", b"set-cookie2", b"X-Set-Cookie", b"WWW-Authenticate", b"Authorization"),
        *(b"Authentication-Info", b"X-Auth-Token", b"X-CSRF-Token", b"X-Session-Id", b"x-api-key"),
        *(b"PHPSESSID", b"X-Sid", b"X-Credential", b"X-Secret-Key", b"X-Passwd", b"X-Signature"),
        *(b"X-Client-IP", b"X-Forwarded-For", b"Client-Ip", b"X-Real-IP"),
    ],
)
def test_what_is_private_is_not_kept(name):
    assert kept_head(OK, [(name, b"secret"), (b"Server", b"x")]) == OK + b"\r\nServer: x"


@pytest.mark.parametrize(
    "name",
    [
        b"X-Author",
        b"Zip",
        b"Description",
        b"ETag",
        b"X-Clip",
        b"Key",
        b"X-Request-Id",
        b"Strict-Transport-Security",
    ],
)
def test_what_only_looks_private_is_kept(name):
    assert kept_head(OK, [(name, b"1")]) == OK + b"\r\n%b: 1" % name


def test_no_header_can_make_another_line():
    received = [(b"A", b"1\r\nB: 2\0"), (b"C\r\nD", b"3"), (b"E F", b"4"), (b"", b"5")]
    assert kept_head(b"HTTP/1.1 200 O\nK", received) == b"HTTP/1.1 200 O K\r\nA: 1  B: 2 "


def test_what_finds_no_room_is_left_out():
    received = [(b"Large", b"x" * 9_000), (b"Larger", b"x" * 9_000), (b"Small", b"x")]
    assert kept_head(OK, received).split(b"\r\n")[1:] == [b"Large: " + b"x" * 9_000, b"Small: x"]
    assert len(kept_head(OK, [(b"A", b"b")] * 10_000)) <= 16 * 1024
