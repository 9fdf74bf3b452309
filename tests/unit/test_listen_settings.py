"""Where a watch listens, as people say it."""

import pytest

from pollwise.errors import InputError
from pollwise.listen_settings import check_listening, parse_address
from pollwise.settings import WatchSettings

TOKEN = "env:SIGNALS"


@pytest.mark.parametrize(
    "text", ["", "8099", ":8099", "localhost", "a:b", "a:65536", "a:-1", "a:٣", "a:"]
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(InputError, match="expected HOST:PORT, such as"):
        parse_address(text)


@pytest.mark.parametrize(
    ("listen", "token", "public_url", "message"),
    [
        ("a:1", "", "", "nobody could signal anything; give --listen-token"),
        ("", TOKEN, "", "--listen-token needs --listen"),
        ("", "", "https://me.example/", "--public-url needs --listen"),
        ("a:1", "0123456789abcdef", "", "say where the token is: env:NAME or file:PATH"),
        ("a:1", "env:", "", "say where the token is"),
        ("a:1", "", "me.example", "no URL; give one such as"),
        ("a:1", "", "ftp://me.example/", "write it as"),
        ("a:1", "", "https://me.example", "write it as https://me.example/"),
        ("a:1", "", "https://me.example/x", "must end with a slash: https://me.example/x/"),
        ("a:1", "", "https://u:p@me.example/", "write it as https://me.example/"),
        ("a:1", "", "https://me.example/?a#b", "write it as https://me.example/"),
    ],
)
def test_what_cannot_be_is_said(listen, token, public_url, message):
    with pytest.raises(InputError) as caught:
        WatchSettings(listen=listen, listen_token=token, public_url=public_url)
    assert message in str(caught.value)
    assert "0123456789abcdef" not in str(caught.value), "it may be the token itself"


def test_what_can_be():
    check_listening("", "", "")
    check_listening("127.0.0.1:0", "file:token.txt", "")
    check_listening("[::1]:80", "", "https://me.example/below/")
