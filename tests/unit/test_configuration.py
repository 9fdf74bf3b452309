"""`pollwise.toml`: what it may hold, and what is said of what it may not."""

import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pollwise.cli.configuring import check_config, receivers_of, settings_of
from pollwise.configuration import configuration_schema, read_configuration
from pollwise.errors import InputError
from pollwise.settings import WatchSettings
from pollwise.store.records import NewPage

WHOLE = """
[watch]
budget = "500/hour"
crawl-delay = 2
quiet = ["22:00-06:30", "12:00-13:00"]
header = "Accept-Language: de"
cookie-file = "cookies.txt"
db = "pages.db"
file = "pages.txt"

[[page]]
url = "https://Example.org:443/news#top"
weight = 3
tags = ["news", "daily"]
select = "main"
at-least = "1/day"
at-most = ""

[[page]]
url = "https://example.org/"
name = "Home"
paused = true

[[header]]
host = "example.org"
name = "Authorization"
value = { env = "NEWS_TOKEN" }

[[notify]]
name = "phone"
to = { env = "NEWS_TOKEN" }
secret = "whsec_"
tags = ["news"]
digest = "1d"
at-most = "4/hour"
"""


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "pollwise.toml"


def test_all_of_it_is_read(path, monkeypatch):
    monkeypatch.setenv("NEWS_TOKEN", "Bearer hush\n")
    path.write_text(WHOLE)
    told = read_configuration(path)
    assert told.settings == {
        "budget": "500/hour",
        "crawl_delay": 2.0,
        "quiet": ("22:00-06:30", "12:00-13:00"),
        "headers": ("Accept-Language: de",),
        "cookie_file": str(path.parent / "cookies.txt"),
    }
    assert (told.db, told.file) == (path.parent / "pages.db", path.parent / "pages.txt")
    url = "https://example.org/news"
    news = NewPage(url, "example.org", 3.0, None, 86_400.0, 0.0, None, ("news", "daily"), ("main",))
    assert told.pages == (
        news,
        NewPage("https://example.org/", "example.org", paused=True, name="Home"),
    )
    [header] = told.headers
    assert header == ("example.org", "Authorization", "Bearer hush", True)
    assert told.notify == (
        {
            "name": "phone",
            "to": "Bearer hush",
            "secret": "whsec_",
            "tags": ("news",),
            "digest": "1d",
            "at_most": "4/hour",
        },
    )
    assert "hush" not in repr(told)


@pytest.mark.parametrize("place", ["secret", "~/secret"])
def test_a_secret_may_be_in_a_file(path, monkeypatch, place):
    monkeypatch.setenv("HOME", str(path.parent))
    (path.parent / "secret").write_text("hush\n")
    path.write_text(WHOLE.replace('env = "NEWS_TOKEN"', f'file = "{place}"'))
    told = read_configuration(path)
    assert (told.headers[0].value, told.notify[0]["to"]) == ("hush", "hush")


def test_the_home_of_nobody_is_left_as_it_stands(path):
    path.write_text("[watch]\nfile = '~no-such-user/pages.txt'")
    assert read_configuration(path).file == path.parent / "~no-such-user/pages.txt"


def test_files_of_receivers_are_beside_it(path):
    path.write_text(
        "[watch]\nnotify = ['atom:one.xml', 'file:hook']\n"
        "[[notify]]\nname = 'feed'\nto = { file = 'target.txt' }"
    )
    (path.parent / "target.txt").write_text("atom:two.xml")
    (path.parent / "hook").write_text("exec:cat")
    told = read_configuration(path)
    [receiver] = receivers_of(told)
    assert receiver.target == str(path.parent / "two.xml")
    assert settings_of(told, path.parent / "x.db")["notify"] == (
        f"atom:{path.parent / 'one.xml'}",
        f"file:{path.parent / 'hook'}",
    )


def test_an_empty_secret_is_none(path, monkeypatch):
    monkeypatch.setenv("NEWS_TOKEN", " ")
    path.write_text(WHOLE)
    with pytest.raises(InputError, match="variable NEWS_TOKEN is not set: set it"):
        read_configuration(path)
    (path.parent / "secret").touch()
    path.write_text(WHOLE.replace('env = "NEWS_TOKEN"', 'file = "secret"'))
    with pytest.raises(InputError, match="secret is empty"):
        read_configuration(path)


@pytest.mark.parametrize("table", ["[[notify]]\nname = 'me'\nto = 'exec:cat'\n", ""])
def test_two_receivers_of_one_name_cannot_be_used(path, table):
    same = "[[notify]]\nname = 'exec:cat'\nto = 'exec:cat'\n"
    first = "[watch]\nnotify = 'exec:cat'\n" if not table else table.replace("'me'", "'exec:cat'")
    path.write_text(first + same)
    with pytest.raises(
        InputError, match=r"pollwise.toml: two receivers of notices are called 'exec:cat'"
    ):
        check_config(path)


def test_what_is_not_told_is_none(path):
    path.write_text("")
    told = read_configuration(path)
    assert (told.settings, told.db, told.file, told.pages, told.headers) == ({}, None, None, (), ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("budget = '1/day'", ": budget is a key of [watch]; write it below such a line"),
        ("bugdet = 1", ": above all tables: unknown key 'bugdet'; the nearest known one is budget"),
        ("[wacth]", ": unknown table 'wacth'; the nearest known one is watch"),
        ("[settings]", ": unknown table 'settings'; known are watch, page, header and notify"),
        (
            "[[page]]\nurl = 'http://a/'\nxyz = 1",
            ": [[page]] 1: unknown key 'xyz'; known are url, ",
        ),
        ("[watch]\nbugdet = 1", ": [watch]: unknown key 'bugdet'; the nearest known one is budget"),
        ("[watch]\nbudget = 5", ": [watch] budget: expected a text (polls a time"),
        ("[watch]\ndb = ':memory:'", ": [watch] db: :memory: would be gone with the process"),
        ("[watch]\ndb = 'postgresql://a/b@c?y'", ": [watch] db: the address after postgresql://"),
        ("[watch]\nnetrc = 1", ": [watch] netrc: expected true or false"),
        ("[watch]\ntimeout = true", ": [watch] timeout: expected a number"),
        (f"[watch]\ntimeout = 1{'0' * 400}", ": [watch] timeout: expected a number"),
        ("[watch]\nquiet = [1]", ": [watch] quiet: expected a text or a list of texts"),
        ("[watch]\nobjective = 'fresh'", ": [watch] objective: expected one of detection, "),
        ("watch = 1", ": [watch]: expected a table"),
        ("[page]\nurl = 'http://a/'", ": [page]: write [[page]], as there may be several"),
        ("[[page]]", ": [[page]] 1 has no url; add it"),
        ("page = [1]", ": [[page]] 1: expected a table"),
        ("[[page]]\nurl = 'a'", ": [[page]] 1: not a URL: 'a'"),
        ("[[page]]\nurl = 'http://a/'\nurll = 1", ": [[page]] 1: unknown key 'urll'"),
        ("[[page]]\nurl = 'http://a/'\n[[page]]\nurl = 'http://A'", ": [[page]] 2: http://a/ is "),
        ("[[page]]\nurl = 'http://a/'\nweight = -1", ": [[page]] 1: weight -1: expected a number"),
        ("[[header]]\nhost = 'a.example'\nname = 'X'\nvalue = 'hush'", ": [[header]] 1 value: exp"),
        (
            "[[header]]\nhost = 'a.example'\nname = 'X'\nvalue = {env = 'NOT_THERE_AT_ALL'}",
            ": [[header]] 1 value: the environment variable NOT_THERE_AT_ALL is not set: set it",
        ),
        (
            "[[header]]\nhost = 'a.example'\nname = 'X'\nvalue = {file = 'none'}",
            ": [[header]] 1 value: ",
        ),
        (
            "[[header]]\nhost = 'a.example'\nname = 'X'\nvalue = {file = '~no-such-user/x'}",
            ": [[header]] 1 value: ",
        ),
        ("[[notify]]\nto = 'exec:cat'", ": [[notify]] 1 has no name; add it"),
        ("[[notify]]\nname = 'n'", ": [[notify]] 1 has no to; add it"),
        ("[[notify]]\nname = 'n'\nto = 5", ": [[notify]] 1 to: expected a text, or where it is:"),
        ("[[notify]]\nname = 'n'\nto = 'x'\ntags = 1", ": [[notify]] 1 tags: expected a text or"),
        (
            "[[notify]]\nname = 'n'\nto = 'x'\nat_most = '1/hour'",
            ": [[notify]] 1: unknown key 'at_most'; the nearest known one is at-most",
        ),
        ("a = ", ": not TOML: "),
    ],
)
def test_what_is_wrong_is_said_with_its_place(path, text, told):
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_configuration(path)
    line = str(error.value)
    assert line.startswith(f"{path}{told}")
    assert "\n" not in line
    assert "hush" not in line


def test_a_file_that_cannot_be_read(path):
    with pytest.raises(InputError, match="cannot be read"):
        read_configuration(path)
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8 text"):
        read_configuration(path)


@given(st.text(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rubbish_is_refused_in_one_line(path, text):
    path.write_text(text, errors="replace")
    try:
        read_configuration(path)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017


def test_every_key_of_the_watch_is_a_setting():
    keys = configuration_schema()["properties"]["watch"]["properties"].keys()
    renamed = {
        "header": "headers",
        "group": "groups",
        "host-limit": "host_limits",
        "share": "shares",
    }
    named = {renamed.get(key, key.replace("-", "_")) for key in keys} - {"db", "file", "half_life"}
    assert named == {field.name for field in fields(WatchSettings)} - {"parameters"}


def test_the_schema_has_the_keys_of_the_example():
    schema = configuration_schema()["properties"]
    for name, table in tomllib.loads(WHOLE).items():
        if name == "watch":
            assert table.keys() <= schema["watch"]["properties"].keys()
        else:
            known = schema[name]["items"]
            assert all(one.keys() <= known["properties"].keys() for one in table)
            assert all(set(known["required"]) <= one.keys() for one in table)
