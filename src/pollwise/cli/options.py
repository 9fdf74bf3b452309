"""Options that several commands share, and what they mean."""

import math
import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pollwise.errors import InputError
from pollwise.units import HOUR

if TYPE_CHECKING:
    from pollwise.store.place import Place as Place
else:  # typer knows no unions; `place_option` makes it
    Place = object


def a_number(kind: str) -> Callable[[float | None], float | None]:
    """Refuses `nan`, which no range keeps out; `kind` of number to give: 'from 0 to 1'."""

    def checked(value: float | None) -> float | None:
        if value is not None and math.isnan(value):
            raise typer.BadParameter(f"nan is no number; give a number {kind}")
        return value

    return checked


DB = Path("pollwise.db")


def place_option(text: str) -> "Place":
    """What names a store."""
    from pollwise.store.place import parse_place

    try:
        return parse_place(text)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


def file_option(text: str) -> Path:
    """The path of a file to read; `-` is the standard input, and `./-` a file."""
    if text.startswith(("http://", "https://")):
        raise typer.BadParameter(f"{text} is no file: download it first, and name the copy")
    from pollwise.texts import STANDARD_INPUT

    return STANDARD_INPUT if text == "-" else Path(text)


class ObjectiveName(StrEnum):
    """What a poll is worth."""

    detection = "detection"
    freshness = "freshness"
    delay = "delay"
    age = "age"
    ephemeral = "ephemeral"


class OrderName(StrEnum):
    """By what pages are sorted."""

    url = "url"
    changed = "changed"
    polled = "polled"
    added = "added"
    changes = "changes"
    rate = "rate"
    weight = "weight"


class PolitenessName(StrEnum):
    """What gets one request at a time."""

    host = "host"
    domain = "domain"
    address = "address"


class LogName(StrEnum):
    """How lines on stderr are written."""

    text = "text"
    json = "json"
    systemd = "systemd"


class RevertsName(StrEnum):
    """What changes back to an earlier version count for."""

    counted = "count"
    ignored = "ignore"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
_DATABASE = "The database: a file, or postgresql://USER@HOST/NAME."
Db = Annotated[Place, typer.Option("--db", parser=place_option, metavar="DATABASE", help=_DATABASE)]
OptionalDb = Annotated[
    Place | None,
    typer.Option(
        "--db", parser=place_option, metavar="DATABASE", help=f"{_DATABASE} Default: pollwise.db."
    ),
]
LogOption = Annotated[
    LogName,
    typer.Option(
        "--log",
        help="How stderr is written: text, json (an object a line; of a watch every poll), or"
        " systemd (with priorities, without times, as journald wants it).",
    ),
]
AllowPrivateOption = Annotated[
    bool | None,
    typer.Option(
        "--allow-private/--no-allow-private",
        help="Redirects and links may lead to private addresses; else only URLs that you give.",
    ),
]
RenderOption = Annotated[
    bool | None,
    typer.Option(
        "--render/--no-render",
        help="Let a browser run the scripts of the page first; costs a unit a request.",
    ),
]
NotifyWhenOption = Annotated[
    list[str] | None,
    typer.Option(
        "--notify-when",
        metavar="CONDITION",
        help="Send notices only when it becomes true: 'below 20', 'above 20', 'falls by 5 %',"
        " 'rises by 10', 'changes by 2 %', 'has WORDS', 'lacks WORDS', 'changed WORDS', or several"
        " with 'and' between them; give several: one of them. '': at every change.",
    ),
]
CrawlDelayOption = Annotated[
    float | None,
    typer.Option(
        rich_help_panel="Fetching",
        min=0,
        callback=a_number("of seconds"),
        help="Seconds between requests to one host, if it asks for no more. Default: 1.",
    ),
]
UserAgentOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel="Fetching",
        metavar="TEXT",
        help="The User-Agent that is sent. Its first word, up to the slash, is the name by which"
        " robots.txt knows the robot. '': that of pollwise.",
    ),
]
HeadersOption = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        rich_help_panel="Fetching",
        metavar="'[HOST: ]NAME: VALUE'",
        help="A header for the hosts of the URLs that you give, or for one of them; give several."
        " No secrets: see --header-file. '': none.",
    ),
]
HeaderFileOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel="Fetching",
        metavar="FILE",
        help="A file with HOST: NAME: VALUE a line, for secrets; its path is stored. '': none.",
    ),
]
CookieFileOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel="Fetching",
        metavar="FILE",
        help="Cookies as browsers export them (Netscape format); its path is stored. '': none.",
    ),
]
CheckedHeaderFileOption = Annotated[
    str | None,
    typer.Option(
        "--header-file",
        rich_help_panel="Fetching",
        metavar="FILE",
        help="A file with HOST: NAME: VALUE a line, for secrets.",
    ),
]
CheckedCookieFileOption = Annotated[
    str | None,
    typer.Option(
        "--cookie-file",
        rich_help_panel="Fetching",
        metavar="FILE",
        help="Cookies as browsers export them (Netscape format).",
    ),
]
NetrcOption = Annotated[
    bool | None,
    typer.Option(
        "--netrc/--no-netrc",
        rich_help_panel="Fetching",
        help="Log in at hosts of the URLs that you give, over https or to this machine only, and at"
        " the proxy, by your netrc file (NETRC or ~/.netrc).",
    ),
]
ProxyOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel="Fetching",
        metavar="URL",
        help="An HTTP proxy that makes all requests, such as http://proxy.example:3128. '': none.",
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        rich_help_panel="Fetching", help="Seconds that one request may take. Default: 30."
    ),
]
MaxSizeOption = Annotated[
    float | None,
    typer.Option(
        rich_help_panel="Fetching",
        metavar="MIB",
        help="The largest body that is read. Default: 10; of a collection: 4.",
    ),
]
PolitenessOption = Annotated[
    PolitenessName | None,
    typer.Option(
        rich_help_panel="Fetching",
        help="What gets one request at a time: each host, all hosts of a registrable domain"
        " together, or all at one address. Default: host.",
    ),
]
GroupsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        rich_help_panel="Fetching",
        metavar="NAME=HOST,HOST",
        help="Hosts that share one crawl delay, as they are one machine; give several. '': none.",
    ),
]
HostLimitsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--host-limit",
        rich_help_panel="Fetching",
        metavar="HOST=N/TIME",
        help="The most polls of one host, such as example.org=200/day, or @NAME=... for a group,"
        " *.example.org=... for a domain; give several. '': none.",
    ),
]
SharesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--share",
        metavar="TAG=PERCENT%",
        help="The share of the budget of all pages with a tag, such as shop=30%; give several,"
        " all of them, as they replace those before. What they do not need goes to others. '':"
        " none.",
    ),
]
ObjectiveOption = Annotated[ObjectiveName, typer.Option(help="What a poll is worth.")]
HalfLifeOption = Annotated[
    float | None,
    typer.Option(help="Hours in which an item loses half its value (objective ephemeral)."),
]
KeepOption = Annotated[
    str | None,
    typer.Option(
        metavar="N|AGE|all",
        help="Versions to keep: the newest N of each page, or those of an AGE such as 90d."
        " Default: all.",
    ),
]
PolicyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        help="A policy by name, perhaps with options (lakg:resolution=2500,exponent=1.3), or one of"
        " your own (MODULE:CLASS, MODULE:CLASS:OPTION=VALUE); give several to compare.",
    ),
]


def parameters_of(objective: ObjectiveName, half_life: float | None) -> dict[str, float]:
    """The parameters of an objective, as `pollwise.objectives.objective` takes them."""
    if objective is not ObjectiveName.ephemeral:
        if half_life is not None:
            raise InputError(
                f"--half-life {half_life} is for --objective ephemeral, not {objective}:"
                " leave it out"
            )
        return {}
    if half_life is None:
        raise InputError("--objective ephemeral needs --half-life, hours above 0, such as 6")
    if not 0 < half_life < math.inf:
        raise InputError(f"--half-life {half_life:g}: expected hours above 0, such as 6")
    return {"decay": math.log(2) / (half_life * HOUR)}


def objective_told(objective: ObjectiveName | None, half_life: float | None) -> dict[str, Any]:
    """The settings that `--objective` and `--half-life` name; neither was given: none.

    A half-life alone is for the objective of the run before, if that has one.
    """
    if objective is None:
        if half_life is None:
            return {}
        return {"parameters": parameters_of(ObjectiveName.ephemeral, half_life)}
    return {"objective": objective.value, "parameters": parameters_of(objective, half_life)}


class FetchingOptions(NamedTuple):
    """What can be said of fetching: the fields of `FetchSettings`; None: as before."""

    crawl_delay: CrawlDelayOption = None
    user_agent: UserAgentOption = None
    headers: HeadersOption = None
    header_file: HeaderFileOption = None
    cookie_file: CookieFileOption = None
    netrc: NetrcOption = None
    proxy: ProxyOption = None
    timeout: TimeoutOption = None
    max_size: MaxSizeOption = None
    politeness: PolitenessOption = None
    groups: GroupsOption = None
    host_limits: HostLimitsOption = None

    def told(self) -> dict[str, Any]:
        """The fields that were given; paths hold wherever the next run begins."""
        told = {
            **self._asdict(),
            "headers": listed(self.headers),
            "header_file": _absolute(self.header_file),
            "cookie_file": _absolute(self.cookie_file),
            "politeness": None if self.politeness is None else self.politeness.value,
            "groups": listed(self.groups),
            "host_limits": listed(self.host_limits),
        }
        return {name: value for name, value in told.items() if value is not None}


def listed(texts: Sequence[str] | None) -> tuple[str, ...] | None:
    """The texts of an option that may be given several times; None: it was not given."""
    # An option that may be given several times comes as an empty list if it is not given.
    return tuple(text for text in texts if text) if texts else None


def _absolute(path: str | None) -> str | None:
    return str(Path(os.path.expanduser(path)).absolute()) if path else path


def token_place_told(text: str, folder: Path = Path()) -> str:
    """`--listen-token` as it is stored: a path, which is beside `folder`, holds anywhere."""
    kind, _, name = text.partition(":")
    if kind != "file" or not name:
        return text
    return f"file:{folder.absolute() / os.path.expanduser(name)}"
