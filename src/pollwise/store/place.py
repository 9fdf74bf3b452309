"""What names a store: a file of SQLite, or a PostgreSQL database."""

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from pollwise.errors import InputError

__all__ = [
    "DEFAULT",
    "Place",
    "PostgresDatabase",
    "command",
    "db_option",
    "file_of",
    "parse_place",
    "place_told",
]

_NO_FILE = ":memory:"
_SCHEMES = ("postgresql", "postgres")
_SEARCH_PATH = re.compile(r"-c\s*search_path=((?:\\.|[^\s\\])*)", re.DOTALL)
_PARAMETER = re.compile(r"[\w%]+=|$")
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """A PostgreSQL database by the `url` that libpq takes; as text it is without its password."""

    url: str

    def __str__(self) -> str:
        scheme, _, rest = self.url.partition("://")
        user = _user_info(rest)
        if user is not None:
            rest = f"{user.partition(':')[0]}{rest[len(user) :]}"
        address, query = _divided(rest)
        told = "&".join(part for part in query.split("&") if not _is_secret(part))
        return f"{scheme}://{address}{'?' if told else ''}{told}"

    def __repr__(self) -> str:
        return f"PostgresDatabase({str(self)!r})"

    @property
    def name(self) -> str:
        """That of the database, and of the schema if one is told, for a title."""
        database = unquote(urlsplit(str(self)).path.strip("/")) or "postgresql"
        paths = _SEARCH_PATH.findall(self._parameters().get("options", ""))
        if not paths:
            return database
        schema = re.sub(r"\\(.)", r"\1", paths[-1]).partition(",")[0]  # of several the last holds
        schema = schema.strip('"')
        return f"{database}, {schema}"

    def in_schema(self, schema: str) -> "PostgresDatabase":
        """The same database, with this schema in the place of those that are told."""
        told = self._parameters()
        others = _SEARCH_PATH.sub("", told.get("options", "")).strip()
        told["options"] = f"{others} -csearch_path={_option(schema)}".strip()
        scheme, _, rest = self.url.partition("://")
        query = urlencode(told, safe="/", quote_via=quote)
        return PostgresDatabase(f"{scheme}://{_divided(rest)[0]}?{query}")

    def _parameters(self) -> dict[str, str]:
        """What is told after the question mark."""
        query = _divided(self.url.partition("://")[2])[1]
        # To libpq a plus sign is no space.
        return dict(parse_qsl(query.replace("+", "%2B"), keep_blank_values=True))


def _option(schema: str) -> str:
    """The name of a schema, as an option of a connection has it."""
    quoted = schema if _PLAIN_NAME.fullmatch(schema) else '"' + schema.replace('"', '""') + '"'
    return re.sub(r"([\\\s])", r"\\\1", quoted)


def _user_info(address: str) -> str | None:
    """What is before the host: up to the last @ that no / comes before; None: nothing is."""
    before, at, _ = address.partition("/")[0].rpartition("@")
    return before if at else None


def _divided(address: str) -> tuple[str, str]:
    """What is before the question mark, and behind it; one in a password does not count."""
    user = _user_info(address) or ""
    before, _, query = address[len(user) :].partition("?")
    return user + before, query


def _is_secret(parameter: str) -> bool:
    name = unquote(parameter.partition("=")[0]).lower()
    return "password" in name or "secret" in name


Place = Path | PostgresDatabase
DEFAULT = Path("pollwise.db")
"""What commands use if no place is told."""


def parse_place(told: str | os.PathLike[str] | PostgresDatabase) -> Place:
    """What a user calls a store: `postgresql://...`, else the path of a file.

    `InputError` for an address that cannot be one, and for `:memory:`, which is no file to SQLite.

    >>> parse_place("pollwise.db")
    PosixPath('pollwise.db')
    >>> str(parse_place("postgresql://me:secret@db.example/pages?sslmode=require"))
    'postgresql://me@db.example/pages?sslmode=require'
    """
    if isinstance(told, PostgresDatabase):
        return told
    text = os.fspath(told)
    if text == _NO_FILE:
        raise InputError(f"{text} would be gone with the process: name a file such as {DEFAULT}")
    scheme, separator, _ = text.partition("://")
    if not separator or scheme.lower() not in _SCHEMES:
        return Path(text)
    address = text[len(scheme) + 3 :]
    try:
        urlsplit(text)
        if not text.isprintable():
            raise ValueError("a character in it cannot be shown: write it percent-encoded")
        behind = address.removeprefix(f"{_user_info(address) or ''}@")
        before, _, query = behind.partition("?")
        if "@" in before or not all(map(_PARAMETER.match, query.split("&"))):
            raise ValueError("in a password / is written %2F and ? is %3F, and in a name @ is %40")
    except ValueError as error:
        raise InputError(
            f"the address after {scheme}:// cannot be read ({error}); expected"
            " postgresql://USER@HOST/DATABASE"
        ) from error
    return PostgresDatabase(f"{scheme.lower()}://{address}")


def db_option(place: Place | str) -> str:
    """How a command is told this place, in a shell; without a password.

    >>> db_option(parse_place("postgresql://db.example/pages?sslmode=require&connect_timeout=9"))
    "--db 'postgresql://db.example/pages?sslmode=require&connect_timeout=9'"
    """
    return f"--db {shlex.quote(str(place))}"


def command(place: Place | str, *words: str) -> str:
    """A command of pollwise for this place, as a shell takes it: what remedies name.

    >>> command(Path("my pages.db"), "explain", "https://example.org/?a=1&b=2")
    "pollwise explain 'https://example.org/?a=1&b=2' --db 'my pages.db'"
    >>> command(DEFAULT, "list")
    'pollwise list'
    """
    told = f"pollwise {shlex.join(words)}"
    return told if str(place) == str(DEFAULT) else f"{told} {db_option(place)}"


def place_told(place: Place) -> str:
    """The text of which `parse_place` makes this place again, with a password if it has one."""
    return place.url if isinstance(place, PostgresDatabase) else str(place)


def file_of(place: Place, purpose: str) -> Path:
    """The file that the place is; `InputError`, which names the `purpose`, if it is none."""
    if isinstance(place, PostgresDatabase):
        raise InputError(f"{purpose} needs SQLite, not {place}: name a file after --db")
    return place
