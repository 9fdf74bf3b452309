"""`pollwise.toml`: what a watch is told, in a file; its keys, and the schema made from them.

Keys of `[watch]` are the long names of the options. A key that is not known is an error that names
the nearest known one, or all of them. Secrets are no part of the file: a value `{ env = "NAME" }`
is that of an environment variable, `{ file = "PATH" }` the text of a file.
"""

import difflib
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pollwise.checks import is_real
from pollwise.errors import InputError
from pollwise.fetch_settings import POLITENESS, HeaderLine, parse_header
from pollwise.objectives import OBJECTIVES
from pollwise.store.place import Place, PostgresDatabase, parse_place
from pollwise.store.records import NewPage
from pollwise.texts import listed, one_line, read_text
from pollwise.web.wishes import wished_page

__all__ = ["Configuration", "configuration_schema", "read_configuration", "read_secret"]

_JSON_SCHEMA = "https://json-schema.org/draft/2020-12/schema"


class _Key(NamedTuple):
    """A key of a table: its name, the kind of its value, and what it means.

    `choices`: the only values; none: any.
    """

    name: str
    kind: str
    meaning: str
    choices: tuple[str, ...] = ()

    @property
    def field(self) -> str:
        """The name in Python."""
        return self.name.replace("-", "_")


_WATCH = (
    _Key("budget", "text", "polls a time, such as 500/hour or 4/day/page"),
    _Key("share", "texts", "shares of the budget: TAG=PERCENT%, for all pages with a tag together"),
    _Key("objective", "text", "what a poll is worth", tuple(OBJECTIVES)),
    _Key("half-life", "number", "hours in which an item loses half its value"),
    _Key("revert-worth", "number", "what a change back to an earlier version counts for, 0 to 1"),
    _Key("not-modified-cost", "number", "what a poll costs that is answered 304, 0 to 1"),
    _Key("keep", "text", "versions to keep: all, a number such as 20, or an age such as 90d"),
    _Key("first-copies", "text", "polls a time of pages never polled, such as 1/second"),
    _Key("at-least", "text", "polls of each page, such as 1/week, or none"),
    _Key("at-most", "text", "polls of each page, such as 1/minute, or none"),
    _Key("quiet", "texts", "times of the day without polls, such as 22:00-06:30"),
    _Key("notify", "texts", "receivers of notices, without secrets: as --notify names them"),
    _Key("listen", "text", "where others may signal changes: HOST:PORT"),
    _Key("listen-token", "secret", "the token of programs that signal changes"),
    _Key("public-url", "text", "the URL by which hubs of feeds reach the listener"),
    _Key("allow-private", "flag", "whether redirects may lead to private addresses"),
    _Key("crawl-delay", "number", "seconds between requests to one host"),
    _Key("user-agent", "text", "the User-Agent that is sent"),
    _Key("header", "texts", "headers that are no secrets: NAME: VALUE or HOST: NAME: VALUE"),
    _Key("header-file", "path", "a file with HOST: NAME: VALUE a line"),
    _Key("cookie-file", "path", "cookies in the Netscape format"),
    _Key("netrc", "flag", "whether to log in by the netrc file"),
    _Key("proxy", "text", "the URL of an HTTP proxy"),
    _Key("timeout", "number", "seconds that one request may take"),
    _Key("max-size", "number", "the largest body that is read, in MiB"),
    _Key("politeness", "text", "what gets one request at a time", POLITENESS),
    _Key("group", "texts", "hosts that share one crawl delay: NAME=HOST,HOST"),
    _Key("host-limit", "texts", "the most polls of one host: HOST=N/TIME"),
    _Key("db", "database", "the database"),
    _Key("file", "path", "a list of pages, which is followed"),
)
_PAGE = (
    _Key("url", "text", "the page"),
    _Key("weight", "number", "what a change is worth"),
    _Key("cost", "number", "what a poll costs"),
    _Key("at-least", "text", "polls of it, such as 1/day; empty: as all pages"),
    _Key("at-most", "text", "polls of it, such as 1/hour; empty: as all pages"),
    _Key("tags", "texts", "words to group pages by"),
    _Key("select", "texts", "selectors of the parts that count"),
    _Key("ignore", "texts", "selectors of parts that do not count"),
    _Key("render", "flag", "whether a browser runs its scripts before it is read"),
    _Key("notify-when", "texts", "conditions of notices, such as below 20; empty: every change"),
    _Key("name", "text", "what you call it; empty: nothing"),
    _Key("paused", "flag", "whether it is not polled"),
)
_HEADER = (
    _Key("host", "text", "the host that gets the header, with its port if that is unusual"),
    _Key("name", "text", "of the header"),
    _Key("value", "secret", "a secret, from the environment or a file"),
)
_NOTIFY = (
    _Key("name", "text", "by which the database knows what the receiver was told"),
    _Key("to", "text or secret", "who is told of changes, such as https://... or atom:FILE"),
    _Key("secret", "text or secret", "signs what is posted to a webhook"),
    _Key("tags", "texts", "only changes of pages with one of these; else of all"),
    _Key("digest", "text", "how old a notice lets its oldest change get, such as 1d"),
    _Key("at-most", "text", "notices a time, such as 4/hour"),
)
_TABLES = {"page": _PAGE, "header": _HEADER, "notify": _NOTIFY}
"""Tables that may be there several times."""
_REQUIRED = {"page": ("url",), "header": ("host", "name", "value"), "notify": ("name", "to")}
_SECRET_KEYS = ("env", "file")
_FIELDS = {"header": "headers", "group": "groups", "host_limit": "host_limits", "share": "shares"}
"""Keys that are not named as the fields of the settings."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a file says: `settings` by the names of their fields, the database and the list to
    follow, pages, headers with secrets, and what `[[notify]]` tells of receivers, by the names in
    Python, with secrets read. None: not told.
    """

    path: Path
    settings: Mapping[str, Any]
    db: Place | None = None
    file: Path | None = None
    pages: tuple[NewPage, ...] = ()
    headers: tuple[HeaderLine, ...] = field(default=(), repr=False)
    notify: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)


def read_configuration(path: Path) -> Configuration:
    """Read a file; paths in it are beside it. `InputError` names file, table, key and mend."""
    document = _document(path)
    tables = ("watch", *_TABLES)
    for name, value in document.items():
        if name not in tables and any(name == key.name for key in _WATCH):
            raise InputError(f"{path}: {name} is a key of [watch]; write it below such a line")
        if name not in tables and not isinstance(value, dict | list):
            _check_keys([name], (key.name for key in _WATCH), f"{path}: above all tables", "key")
    _check_keys(document, tables, str(path), "table")
    place = f"{path}: [watch]"
    told = _values(_table(document.get("watch", {}), place), _WATCH, place, path.parent)
    db, file = told.pop("db", None), told.pop("file", None)
    pages = {}
    for place, table in _tables(document, "page", path):
        wishes = _values(table, _PAGE, place, path.parent)
        try:
            page = wished_page(wishes.pop("url"), **wishes)
        except InputError as error:
            raise InputError(f"{place}: {error}") from error
        if page.url in pages:
            raise InputError(f"{place}: {page.url} is there twice; keep one of them")
        pages[page.url] = page
    return Configuration(
        path,
        {_FIELDS.get(name, name): value for name, value in told.items()},
        None if db is None else parse_place(db),
        None if file is None else Path(file),
        tuple(pages.values()),
        tuple(_header(table, place, path) for place, table in _tables(document, "header", path)),
        tuple(_receiver(table, place, path) for place, table in _tables(document, "notify", path)),
    )


def configuration_schema() -> dict[str, Any]:
    """The JSON schema of the file, for editors and other programs."""
    tables = {name: _array(_object(keys, _REQUIRED[name])) for name, keys in _TABLES.items()}
    return {
        "$schema": _JSON_SCHEMA,
        "title": "pollwise.toml",
        "type": "object",
        "properties": {"watch": _object(_WATCH, ()), **tables},
        "additionalProperties": False,
    }


def _object(keys: Iterable[_Key], required: tuple[str, ...]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            key.name: {
                **_KINDS[key.kind].schema,
                "description": key.meaning,
                **({"enum": list(key.choices)} if key.choices else {}),
            }
            for key in keys
        },
        "additionalProperties": False,
    }
    return {**schema, "required": list(required)} if required else schema


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {one_line(error)}; mend it there") from error
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be read ({why}); name a configuration file") from error


def _check_keys(told: Iterable[str], known: Iterable[str], place: str, what: str) -> None:
    known = list(known)
    for name in told:
        if name not in known:
            shown = name if len(name) <= 60 else f"{name[:57]}..."
            near = difflib.get_close_matches(name, known, n=1)
            which = f"the nearest known one is {near[0]}" if near else f"known are {listed(known)}"
            raise InputError(f"{place}: unknown {what} {shown!r}; {which}")


def _tables(document: dict[str, Any], name: str, path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The tables of a name, each with its place; those that are missing a key are errors."""
    tables = document.get(name, [])
    if not isinstance(tables, list):
        raise InputError(f"{path}: [{name}]: write [[{name}]], as there may be several")
    placed = []
    for number, value in enumerate(tables, start=1):
        place = f"{path}: [[{name}]] {number}"
        table = _table(value, place)
        for key in _REQUIRED[name]:
            if key not in table:
                raise InputError(f"{place} has no {key}; add it")
        placed.append((place, table))
    return placed


def _table(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected a table")
    return value


def _values(
    table: dict[str, Any], keys: tuple[_Key, ...], place: str, folder: Path
) -> dict[str, Any]:
    """The values of a table by their names in Python."""
    _check_keys(table, [key.name for key in keys], place, "key")
    values: dict[str, Any] = {}
    for key in keys:
        if key.name in table:
            kind = _KINDS[key.kind]
            try:
                value = kind.read(table[key.name], folder)
            except InputError as error:
                raise InputError(f"{place} {key.name}: {error}") from error
            if value is None or (key.choices and value not in key.choices):
                expected = f"one of {', '.join(key.choices)}" if key.choices else kind.expected
                raise InputError(f"{place} {key.name}: expected {expected} ({key.meaning})")
            values[key.field] = value
    return values


def _header(table: dict[str, Any], place: str, path: Path) -> HeaderLine:
    told = _values(table, _HEADER, place, path.parent)
    value = read_secret(told["value"], f"{place} value", path.parent)
    line = parse_header(f"{told['host']}: {told['name']}: {value}", place)
    if line.host is None:
        raise InputError(
            f"{place} host: {told['host']!r} is no host; write it with a dot or a port"
        )
    return line._replace(is_secret=True)


def _receiver(table: dict[str, Any], place: str, path: Path) -> Mapping[str, Any]:
    told = _values(table, _NOTIFY, place, path.parent)
    for name in ("to", "secret"):
        if isinstance(told.get(name), dict):
            told[name] = read_secret(told[name], f"{place} {name}", path.parent)
    return told


def read_secret(told: Mapping[str, str], place: str, folder: Path) -> str:
    """The text that `{"env": NAME}` or `{"file": PATH}` names, without space around it.

    A path is beside `folder`, or begins with ~. `InputError`, which names the `place` and not the
    text, if there is none.
    """
    [(source, name)] = told.items()
    if source == "env":
        if not (text := os.environ.get(name, "").strip()):
            raise InputError(f"{place}: the environment variable {name} is not set: set it")
        return text
    path = folder / os.path.expanduser(name)
    try:
        text = read_text(path).strip()
    except (OSError, ValueError) as error:
        why = str(error)
        if isinstance(error, UnicodeDecodeError):  # whose words show what it could not read
            why = "not UTF-8 text"
        elif isinstance(error, OSError):
            why = error.strerror or "it cannot be read"
        raise InputError(f"{place}: {path} cannot be read ({why}); make it readable") from None
    if not text:
        raise InputError(f"{place}: {path} is empty: write the secret into it")
    return text


def _text(value: object, folder: Path) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: object, folder: Path) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return tuple(value)
    return None


def _number(value: object, folder: Path) -> float | None:
    try:
        return float(value) if is_real(value) else None
    except OverflowError:  # a whole number of hundreds of digits
        return None


def _flag(value: object, folder: Path) -> bool | None:
    return value if isinstance(value, bool) else None


def _path(value: object, folder: Path) -> str | None:
    if not isinstance(value, str):
        return None
    return str(folder.absolute() / os.path.expanduser(value)) if value else ""


def _database(value: object, folder: Path) -> str | None:
    if isinstance(value, str) and isinstance(parse_place(value), PostgresDatabase):
        return value
    return _path(value, folder)


def _secret_source(value: object, folder: Path) -> dict[str, str] | None:
    if isinstance(value, dict) and len(value) == 1:
        [(source, name)] = value.items()
        if source in _SECRET_KEYS and isinstance(name, str) and name:
            return value
    return None


def _text_or_secret(value: object, folder: Path) -> str | dict[str, str] | None:
    return value if isinstance(value, str) else _secret_source(value, folder)


class _Kind(NamedTuple):
    """A kind of values: how one is read (None: it is of another kind), what to expect, and how the
    schema has it.
    """

    read: Callable[[object, Path], Any]
    expected: str
    schema: dict[str, Any]


_STRING = {"type": "string"}
_SECRET = {
    "type": "object",
    "properties": dict.fromkeys(_SECRET_KEYS, _STRING),
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
}
_SECRETS = '{ env = "NAME" } or { file = "PATH" }'
_KINDS = {
    "text": _Kind(_text, "a text", _STRING),
    "path": _Kind(_path, "the path of a file, as a text", _STRING),
    "database": _Kind(_database, "the path of a file or postgresql://..., as a text", _STRING),
    "number": _Kind(_number, "a number", {"type": "number"}),
    "flag": _Kind(_flag, "true or false", {"type": "boolean"}),
    "texts": _Kind(_texts, "a text or a list of texts", {"anyOf": [_STRING, _array(_STRING)]}),
    "secret": _Kind(
        _secret_source,
        f"a secret by where it is: {_SECRETS}",
        _SECRET,
    ),
    "text or secret": _Kind(
        _text_or_secret, f"a text, or where it is: {_SECRETS}", {"anyOf": [_STRING, _SECRET]}
    ),
}
