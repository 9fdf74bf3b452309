"""What names a store."""

import shlex
from pathlib import Path

import pytest

from pollwise.cli.options import DB
from pollwise.errors import InputError
from pollwise.store import Store
from pollwise.store.place import (
    DEFAULT,
    PostgresDatabase,
    command,
    file_of,
    parse_place,
    place_told,
)


@pytest.mark.parametrize(
    "text", ["pollwise.db", "/a/b.db", "postgres", "postgresql:/x", "sqlite://x", "a://b.db"]
)
def test_all_else_is_the_path_of_a_file(text: str) -> None:
    assert parse_place(text) == Path(text)
    assert parse_place(Path(text)) == Path(text)
    assert file_of(parse_place(text), "a search") == Path(text)


def test_what_sqlite_takes_for_memory_is_no_file() -> None:
    for told in (":memory:", Path(":memory:")):
        with pytest.raises(InputError, match=r"^:memory: would be gone with the process: name a"):
            parse_place(told)
    assert parse_place("/tmp/:memory:") == Path("/tmp/:memory:")


@pytest.mark.parametrize(
    ("url", "shown", "name"),
    [
        ("postgresql://", "postgresql://", "postgresql"),
        ("postgres://h/a%20b", "postgres://h/a%20b", "a b"),
        ("postgresql://u:p%40ss@h:5/d", "postgresql://u@h:5/d", "d"),
        ("postgresql://u:a@b@h/d", "postgresql://u@h/d", "d"),
        ("postgresql://h/d?password=x&sslmode=require", "postgresql://h/d?sslmode=require", "d"),
        ("postgresql://h/d?sslPassword=x", "postgresql://h/d", "d"),
        ("postgresql://h1:1,h2:2/d", "postgresql://h1:1,h2:2/d", "d"),
        ("postgresql://u:se#ss@h/d", "postgresql://u@h/d", "d"),
        ("postgresql://u:se?ss@h/d", "postgresql://u@h/d", "d"),
        ("postgresql://h/d?pass%77ord=ss@", "postgresql://h/d", "d"),
        ("POSTGRESQL://u:ss@h/d", "postgresql://u@h/d", "d"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str, name: str) -> None:
    place = parse_place(url)
    assert isinstance(place, PostgresDatabase)
    assert (str(place), place.name) == (shown, name)
    assert "ss@" not in repr(place)
    assert parse_place(place_told(place)) == place


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://u@h/d", "postgresql://u@h/d?options=-csearch_path%3Ds"),
        ("postgresql://u:a?b@h/d", "postgresql://u:a?b@h/d?options=-csearch_path%3Ds"),
        (
            "postgresql:///d?host=/tmp/x&password=a+b%20c",
            "postgresql:///d?host=/tmp/x&password=a%2Bb%20c&options=-csearch_path%3Ds",
        ),
        (
            "postgresql://h/d?options=-cwork_mem%3D9MB%20-csearch_path%3Dt&sslmode=require",
            "postgresql://h/d?options=-cwork_mem%3D9MB%20-csearch_path%3Ds&sslmode=require",
        ),
        (
            "postgresql://h/d?options=-c%20search_path%3D%22a%5C%20b%22%2Cc",
            "postgresql://h/d?options=-csearch_path%3Ds",
        ),
    ],
)
def test_an_address_is_told_for_a_schema(url: str, told: str) -> None:
    place = PostgresDatabase(url).in_schema("s")
    assert (place.url, place.name) == (told, "d, s")


@pytest.mark.parametrize("schema", ["My Shop", "a\\b", "é_1"])
def test_a_schema_whose_name_needs_quotes_is_told_with_them(schema: str) -> None:
    place = PostgresDatabase("postgresql://h/d").in_schema(schema)
    assert place.name == f"d, {schema}"
    assert place.in_schema("s").url == "postgresql://h/d?options=-csearch_path%3Ds"


@pytest.mark.parametrize(
    "told",
    [
        *("[::1/d", "u:secret/word@h/d", "u:se@cret/word@h/d", "h/caf\udce9", "h/a\nb"),
        *("u:1?a/word@h/d", "u:se?a/word@h/d", "u:se?a/word@h/d?sslmode=require"),
    ],
)
def test_an_address_that_cannot_be_one_is_one_line(told: str) -> None:
    with pytest.raises(InputError, match="expected postgresql://USER@HOST/DATABASE") as caught:
        parse_place(f"postgresql://{told}")
    assert "\n" not in str(caught.value)
    assert "word" not in str(caught.value).replace("password", "")


def test_what_needs_a_file_says_so() -> None:
    with pytest.raises(InputError, match="a copy needs SQLite, not postgresql://h/d: name a file"):
        file_of(parse_place("postgresql://h/d"), "a copy")


def test_without_the_library_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pollwise.extras.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"PostgreSQL database needs psycopg: .*\[postgres\]"):
        Store.open_readonly("postgresql://h/d")


def test_a_command_for_a_place_is_as_a_shell_takes_it() -> None:
    told = command(parse_place("my pages.db"), "diff", "http://a/?x=1&y=2", "1")
    assert shlex.split(told) == [
        "pollwise",
        "diff",
        "http://a/?x=1&y=2",
        "1",
        "--db",
        "my pages.db",
    ]
    assert "secret" not in command(parse_place("postgresql://me:secret@h/d"), "list")


def test_the_place_that_commands_use_anyway_is_not_named() -> None:
    assert DB == DEFAULT
    assert command(DB, "explain", "http://a/") == "pollwise explain http://a/"
