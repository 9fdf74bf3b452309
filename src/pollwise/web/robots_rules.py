"""The rules of one robots.txt (RFC 9309) for this robot: reading, keeping and asking them."""

import re
import zlib
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from protego import Protego

from pollwise.errors import InputError
from pollwise.units import DAY
from pollwise.web.urls import canonical

__all__ = ["Rules", "parse_rules", "product_token"]

_LONGEST_DELAY = DAY
_MAX_SITEMAPS = 1000
_MAX_BYTES = 500 * 1024  # section 2.5: at least this much is read; the rest is ignored
# Parsed, a file takes up to sixty times as much memory.
_MAX_PARSED = 2**20  # characters
_MAX_PARSED_FILES = 256
# Characters of rules times those of the URL: Protego looks for each rule in the whole URL.
_MAX_COMPARED = 2**28

_LINE = re.compile(
    r"\s*(?:(?P<agent>user[-\s]*agent)|(?P<allow>allow)|(?P<disallow>d[ials]{3,6}[oa]w)"
    r"|(?P<delay>crawl[-\s]delay)|(?P<sitemap>site-?maps?))(?:\s*:|\s|$)(?P<value>[^#]*)",
    re.IGNORECASE,
)
_PRODUCT = re.compile(r"[a-z_-]*")  # section 2.2.1


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Rules:
    """What one reading of a robots.txt says to this robot; it holds until `expires_at`.

    `crawl_delay` is the time in seconds that it wants between two polls, at most a day (0: it does
    not say). `unreachable` says why the file could not be fetched (None: it could); then nothing is
    allowed, and `retry_after` are the seconds for which the host wants to be left alone (0: it does
    not say); `unanswered`: there was no answer at all. `text` holds the rules and sitemaps,
    compressed, and `size` is its length before; if empty, all is allowed.
    """

    expires_at: float
    crawl_delay: float = 0.0
    unreachable: str | None = None
    retry_after: float = 0.0
    unanswered: bool = False
    text: bytes = b""
    size: int = 0

    def allows(self, url: str) -> bool:
        """Whether a URL of this origin (canonical) may be fetched.

        Takes up to seconds for a large file; see `RobotsTxt.decide`.
        """
        if self.unreachable is not None:
            return False
        if not self.text:
            return True
        if self.is_too_long(url):
            return False
        return _PARSED.file(self.text).can_fetch(url, "*")

    def is_too_long(self, url: str) -> bool:
        """Whether a URL is disallowed as it would take too long to compare it with all rules."""
        return self.size * len(url) > _MAX_COMPARED

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The sitemaps that the file names for all robots: canonical URLs, each once.

        At most 1,000; a line that names no http or https URL is left out.
        """
        found: dict[str, None] = {}
        for line in _unpacked(self.text)[1] if self.text else ():
            with suppress(InputError):
                found[canonical(line)] = None
        return tuple(found)


def parse_rules(body: bytes, product: str, *, expires_at: float) -> Rules:
    """The rules of a file for the robot with this product token; takes up to seconds."""
    text = body[:_MAX_BYTES].decode(errors="replace").removeprefix("\ufeff")
    lines, sitemaps = _own_lines(text, product)
    paths = [line for line in lines if not line.startswith("crawl-delay")]
    delays = [line for line in lines if line.startswith("crawl-delay")]
    delay = _parsed(delays).crawl_delay("*") or 0.0
    rules = "\n".join(paths)
    packed = zlib.compress("\n\n".join([rules, "\n".join(sitemaps)]).encode())
    return Rules(
        expires_at,
        crawl_delay=min(delay, _LONGEST_DELAY),
        text=packed if paths or sitemaps else b"",
        size=len(rules),
    )


def _own_lines(text: str, product: str) -> tuple[list[str], list[str]]:
    """The rules of a robots.txt that are meant for us, each once, and the sitemaps that it names.

    That is the rules of the groups that name our product token; if none does, those for all robots
    (section 2.2.1). What the standard does not know ends no group (section 2.2.4). Takes time in
    proportion to the text, where Protego would copy every rule to every robot of its group; and it
    matches parts of product tokens.
    """
    own: dict[str, None] = {}
    general: dict[str, None] = {}
    sitemaps: list[str] = []
    named = in_rules = False
    for_us = for_all = False
    for line in text.splitlines():
        matched = _LINE.match(line)
        if matched is None:
            continue
        value = matched["value"].strip()
        if matched["sitemap"]:
            sitemaps += [value] if len(sitemaps) < _MAX_SITEMAPS else []
        elif matched["agent"]:
            if in_rules:
                in_rules = for_us = for_all = False
            for_us = for_us or product_token(value) == product != ""
            for_all = for_all or value == "*"
            named = named or for_us
        else:
            in_rules = True
            kind = "disallow"
            if not matched["disallow"]:
                kind = "allow" if matched["allow"] else "crawl-delay"
            if value and for_us:
                own[f"{kind}:{value}"] = None
            if value and for_all:
                general[f"{kind}:{value}"] = None
    return list(own if named else general), sitemaps


def _parsed(lines: Iterable[str]) -> Protego:
    return Protego.parse("\n".join(["user-agent: *", *lines]))


class _ParsedFiles:
    """The files read last, parsed."""

    def __init__(self) -> None:
        self._files: OrderedDict[bytes, tuple[int, Protego]] = OrderedDict()
        self._size = 0

    def file(self, packed: bytes) -> Protego:
        if packed in self._files:
            self._files.move_to_end(packed)
            return self._files[packed][1]
        rules, _ = _unpacked(packed)
        parsed = _parsed([rules])
        self._files[packed] = len(rules), parsed
        self._size += len(rules)
        while self._size > _MAX_PARSED or len(self._files) > _MAX_PARSED_FILES:
            self._size -= self._files.popitem(last=False)[1][0]
        return parsed


_PARSED = _ParsedFiles()


def _unpacked(packed: bytes) -> tuple[str, list[str]]:
    """The rules and the sitemaps of a text of `Rules`."""
    rules, _, sitemaps = zlib.decompress(packed).decode().partition("\n\n")
    return rules, sitemaps.split("\n")


def product_token(user_agent: str) -> str:
    """What a robots.txt calls the robot with this User-Agent; empty if it has no name."""
    matched = _PRODUCT.match(user_agent.lower())
    return matched[0] if matched else ""
