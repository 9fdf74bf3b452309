"""What a user may say about fetching: who asks, through what, how often and with which headers.

Nothing here is a secret, as all of it is stored: of what is secret, only the name of its file.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, NamedTuple

from ada_url import URL

from pollwise.checks import require, require_choice
from pollwise.errors import InputError
from pollwise.scheduler.budgets import parse_budget
from pollwise.shared_scopes import DomainScopes, domain_scope
from pollwise.units import DAY

__all__ = ["POLITENESS", "FetchSettings", "HeaderLine", "parse_header"]

POLITENESS = ("host", "domain", "address")

_LONGEST_TIMEOUT = 240.0
_LONGEST_DELAY = 366 * DAY
_LARGEST = 500.0
_TEXT = re.compile(r"[\t\x20-\x7e]*")
_HOST = r"\[[0-9a-fA-F:.]+\](?::\d+)?|[^\s/:@]*\.[^\s/:@]*(?::\d+)?|[^\s/:@]+:\d+|localhost"
_HEADER = re.compile(
    rf"(?:(?P<host>{_HOST}):[ \t]+)?(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):(?P<value>.*)", re.DOTALL
)
_SECRET = re.compile(
    "auth|bearer|cookie|token|key|secret|passw|pwd|credential|session|sign|login", re.I
)
_SECRET_VALUE = re.compile(r"(bearer|basic|digest|negotiate|token)\s", re.I)
_NEXT_NAME = re.compile(r"([A-Za-z][A-Za-z0-9-]*):\s")
"""What a value begins with if another header stands in it, whose host was taken for a name."""
_OURS = {
    "accept-encoding": "what pollwise can decode",
    "if-modified-since": "what pollwise remembers of a page",
    "if-none-match": "what pollwise remembers of a page",
    "user-agent": "what --user-agent says",
    **dict.fromkeys(
        [
            "connection",
            "content-length",
            "expect",
            "host",
            "keep-alive",
            "proxy-authorization",
            "proxy-connection",
            "range",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
        ],
        "what the connection needs",
    ),
}
_PRODUCT = re.compile("[A-Za-z_-]+")
_GROUP = re.compile("[A-Za-z0-9_-]+")


class HeaderLine(NamedTuple):
    """A header of requests to one host (with its port, if that is unusual); None: to all.

    `is_secret`: it came from a file of secrets.
    """

    host: str | None
    name: str
    value: str
    is_secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """How pages are fetched; "" stands for "none".

    `crawl_delay` is in seconds. `user_agent`: "" is that of pollwise. `headers` are lines as
    `parse_header` reads them, `header_file` and `cookie_file` the paths of files that may hold
    secrets, `netrc`: logins are taken from the user's netrc file. `proxy` is its URL. `timeout` is
    in seconds for one exchange. `max_size` is that of the largest body in MiB (None: as the command
    has it). `politeness` says what is asked by one request at a time: each "host", each "domain",
    that is all hosts of a registrable one, or each "address", that is all hosts whose names mean
    one. `groups` are texts such as
    `name=a.example,b.example`: hosts that share one crawl delay. `host_limits` are texts such as
    `a.example=200/day`, or `@name=200/day` for a group, or `*.a.example=200/day` for a domain whose
    hosts share one scope. `InputError` for what cannot be used; files
    are not looked at.
    """

    OF_ONE_RUN: ClassVar[tuple[str, ...]] = ()
    """Fields that are not stored."""

    crawl_delay: float = 1.0
    user_agent: str = ""
    headers: tuple[str, ...] = ()
    header_file: str = ""
    cookie_file: str = ""
    netrc: bool = False
    proxy: str = ""
    timeout: float = 30.0
    max_size: float | None = None
    politeness: str = "host"
    groups: tuple[str, ...] = ()
    host_limits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        fits = 0 <= self.crawl_delay <= _LONGEST_DELAY
        demand = f"at least 0 and at most {_LONGEST_DELAY:g} seconds"
        require("--crawl-delay", self.crawl_delay, fits, demand)
        fits = 0 < self.timeout <= _LONGEST_TIMEOUT
        require(
            "--timeout", self.timeout, fits, f"above 0 and at most {_LONGEST_TIMEOUT:g} seconds"
        )
        fits = self.max_size is None or 0 < self.max_size <= _LARGEST
        require("--max-size", self.max_size, fits, f"above 0 and at most {_LARGEST:g} MiB")
        require_choice("fetching", "politeness", self.politeness, POLITENESS)
        _check_user_agent(self.user_agent)
        self.header_lines()
        _check_proxy(self.proxy)
        self.limit_texts()

    def header_lines(self) -> list[HeaderLine]:
        """The headers that are no secrets."""
        lines = [parse_header(text, "--header") for text in self.headers]
        for line in lines:
            if _SECRET.search(line.name) or _SECRET_VALUE.match(line.value):
                raise InputError(
                    f"--header {line.name}: that may be a secret, which would be seen by others and"
                    " stored; write the line into a file of yours and give it with --header-file"
                )
        return lines

    def max_bytes(self, default: int) -> int:
        """The size of the largest body in bytes."""
        return default if self.max_size is None else max(1, round(self.max_size * 2**20))

    def group_scopes(self) -> dict[str, str]:
        """The politeness scope of each host that is in a group: `@` and the name of the group."""
        scopes: dict[str, str] = {}
        for text in self.groups:
            name, listed = _named(text, "--group", "news=a.example,b.example")
            if not _GROUP.fullmatch(name):
                raise InputError(
                    f"--group {_shown(text)}: the name {name!r} may have letters, digits, - and _"
                )
            for host in listed.split(","):
                scope = _host(host, f"--group {_shown(text)}")
                if scopes.setdefault(scope, f"@{name}") != f"@{name}":
                    raise InputError(
                        f"--group {_shown(text)}: {scope} is in group {scopes[scope][1:]} as well;"
                        " leave it out of one of them"
                    )
        return scopes

    def shared_scopes(self) -> Mapping[str, str]:
        """The politeness scope of each host that shares one with others."""
        groups = self.group_scopes()
        return DomainScopes(groups) if self.politeness == "domain" else groups

    def limit_texts(self) -> dict[str, str]:
        """By politeness scope, the limit on its polls as it was given, such as 200/day."""
        shared = self.shared_scopes()
        limits: dict[str, str] = {}
        for text in self.host_limits:
            place = f"--host-limit {_shown(text)}"
            name, limit = _named(text, "--host-limit", "a.example=200/day")
            scope = self._limited(name, place)
            if shared.get(scope, scope) != scope:
                raise InputError(
                    f"{place}: {scope} shares its limit with others; give that of all of them:"
                    f" {shared[scope]}={limit}"
                )
            try:
                per_page = parse_budget(limit, "limit").per_page
            except InputError as error:
                raise InputError(f"{place}: {error}") from error
            if per_page:
                raise InputError(f"{place}: a limit is for the whole host, such as 200/day")
            if limits.setdefault(scope, limit) != limit:
                raise InputError(f"{place}: {scope} has another limit too; keep one of them")
        return limits

    def _limited(self, name: str, place: str) -> str:
        """The scope that a limit names: a host, `@` and a group, or `*.` and a domain."""
        if name.startswith("@"):
            if name not in self.group_scopes().values():
                raise InputError(f"{place}: there is no group {name[1:]}; name one with --group")
            return name
        if not name.startswith("*."):
            return _host(name, place)
        domain = domain_scope(_host(name[2:], place))
        if domain != name:
            raise InputError(
                f"{place}: {name[2:]} is no registrable domain, such as example.org"
                + (f"; that is {domain[2:]}" if domain else "")
            )
        if self.politeness != "domain":
            raise InputError(f"{place}: a limit of a domain needs --politeness domain")
        return name

    def limit_rates(self) -> dict[str, float]:
        """By politeness scope, how many polls a second it may get at most."""
        return {scope: parse_budget(text).rate for scope, text in self.limit_texts().items()}

    def recorded(self) -> dict[str, Any]:
        """As the store keeps it, in JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if name not in self.OF_ONE_RUN
        }

    @classmethod
    def read_fields(cls, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """Those fields of the class that were stored, from JSON; the others keep their defaults."""
        known = (field.name for field in fields(cls) if field.name in recorded)
        return {
            name: tuple(recorded[name]) if isinstance(recorded[name], list) else recorded[name]
            for name in known
        }


def parse_header(text: str, place: str) -> HeaderLine:
    """Read `NAME: VALUE`, or `HOST: NAME: VALUE` where HOST has a dot, a port or is localhost.

    `InputError`, which names the `place` but never the value, for a name or a value that no header
    may have, and for headers that pollwise sets itself.

    >>> parse_header("example.org: Accept-Language: de", "--header")
    HeaderLine(host='example.org', name='Accept-Language', value='de', is_secret=False)
    """
    found = _HEADER.fullmatch(text)
    if found is None:
        raise InputError(
            f"{place}: no header; write NAME: VALUE, or HOST: NAME: VALUE for one host, such as"
            " example.org: Accept-Language: de"
        )
    name, value = found["name"], found["value"].strip(" \t")
    if not value or not _TEXT.fullmatch(value):
        raise InputError(
            f"{place}: the value of {name} must be one line of printable ASCII; write it anew"
        )
    if name.lower() in _OURS:
        raise InputError(f"{place}: {name} says {_OURS[name.lower()]}; leave it out")
    following = None if found["host"] else _NEXT_NAME.match(value)
    if following is not None and ("-" not in name or _SECRET.search(following[1])):
        raise InputError(
            f"{place}: its value begins with another header, {following[1]}; if {name} is a host,"
            f" give its port, too: {name}:443: {following[1]}: VALUE"
        )
    return HeaderLine(found["host"] and _host(found["host"], place), name, value)


def _check_user_agent(text: str) -> None:
    if text and not (_TEXT.fullmatch(text) and _PRODUCT.match(text)):
        raise InputError(
            f"--user-agent {_shown(text)}: it must be printable ASCII and begin with the name by"
            " which robots.txt knows the robot (letters, _ and -), such as"
            " 'my-robot/1.0 (+https://example.org/robot)'"
        )


def _check_proxy(text: str) -> None:
    if not text:
        return
    mend = "--proxy: not a URL; write it as http://proxy.example:3128"
    if not text.isprintable() or "://" not in text:
        raise InputError(mend)
    try:
        url = URL(text)
    except ValueError as error:
        raise InputError(mend) from error
    if url.username or url.password:
        raise InputError(
            f"--proxy: a login of {url.host}, which would be seen by others and stored; write it"
            " into your netrc file, give --netrc, and leave it out here"
        )
    if url.protocol not in ("http:", "https:"):
        raise InputError(
            f"--proxy: {url.protocol.rstrip(':')} is not spoken; give an HTTP proxy, such as"
            " http://proxy.example:3128"
        )
    if url.pathname != "/" or url.search or url.hash:
        raise InputError(f"--proxy {url.origin}: more than scheme, host and port; leave it out")


def _named(text: str, option: str, example: str) -> tuple[str, str]:
    name, sign, value = (part.strip() for part in text.partition("="))
    if not (name and sign and value):
        raise InputError(f"{option} {_shown(text)}: expected text such as {example}")
    return name, value


def _host(text: str, place: str) -> str:
    """A host as `pollwise.web.urls.scope_of` spells it."""
    try:
        url = URL(f"http://{text.strip()}/")
    except ValueError as error:
        raise InputError(f"{place}: {_shown(text)} is no host, such as example.org") from error
    if url.href != f"http://{url.host}/":
        raise InputError(f"{place}: {_shown(text)} is no host, such as example.org")
    return url.host.removesuffix(":443")  # that of https, as 80 is that of http


def _shown(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:117] + "...")
