"""Which of the links that a crawl discovers may enter its frontier."""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from enum import Enum

from pollwise.checks import require_whole
from pollwise.collecting.traps import Trap, Traps, is_endless
from pollwise.errors import InputError
from pollwise.web.crawl_urls import crawl_url, host_of

__all__ = ["LinkFilter", "Rejected", "UrlRules"]

_LONGEST = 2000
"""Characters of a URL; longer ones come from faulty programs."""

_NO_TEXT = re.compile(
    r"""\.(?:
        png | jpe?g | gif | webp | svgz? | ico | bmp | tiff? | avif | heic | psd | eps
      | mp[34] | m4[av] | og[agv] | opus | wav | flac | aac | avi | mov | mkv | web[ma] | wmv | flv
      | zip | t?gz | bz2 | t?xz | 7z | rar | zst | tar | jar | whl
      | deb | rpm | apk | exe | msi | dmg | iso | bin
      | woff2? | ttf | otf | eot
      | css | m?js | wasm
    )$""",
    re.VERBOSE | re.IGNORECASE,
)


class Rejected(Enum):
    """Why a link does not enter the frontier, in words for `pollwise status`."""

    NOFOLLOW = "nofollow"
    TOO_LONG = "URL too long"
    NOT_FETCHED = "not an http or https URL"
    NO_TEXT = "file type without text"
    NOT_ALLOWED = "no allow pattern matches"
    DENIED = "a deny pattern matches"
    TOO_DEEP = "too many links from a seed"
    ENDLESS = "endless path"
    HOST_FULL = "enough pages of the host"
    MANY_HOSTS = "too many new hosts in one page"
    CALENDAR = Trap.CALENDAR.value
    NUMBERS = Trap.NUMBERS.value
    QUERIES = Trap.QUERIES.value


class UrlRules:
    """Which URLs a collection wants.

    A URL must match one of the `allow` patterns, if there are any, and none of the `deny`
    patterns: regular expressions, searched for anywhere in the canonical URL. `InputError` if one
    is no regular expression.
    """

    def __init__(self, allow: Iterable[str] = (), deny: Iterable[str] = ()) -> None:
        self._allow = _compiled("allow", allow)
        self._deny = _compiled("deny", deny)

    def refusal(self, url: str) -> Rejected | None:
        """Why a canonical URL is not wanted; None: it is."""
        for pattern in self._allow:
            if pattern.search(url):
                break
        else:
            if self._allow:
                return Rejected.NOT_ALLOWED
        for pattern in self._deny:
            if pattern.search(url):
                return Rejected.DENIED
        return None

    def refusing(self, url: str) -> str | None:
        """The rule that refuses a canonical URL, as an option with its expression; None: none."""
        match self.refusal(url):
            case Rejected.NOT_ALLOWED:
                return " ".join(f"--allow {pattern.pattern}" for pattern in self._allow)
            case Rejected.DENIED:
                return next(f"--deny {own.pattern}" for own in self._deny if own.search(url))
            case _:
                return None


class LinkFilter:
    """The gate of the frontier: gives links their canonical URL, or the reason to reject them.

    `known` are the canonical URLs that the crawl knows already: the caller's own collection (with
    a quick `in`), which the caller adds to before the next `admit`. Known URLs are always admitted
    again. They are also the whole memory of the filter: after a restart, one made of the same URLs
    goes on with the same counts.

    `allow` and `deny` are those of `UrlRules`. `max_depth` is the greatest number of links from a
    seed, `pages_per_host` the greatest number of pages of one host (None: no limit). `traps` bounds
    what is endless.

    `InputError` if a pattern is no regular expression or a limit no number.
    """

    def __init__(
        self,
        known: Collection[str] = (),
        *,
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        max_depth: int | None = None,
        pages_per_host: int | None = None,
        traps: Traps | None = None,
    ) -> None:
        if max_depth is not None:
            require_whole("collect", "max_depth", max_depth, least=0)
        if pages_per_host is not None:
            require_whole("collect", "pages_per_host", pages_per_host, least=1)
        self._known = known
        self._rules = UrlRules(allow, deny)
        self._max_depth = max_depth
        self._pages_per_host = pages_per_host
        self._traps = Traps() if traps is None else traps
        self._hosts: Counter[str] = Counter()
        self._rejections: Counter[Rejected] = Counter()
        for url in known:
            self._hosts[host_of(url)] += 1
            self._traps.enter(url)

    @property
    def rejections(self) -> dict[Rejected, int]:
        """How many links were rejected so far, by reason, the most frequent first."""
        return dict(self._rejections.most_common())

    def admit(
        self,
        url: str,
        *,
        depth: int = 0,
        nofollow: bool = False,
        may_be_new: bool = True,
        counted: bool = True,
    ) -> str | Rejected:
        """The canonical URL of a link's absolute `url`, or why it does not enter the frontier.

        `depth` is the number of links from a seed to the target, `nofollow` whether the link or
        its page asks not to be followed; `may_be_new`: its host may be one without pages yet. A new
        URL is counted for its host and its patterns, one that is rejected in `rejections` if it is
        to be `counted`.
        """
        verdict = self._judged(url, depth, nofollow, may_be_new)
        if counted and isinstance(verdict, Rejected):
            self._rejections[verdict] += 1
        return verdict

    def _judged(self, url: str, depth: int, nofollow: bool, may_be_new: bool) -> str | Rejected:
        if nofollow:
            return Rejected.NOFOLLOW
        # Most links are canonical but for the fragment, and most targets are known.
        unmarked = url.partition("#")[0]
        if unmarked in self._known:
            return unmarked
        if len(unmarked) > _LONGEST:
            return Rejected.TOO_LONG
        try:
            found = crawl_url(unmarked)
        except InputError:
            return Rejected.NOT_FETCHED
        if found in self._known:
            return found
        return self._refused(found, depth, may_be_new) or found

    def _refused(self, url: str, depth: int, may_be_new: bool) -> Rejected | None:
        """Why a new URL (canonical) is rejected; None: it is admitted and was counted."""
        if len(url) > _LONGEST:
            return Rejected.TOO_LONG
        path = url[url.index("/", 8) :].partition("?")[0]
        # Wikis have pages with names such as File:Map.png and Node.js.
        if "." in path and _NO_TEXT.search(path) and "/wiki/" not in path:
            return Rejected.NO_TEXT
        if (refusal := self._rules.refusal(url)) is not None:
            return refusal
        if self._max_depth is not None and depth > self._max_depth:
            return Rejected.TOO_DEEP
        if is_endless(path):
            return Rejected.ENDLESS
        host = host_of(url)
        if not may_be_new and not self._hosts[host]:
            return Rejected.MANY_HOSTS
        if self._pages_per_host is not None and self._hosts[host] >= self._pages_per_host:
            return Rejected.HOST_FULL
        trap = self._traps.enter(url)
        if trap is not None:
            return Rejected[trap.name]
        self._hosts[host] += 1
        return None


def _compiled(option: str, patterns: Iterable[str]) -> list[re.Pattern[str]]:
    compiled = []
    for pattern in patterns:
        try:
            compiled.append(re.compile(pattern))
        except (re.error, OverflowError, RecursionError) as error:
            raise InputError(
                f"--{option} {pattern!r}: not a regular expression ({error});"
                " write one of Python's, such as '^https://example\\.org/'"
            ) from error
    return compiled
