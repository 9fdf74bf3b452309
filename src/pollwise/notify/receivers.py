"""Who is told of changes: what a user says of a receiver, checked once.

==============================  ===================================================================
target                          what happens
==============================  ===================================================================
https://example.org/hook        the notice is posted there as JSON, signed if there is a secret
smtp://host/?to=me@example.org  it is mailed (smtps: by TLS from the start)
exec:command and words          the command gets it, as JSON on its standard input
atom:feed.xml                   this file is a feed of the newest changes
discord://..., any other        Apprise sends it (extra `notify`)
==============================  ===================================================================

A target may be a secret: it is shown and logged nowhere, only the receiver's name is.
"""

import difflib
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from pollwise.errors import InputError
from pollwise.extras import require_extra
from pollwise.notify.mailing import read_mailbox
from pollwise.notify.signing import signing_key
from pollwise.scheduler.budgets import parse_interval
from pollwise.times import parse_age

__all__ = [
    "Kind",
    "Receiver",
    "read_receiver",
    "receiver_of",
    "require_own_names",
    "storable_target",
]

_AT_MOST = "30/hour"
_SECRET = re.compile("auth|token|key|secret|passw|pwd|sig|session", re.I)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*")
_PLACES = ("env", "file")
"""Where a secret may be."""
_KEYS = ("name", "to", "secret", "tags", "digest", "at_most")
_TARGETS = (
    "https://..., smtp://..., exec:COMMAND, atom:FILE, or a URL of Apprise such as discord://..."
)


class Kind(StrEnum):
    """How a receiver is reached."""

    WEBHOOK = "webhook"
    MAIL = "mail"
    COMMAND = "command"
    ATOM = "atom"
    APPRISE = "apprise"


@dataclass(frozen=True, slots=True)
class Receiver:
    """Somebody who is told of changes.

    `name` tells it from others, and is what the database keeps of it. `target` is a URL, a command
    or a path. It hears of pages with one of the `tags` (none: of all pages): at the earliest
    `digest` seconds after the oldest change that it has not heard of, and `spacing` seconds after
    the notice before.
    """

    name: str
    kind: Kind
    target: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    tags: tuple[str, ...] = ()
    digest: float = 0.0
    spacing: float = 0.0


def receiver_of(target: str) -> Receiver:
    """The receiver that `--notify TARGET` names: it hears of all pages, as a rule 30 times an hour
    at most.

    `env:NAME` and `file:PATH` stand for a target that an environment variable or a file holds.
    `InputError` for what cannot be used.
    """
    place, _, where = target.partition(":")
    if place not in _PLACES:
        return _receiver(_shown(target), target, "--notify")
    return _receiver(target, _read_secret({place: where}, f"--notify {target}"), "--notify")


def storable_target(target: str) -> str:
    """What of `--notify TARGET` is kept in a database; `InputError` if it has, or may be, a secret.

    A path holds wherever the next run begins.
    """
    place, _, where = target.partition(":")
    if place in _PLACES:
        return target if place == "env" else f"file:{Path(where).expanduser().absolute()}"
    kind, rest = _kind(target, "--notify")
    split = urlsplit(target) if kind in (Kind.WEBHOOK, Kind.MAIL) else None
    told = split is not None and (
        split.username is not None or any(_SECRET.search(key) for key, _ in parse_qsl(split.query))
    )
    if kind is Kind.APPRISE or told:
        raise InputError(
            f"--notify {_shown(target)}: it may hold a secret, and the database keeps it; put it"
            " into an environment variable and say --notify env:NAME, or into the configuration"
        )
    if kind is Kind.ATOM:
        return f"atom:{Path(rest).expanduser().absolute()}"
    return target


def read_receiver(table: Mapping[str, object]) -> Receiver:
    """A `[[notify]]` table of the configuration.

    Keys: `name` and `to` (a target); perhaps `secret` (signs what is posted), `tags` (a list),
    `digest` (an age such as 1h) and `at_most` (by default 30/hour, but for a file no limit). In the
    names of keys a dash does for an underscore. `to` and `secret` may be `{env = "NAME"}` or
    `{file = "PATH"}`. `InputError` names the key and the remedy.
    """
    told = {key.replace("-", "_"): value for key, value in table.items()}
    for key in told:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1, 0.0)[0]
            raise InputError(f"[[notify]] {key}: there is no such key; the nearest one is {near}")
    name = told.get("name")
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InputError('[[notify]] name: give each receiver a name of its own, such as "phone"')
    where = f'[[notify]] "{name}"'
    if "to" not in told:
        raise InputError(f"{where} to: it is missing; give {_TARGETS}")
    secret = None
    if "secret" in told:
        secret = _read_secret(told["secret"], f"{where} secret")
    return _receiver(
        name.strip(),
        _read_secret(told["to"], f"{where} to"),
        where,
        secret,
        tags=_tags(told.get("tags", []), where),
        digest=_digest(told.get("digest"), where),
        at_most=told.get("at_most"),
    )


def require_own_names(receivers: Iterable[Receiver]) -> None:
    """`InputError` if two receivers have one name."""
    names = [receiver.name for receiver in receivers]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two receivers of notices are called {name!r}: rename one of them")


def _receiver(
    name: str,
    target: str,
    where: str,
    secret: str | None = None,
    *,
    tags: tuple[str, ...] = (),
    digest: float = 0.0,
    at_most: object = None,
) -> Receiver:
    kind, rest = _kind(target, where)
    if secret is not None:
        if kind is not Kind.WEBHOOK:
            raise InputError(
                f"{where} secret: only webhooks (https://...) are signed; leave it out"
            )
        signing_key(secret, f"{where} secret")
    if kind is Kind.WEBHOOK:
        _check_webhook(target, where)
    elif kind is Kind.MAIL:
        read_mailbox(target, where)
    elif kind is Kind.COMMAND:
        _check_command(rest, where)
    elif kind is Kind.ATOM:
        path = Path(rest).expanduser()
        if not rest or path.is_dir() or not path.absolute().parent.is_dir():
            raise InputError(f"{where}: atom:{rest} is no file in a folder that is there")
        rest = str(path.absolute())
    else:
        _check_apprise(target, where)
    return Receiver(name, kind, rest, secret, tags, digest, _spacing(at_most, kind, where))


def _kind(target: str, where: str) -> tuple[Kind, str]:
    """How a target is reached, and the target without what says so."""
    scheme, colon, rest = target.strip().partition(":")
    if colon and scheme in ("exec", "atom"):
        return Kind.COMMAND if scheme == "exec" else Kind.ATOM, rest.strip()
    if rest.startswith("//") and _SCHEME.fullmatch(scheme):
        by_scheme = dict.fromkeys(("http", "https"), Kind.WEBHOOK)
        by_scheme |= dict.fromkeys(("smtp", "smtps"), Kind.MAIL)
        return by_scheme.get(scheme.lower(), Kind.APPRISE), target.strip()
    raise InputError(f"{where}: {_shown(target)} is no receiver; give {_TARGETS}")


def _shown(target: str) -> str:
    """A target as it may be shown: of a URL that may hold secrets, only what it begins with."""
    scheme, colon, rest = target.partition(":")
    if not colon or scheme in ("exec", "atom"):
        return target if colon else repr(target[:40])
    if scheme in ("http", "https", "smtp", "smtps"):
        split = urlsplit(target)
        is_plain = split.username is None and not split.password
        return target if is_plain else f"{scheme}://{split.hostname}/..."
    return f"{scheme}://..." if rest.startswith("//") else f"{scheme}:..."


def _check_webhook(target: str, where: str) -> None:
    split = urlsplit(target)
    try:
        fits = bool(split.hostname) and (split.port is None or split.port > 0)
    except ValueError:
        fits = False
    if not fits or not target.isascii() or not target.isprintable() or " " in target:
        raise InputError(f"{where}: {_shown(target)} is no URL; check its host and port")
    if split.username is not None:
        raise InputError(
            f"{where}: a login in the URL of {split.hostname}: take it out, and give a secret, by"
            " which what is posted is signed"
        )


def _check_command(command: str, where: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"{where}: exec:{command}: {error}; close every quote") from error
    if not words or shutil.which(words[0]) is None:
        raise InputError(
            f"{where}: exec:{command}: there is no such program; give one that is there, by its"
            " path or by a name on the PATH"
        )


def _check_apprise(target: str, where: str) -> None:
    require_extra("notify", f"{where} {_shown(target)}")
    from pollwise.notify.apprise_targets import is_usable

    if not is_usable(target):
        raise InputError(
            f"{where}: Apprise cannot use {_shown(target)}; its pages show the form of such URLs"
        )


def _read_secret(value: object, where: str) -> str:
    """A text as it is told, or as an environment variable or a file holds it."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        [(kind, place)] = value.items()
        if kind == "env" and isinstance(place, str):
            if not (text := os.environ.get(place, "").strip()):
                raise InputError(f"{where}: the environment variable {place} is not set: set it")
            return text
        if kind == "file" and isinstance(place, str):
            return _read_file(Path(place).expanduser(), where)
    raise InputError(f'{where}: expected a text, {{env = "NAME"}} or {{file = "PATH"}}')


def _read_file(path: Path, where: str) -> str:
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InputError(f"{where}: {path} is not UTF-8 text; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{where}: {path} cannot be read ({why}): make it readable") from error
    if not text:
        raise InputError(f"{where}: {path} is empty: write the secret into it")
    return text


def _tags(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(tag, str) for tag in value):
        raise InputError(f'{where} tags: expected a list of texts, such as ["shop", "news"]')
    return tuple(value)


def _digest(value: object, where: str) -> float:
    if value is None:
        return 0.0
    seconds = parse_age(value) if isinstance(value, str) else float("nan")
    if not seconds > 0.0:
        raise InputError(f"{where} digest: expected a length of time such as 30m, 12h, 1d or 2w")
    return seconds


def _spacing(value: object, kind: Kind, where: str) -> float:
    if value is None:
        if kind is Kind.ATOM:  # nobody is disturbed
            return 0.0
        value = _AT_MOST
    return parse_interval(f"{where} at_most", value if isinstance(value, str) else "")
