"""What users say about fetching: taken as it is meant, or refused in one line."""

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.fetch_settings import FetchSettings, HeaderLine, parse_header


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Accept-Language: de", HeaderLine(None, "Accept-Language", "de")),
        ("example.org: X-A: b: c", HeaderLine("example.org", "X-A", "b: c")),
        ("EXAMPLE.org:8080: X-A:b", HeaderLine("example.org:8080", "X-A", "b")),
        ("[::1]:8080: X-A: b", HeaderLine("[::1]:8080", "X-A", "b")),
        ("localhost: Referer: http://a/", HeaderLine("localhost", "Referer", "http://a/")),
        ("X-A: b: c", HeaderLine(None, "X-A", "b: c")),
        ("intranet:443: X-A: b", HeaderLine("intranet", "X-A", "b")),
        ("Example.org:80: X-A: b", HeaderLine("example.org", "X-A", "b")),
        ("Referer: https://example.org/", HeaderLine(None, "Referer", "https://example.org/")),
    ],
)
def test_a_header_is_for_one_host_or_for_all(text: str, line: HeaderLine) -> None:
    assert parse_header(text, "--header") == line


@given(
    st.text(alphabet="abcXYZ-", min_size=1), st.text(alphabet="\r\n\0é\x7f", min_size=1), st.text()
)
def test_no_header_has_a_character_that_would_begin_another(name: str, bad: str, rest: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_header(f"{name}: a{bad}{rest}b", "--header")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"headers": ("Authorization: Basic geheim",)}, "--header-file"),
        ({"headers": ("X-Api-Key: geheim",)}, "--header-file"),
        ({"headers": ("example.org: Cookie: geheim",)}, "--header-file"),
        ({"headers": ("Authorization: geheim\r\nX: y",)}, "one line of printable ASCII"),
        ({"headers": ("intranet: Authorization: Bearer geheim",)}, "if intranet is a host"),
        ({"headers": ("my-host: X-Token: geheim",)}, "my-host:443: X-Token: VALUE"),
        ({"headers": ("intranet: Accept-Language: geheim",)}, "if intranet is a host"),
        ({"headers": ("X-A: Bearer geheim",)}, "--header-file"),
        ({"headers": ("geheim",)}, "NAME: VALUE"),
        ({"headers": ("User-Agent: geheim",)}, "--user-agent"),
        ({"headers": ("Host: geheim",)}, "leave it out"),
        ({"proxy": "http://me:geheim@proxy.example:3128"}, "netrc"),
        ({"proxy": "http://me:geheim@"}, "not a URL"),
        ({"proxy": "http://a\nb"}, "not a URL"),
        ({"proxy": "geheim:3128"}, "write it as http://proxy.example:3128"),
        ({"proxy": "socks5://proxy.example:1080"}, "socks5 is not spoken"),
        ({"proxy": "http://proxy.example/path"}, "more than scheme, host and port"),
        ({"user_agent": "robot\r\nX: y"}, "--user-agent"),
        ({"user_agent": "(no name)"}, "--user-agent"),
        ({"crawl_delay": -1.0}, "--crawl-delay"),
        ({"timeout": 0.0}, "--timeout"),
        ({"politeness": "port"}, "host, domain, address"),
        ({"timeout": 241.0}, "--timeout"),
        ({"max_size": 0.0}, "--max-size"),
        ({"groups": ("a.example",)}, "--group 'a.example'"),
        ({"groups": ("a b=a.example",)}, "letters, digits"),
        ({"groups": ("x=a.example,b.example/c",)}, "no host"),
        ({"groups": ("x=a.example", "y=A.example")}, "group x"),
        ({"host_limits": ("a.example=often",)}, "--host-limit 'a.example=often'"),
        ({"host_limits": ("a.example=2/day/page",)}, "whole host"),
        ({"host_limits": ("@x=2/day",)}, "no group x"),
        ({"host_limits": ("a.example=2/day", "a.example=3/day")}, "another limit"),
        ({"groups": ("x=a.example",), "host_limits": ("a.example=2/day",)}, "@x=2/day"),
    ],
)
def test_what_cannot_be_used_is_one_line_without_secrets(told, said) -> None:
    with pytest.raises(InputError, match=said) as refused:
        FetchSettings(**told)
    assert "geheim" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_hosts_of_a_group_have_its_scope_and_limits_are_by_scope() -> None:
    settings = FetchSettings(
        groups=("news=A.example, b.example:8080",),
        host_limits=("@news=48/day", "c.example=3600/hour"),
    )
    assert settings.group_scopes() == {"a.example": "@news", "b.example:8080": "@news"}
    assert settings.limit_rates() == {"@news": 48 / 86400, "c.example": 1.0}
    assert settings.limit_texts() == {"@news": "48/day", "c.example": "3600/hour"}


def test_hosts_of_a_domain_share_its_scope_and_its_limit() -> None:
    settings = FetchSettings(
        politeness="domain",
        groups=("news=a.example.org,b.example.com",),
        host_limits=("*.example.org=24/day", "127.0.0.1=1/hour"),
    )
    shared = settings.shared_scopes()
    hosts = ("a.example.org", "c.example.org:8080", "example.org", "127.0.0.1", "[::1]:80", "intra")
    assert [shared.get(host, host) for host in hosts] == [
        "@news",
        "*.example.org",
        "*.example.org",
        "127.0.0.1",
        "[::1]:80",
        "intra",
    ]
    assert settings.limit_rates() == {"*.example.org": 1 / 3600, "127.0.0.1": 1 / 3600}


@pytest.mark.parametrize(
    ("politeness", "limit", "said"),
    [
        ("domain", "www.example.org", r"give that of all of them: \*\.example\.org=2/day"),
        ("domain", "*.www.example.org", "is no registrable domain.*that is example.org"),
        ("domain", "*.127.0.0.1", "is no registrable domain"),
        ("host", "*.example.org", "needs --politeness domain"),
    ],
)
def test_a_limit_that_no_scope_has(politeness: str, limit: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        FetchSettings(politeness=politeness, host_limits=(f"{limit}=2/day",))


@pytest.mark.parametrize("port", [":80", ":443", ""])
def test_the_port_of_http_and_that_of_https_are_left_out(port: str) -> None:
    settings = FetchSettings(
        groups=(f"news=a.example{port},[::1]{port}",), host_limits=(f"c.example{port}=1/hour",)
    )
    assert set(settings.group_scopes()) == {"a.example", "[::1]"}
    assert set(settings.limit_texts()) == {"c.example"}


def test_they_come_back_from_json_as_they_were() -> None:
    settings = FetchSettings(headers=("X-A: b",), max_size=0.5, groups=("x=a.example",))
    kept = json.loads(json.dumps(asdict(settings)))
    assert FetchSettings(**FetchSettings.read_fields(kept)) == settings
    assert FetchSettings.read_fields({"budget": "1/day"}) == {}
