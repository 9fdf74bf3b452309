"""Files of headers, cookies and logins: to whom each goes, and that no error tells a secret."""

from pathlib import Path

import aiohttp
import pytest

from pollwise.errors import InputError
from pollwise.fetch_settings import FetchSettings
from pollwise.web.own_headers import OwnHeaders, read_own_headers

NOW = 1_700_000_000.0
COOKIES = """# Netscape HTTP Cookie File
example.org\tFALSE\t/\tFALSE\t0\talone\t1
.example.org\tTRUE\t/\tFALSE\t0\tbelow\t2
example.org\tFALSE\t/news\tFALSE\t0\tnews\t3
example.org\tFALSE\t/\tTRUE\t0\tsafe\t4
example.org\tFALSE\t/\tFALSE\t1600000000\told\t5
#HttpOnly_wiki\tFALSE\t/\tFALSE\t1800000000\tinside\t6
"""


def read(**told: object) -> OwnHeaders:
    return read_own_headers(FetchSettings(**told))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "cookies"),
    [
        ("http://example.org/", "alone=1; below=2"),
        ("http://example.org:8080/", "alone=1; below=2"),
        ("http://example.org/news/1", "news=3; alone=1; below=2"),
        ("http://example.org/newspaper", "alone=1; below=2"),
        ("https://example.org/", "alone=1; safe=4; below=2"),
        ("http://www.example.org/", "below=2"),
        ("http://badexample.org/", None),
        ("http://org/", None),
        ("http://wiki/", "inside=6"),
    ],
)
def test_a_cookie_goes_where_it_belongs(tmp_path: Path, url: str, cookies: str | None) -> None:
    (tmp_path / "cookies.txt").write_text(COOKIES)
    own = read(cookie_file=str(tmp_path / "cookies.txt"))
    assert own.of(url, NOW, by_proxy=False).get("Cookie") == cookies


def test_a_header_of_a_host_goes_to_it_and_its_port_only(tmp_path: Path) -> None:
    (tmp_path / "headers").write_text(
        "# secrets\n\nexample.org: Authorization: Bearer geheim\nexample.org: X-All: own\n"
    )
    own = read(headers=("X-All: all",), header_file=str(tmp_path / "headers"))
    assert own.of("https://example.org/a", NOW, by_proxy=False) == {
        "X-All": "own",
        "Authorization": "Bearer geheim",
    }
    for other in ("https://example.org:8443/", "https://www.example.org/"):
        assert own.of(other, NOW, by_proxy=False) == {"X-All": "all"}


def test_a_secret_header_goes_over_plain_http_only_where_that_was_asked_for(tmp_path) -> None:
    (tmp_path / "headers").write_text(
        "example.org: X-Token: geheim\n127.0.0.1:8080: X-Token: geheim\n"
    )
    own = read(headers=("example.org: X-A: b",), header_file=str(tmp_path / "headers"))
    secret, url = {"X-Token": "geheim"}, "http://example.org/"
    assert own.of(url, NOW, by_proxy=False) == {"X-A": "b"}
    assert own.of(url, NOW, by_proxy=False, may_be_plain=True) == {"X-A": "b"} | secret
    assert own.of("http://127.0.0.1:8080/", NOW, by_proxy=False) == secret
    assert own.of("http://127.0.0.1:8080/", NOW, by_proxy=True) == {}


def test_a_login_goes_to_its_host_over_https_or_to_this_machine(tmp_path, monkeypatch) -> None:
    (tmp_path / "netrc").write_text(
        "machine example.org login me password geheim\n"
        "machine 127.0.0.1 login me password geheim\n"
        "default login anyone password geheim\n"
    )
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert read().of("https://example.org/", NOW, by_proxy=False) == {}
    own = read(netrc=True)
    login = {"Authorization": aiohttp.encode_basic_auth("me", "geheim")}
    assert own.of("https://example.org/", NOW, by_proxy=True) == login
    assert own.of("http://127.0.0.1:8080/", NOW, by_proxy=False) == login
    assert own.of("http://127.0.0.1:8080/", NOW, by_proxy=True) == {}
    assert own.of("http://example.org/", NOW, by_proxy=False) == {}
    assert own.of("https://other.example/", NOW, by_proxy=False) == {}
    assert own.of_proxy("http://other.example:3128") == {}


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("header_file", "Authorization: geheim", "line 1: Authorization names no host"),
        ("header_file", "\nexample.org: X-A: geheim\0", "line 2: the value of X-A"),
        ("header_file", "geheim", "line 1: no header"),
        ("cookie_file", "geheim", "not a cookie file"),
        ("cookie_file", "# Netscape HTTP Cookie File\ngeheim\n", "not a cookie file"),
        ("cookie_file", COOKIES.replace("\n", "\x01\n").replace("5", "geheim"), "characters|file"),
        ("netrc", "machine example.org password geheim geheim", "line 1: not a netrc file"),
        ("netrc", "geheim", "line 1: not a netrc file"),
        ("netrc", "machine a.example login m:e password geheim", "colon"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_without_its_secrets(
    tmp_path, monkeypatch, option, text, said
) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    monkeypatch.setenv("NETRC", str(file))
    with pytest.raises(InputError, match=said) as refused:
        read(**{option: True if option == "netrc" else str(file)})
    assert str(file) in str(refused.value)
    assert "geheim" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_user_without_a_home_is_one_line(monkeypatch) -> None:
    def unknown(number: int) -> None:
        raise KeyError(number)

    for name in ("NETRC", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(InputError, match=r"--netrc ~/\.netrc: cannot be read"):
        read(netrc=True)


@pytest.mark.parametrize("option", ["header_file", "cookie_file", "netrc"])
def test_a_file_that_is_missing_is_named(tmp_path, monkeypatch, option) -> None:
    missing = str(tmp_path / "missing")
    monkeypatch.setenv("NETRC", missing)
    with pytest.raises(InputError, match="cannot be read") as refused:
        read(**{option: True if option == "netrc" else missing})
    assert missing in str(refused.value)
