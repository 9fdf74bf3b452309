"""Headers, cookies and logins of the user, each for its own hosts only.

Files are read once, when a run begins. What they hold is kept in memory only: no error, no log and
no database tells it.
"""

import ipaddress
import netrc
import os
import re
import warnings
from collections.abc import Iterable, Mapping
from http.cookiejar import Cookie, LoadError, MozillaCookieJar
from pathlib import Path

import aiohttp
from ada_url import URL
from multidict import CIMultiDict

from pollwise.errors import InputError
from pollwise.fetch_settings import FetchSettings, HeaderLine, parse_header
from pollwise.texts import read_text

__all__ = ["OwnHeaders", "read_own_headers"]

_COOKIE = re.compile(r"[\x20-\x7e]*")
_OTHERWISE = {
    "--header-file": "--header-file '' to do without",
    "--cookie-file": "--cookie-file '' to do without",
    "--netrc": "--no-netrc",
}
_Login = tuple[str, str]


class OwnHeaders:
    """What a user wants to be sent along with requests.

    `lines` with a host are for that host (and its port) only, those without for any. Secret ones go
    over https, to this machine, or where plain HTTP was asked for. `cookies` go where RFC 6265
    section 5.4 has them; none that servers set is ever kept. `logins` (user name and password by
    host name) go by HTTP Basic, over https or to this machine only; a line with the header
    Authorization comes before them.
    """

    def __init__(
        self,
        lines: Iterable[HeaderLine] = (),
        cookies: Iterable[Cookie] = (),
        logins: Mapping[str, _Login] | None = None,
    ) -> None:
        # Those of one host come later and so replace those of all.
        self._lines = sorted(lines, key=lambda line: line.host is not None)
        # Longer paths first (RFC 6265 section 5.4).
        self._cookies = sorted(cookies, key=lambda cookie: -len(cookie.path))
        self._logins = {} if logins is None else logins
        self.are_any = bool(self._lines or self._cookies or self._logins)
        """Whether there are any."""

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts (with their ports) that lines name."""
        return frozenset(line.host for line in self._lines if line.host is not None)

    def of(
        self, url: str, now: float, *, by_proxy: bool, may_be_plain: bool = False
    ) -> dict[str, str]:
        """The headers of a request to `url` (canonical) at the time `now`, in seconds.

        `by_proxy`: it is made by a proxy, so that nothing stays on this machine. `may_be_plain`:
        the user gave URLs of this host that begin with http.
        """
        if not self.are_any:
            return {}
        parsed = URL(url)
        headers: CIMultiDict[str] = CIMultiDict()
        is_private = parsed.protocol == "https:" or (
            _is_this_machine(parsed.hostname) and not by_proxy
        )
        login = self._logins.get(_bare(parsed.hostname))
        if login is not None and is_private:
            headers["Authorization"] = aiohttp.encode_basic_auth(*login)
        if fitting := [c for c in self._cookies if _fits(c, parsed, now)]:
            headers["Cookie"] = "; ".join(f"{c.name}={c.value or ''}" for c in fitting)
        for line in self._lines:
            is_safe = is_private or may_be_plain or not line.is_secret
            if is_safe and line.host in (None, parsed.host):
                headers[line.name] = line.value
        return dict(headers)

    def of_proxy(self, proxy: str) -> dict[str, str]:
        """The headers that log in at the proxy with this URL."""
        login = self._logins.get(_bare(URL(proxy).hostname))
        return {} if login is None else {"Proxy-Authorization": aiohttp.encode_basic_auth(*login)}


def read_own_headers(settings: FetchSettings, secret: Iterable[HeaderLine] = ()) -> OwnHeaders:
    """Read the files that the settings name; `InputError` if one cannot be read or used.

    `secret` are lines that are told besides, and not stored.
    The netrc file is that of the environment variable NETRC, or ~/.netrc; its `default` entry does
    not count, as it would go to every host.
    """
    lines = [*settings.header_lines(), *secret]
    if settings.header_file:
        lines += _header_lines(Path(settings.header_file))
    cookies = _cookies(Path(settings.cookie_file)) if settings.cookie_file else []
    return OwnHeaders(lines, cookies, _logins() if settings.netrc else {})


def _header_lines(path: Path) -> list[HeaderLine]:
    lines = []
    for number, text in enumerate(_text(path, "--header-file").splitlines(), start=1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        place = f"{path}, line {number}"
        line = parse_header(text.strip(), place)
        if line.host is None:
            raise InputError(
                f"{place}: {line.name} names no host; write HOST: NAME: VALUE, where HOST has a dot"
                " or a port, so that it is sent nowhere else"
            )
        lines.append(line._replace(is_secret=True))
    return lines


def _cookies(path: Path) -> list[Cookie]:
    _text(path, "--cookie-file")
    jar = MozillaCookieJar()
    try:
        with warnings.catch_warnings():  # of a bad line it also warns, with a traceback
            warnings.simplefilter("ignore")
            jar.load(str(path), ignore_discard=True, ignore_expires=True)
    # Nothing of what the error says is told: it quotes the line.
    except (LoadError, ValueError, AssertionError):
        raise InputError(
            f"{path}: not a cookie file; it must begin with '# Netscape HTTP Cookie File' and have"
            " seven fields a line, with tabs between them"
        ) from None
    cookies = list(jar)
    for cookie in cookies:
        if not (_COOKIE.fullmatch(cookie.name) and _COOKIE.fullmatch(cookie.value or "")):
            raise InputError(
                f"{path}: a cookie of {cookie.domain} has characters that no header may have; take"
                " it out, and save the file with line feeds only"
            )
    return cookies


def _logins() -> dict[str, _Login]:
    path = Path(os.environ.get("NETRC") or os.path.expanduser("~/.netrc"))
    _text(path, "--netrc")
    try:
        hosts = netrc.netrc(str(path)).hosts
    except netrc.NetrcParseError as error:  # its words may be a password
        raise InputError(
            f"{path}, line {error.lineno}: not a netrc file; write"
            " `machine HOST login NAME password WORD`"
        ) from None
    logins = {
        host.lower(): (name, word or "")
        for host, (name, _, word) in hosts.items()
        if host != "default"
    }
    if any(":" in name for name, _ in logins.values()):
        raise InputError(f"{path}: a login has a colon, which HTTP cannot send; take it out")
    return logins


def _text(path: Path, option: str) -> str:
    """The text of a file, in UTF-8; `InputError` if it cannot be read."""
    try:
        return read_text(path)
    except UnicodeDecodeError:
        raise InputError(f"{option} {path}: not UTF-8 text; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"{option} {path}: cannot be read ({why}); make it readable, or give"
            f" {_OTHERWISE[option]}"
        ) from error


def _fits(cookie: Cookie, url: URL, now: float) -> bool:
    """Whether a cookie belongs to a request (RFC 6265 sections 5.1.3, 5.1.4 and 5.4)."""
    host, domain = url.hostname, cookie.domain.removeprefix(".").lower()
    is_below = cookie.domain_specified and host.endswith(f".{domain}") and not _is_address(host)
    path = cookie.path if cookie.path.endswith("/") else f"{cookie.path}/"
    return (
        (host == domain or is_below)
        and (url.pathname == cookie.path or url.pathname.startswith(path))
        and (not cookie.secure or url.protocol == "https:")
        # Of a cookie that lasts as long as a session, files say 0.
        and not (cookie.expires and cookie.is_expired(round(now)))
    )


def _bare(hostname: str) -> str:
    return hostname.strip("[]")


def _is_address(hostname: str) -> bool:
    try:
        ipaddress.ip_address(_bare(hostname))
    except ValueError:
        return False
    return True


def _is_this_machine(hostname: str) -> bool:
    if not _is_address(hostname):
        return hostname == "localhost"
    return ipaddress.ip_address(_bare(hostname)).is_loopback
