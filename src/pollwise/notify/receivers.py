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

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from pollwise.configuration import read_secret
from pollwise.errors import InputError
from pollwise.export.draft import is_database
from pollwise.extras import require_extra
from pollwise.notify.mailing import read_mailbox
from pollwise.notify.signing import signing_key
from pollwise.scheduler.budgets import parse_interval
from pollwise.times import parse_age

__all__ = [
    "Channel",
    "Receiver",
    "name_of",
    "program_words",
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
_TARGETS = (
    "https://..., smtp://..., exec:COMMAND, atom:FILE, or a URL of Apprise such as discord://..."
)


class Channel(StrEnum):
    """How a receiver is reached."""

    WEBHOOK = "webhook"
    MAIL = "mail"
    COMMAND = "command"
    ATOM = "atom"
    APPRISE = "apprise"


_BY_SCHEME = {
    "http": Channel.WEBHOOK,
    "https": Channel.WEBHOOK,
    "smtp": Channel.MAIL,
    "smtps": Channel.MAIL,
}
"""All other schemes are Apprise's."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """Somebody who is told of changes.

    `name` tells it from others, and is what the database keeps of it. `target` is a URL, a command
    or a path. It hears of pages with one of the `tags` (none: of all pages): at the earliest
    `digest` seconds after the oldest change that it has not heard of, and `spacing` seconds after
    the notice before.
    """

    name: str
    channel: Channel
    target: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    tags: tuple[str, ...] = ()
    digest: float = 0.0
    spacing: float = 0.0

    @property
    def access_hash(self) -> bytes:
        """Two bytes that are others for another address or another secret: too short to guess a
        secret by.
        """
        signed = "" if self.secret is None else f"\0{self.secret}"
        return hashlib.sha256(f"{self.channel} {self.target}{signed}".encode()).digest()[:2]


def receiver_of(target: str) -> Receiver:
    """The receiver that `--notify TARGET` names: it hears of all pages, as a rule 30 times an hour
    at most.

    `env:NAME` and `file:PATH` stand for a target that an environment variable or a file holds.
    `InputError` for what cannot be used.
    """
    _require_text(target)
    place, _, where = target.partition(":")
    if place not in _PLACES:
        return _receiver(name_of(target), target, "--notify")
    where_told = f"--notify {target}"
    return _receiver(target, read_secret({place: where}, where_told, Path()), where_told)


def name_of(target: str) -> str:
    """What the receiver that `--notify TARGET` names is called: what may be shown of the target,
    and, if that is not all of it, a hash.
    """
    shown = target if target.partition(":")[0] in _PLACES else _shown(target)
    if shown == target:
        return target
    return f"{shown} #{hashlib.sha256(target.encode()).hexdigest()[:8]}"


def storable_target(target: str, folder: Path = Path()) -> str:
    """What of `--notify TARGET` is kept in a database; `InputError` if it has, or may be, a secret.

    A path, which is beside `folder`, holds wherever the next run begins.
    """
    _require_text(target)
    place, _, where = target.partition(":")
    if place in _PLACES:
        return target if place == "env" else f"file:{_path(where, folder)}"
    channel, rest = _channel(target, "--notify")
    split = _split(target) if channel in (Channel.WEBHOOK, Channel.MAIL) else None
    told = split is not None and (
        split.username is not None or any(_SECRET.search(key) for key, _ in parse_qsl(split.query))
    )
    if channel is Channel.APPRISE or told:
        raise InputError(
            f"--notify {_shown(target)}: it may hold a secret, and the database keeps it; put it"
            " into an environment variable and say --notify env:NAME, or into the configuration"
        )
    if channel is Channel.ATOM:
        return f"atom:{_path(rest, folder)}" if rest else target
    return target


def read_receiver(told: Mapping[str, Any], folder: Path = Path()) -> Receiver:
    """What a `[[notify]]` table tells, as `Configuration` has it.

    Keys: `name` and `to` (a target); perhaps `secret` (signs what is posted), `tags`, `digest` (an
    age such as 1h) and `at_most` (by default 30/hour, but for a file no limit). A file is beside
    `folder`. `InputError` names the key and the remedy.
    """
    name = told["name"].strip()
    if not name or not name.isprintable():
        raise InputError('[[notify]] name: give each receiver a name of its own, such as "phone"')
    where = f'[[notify]] "{name}"'
    return _receiver(
        name,
        told["to"],
        where,
        told.get("secret"),
        tags=tuple(told.get("tags", ())),
        digest=_digest(told.get("digest"), where),
        at_most=told.get("at_most"),
        folder=folder,
    )


def require_own_names(receivers: Iterable[Receiver]) -> None:
    """`InputError` if two receivers have one name."""
    names = [receiver.name for receiver in receivers]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two receivers of notices are called {name!r}: rename one of them")


def _require_text(target: str) -> None:
    """`InputError` if `--notify TARGET` has bytes that are no text, which no database keeps."""
    try:
        target.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"--notify {_shown(target)}: a byte in it is no text in UTF-8; take it out, or rename"
            " the file"
        ) from None


def _receiver(
    name: str,
    target: str,
    where: str,
    secret: str | None = None,
    *,
    tags: tuple[str, ...] = (),
    digest: float = 0.0,
    at_most: str | None = None,
    folder: Path = Path(),
) -> Receiver:
    channel, rest = _channel(target, where)
    if secret is not None:
        if channel is not Channel.WEBHOOK:
            raise InputError(
                f"{where} secret: only webhooks (https://...) are signed; leave it out"
            )
        signing_key(secret, f"{where} secret")
    if channel is Channel.WEBHOOK:
        _check_webhook(target, where)
    elif channel is Channel.MAIL:
        read_mailbox(target, where)
    elif channel is Channel.COMMAND:
        _check_command(rest, where)
    elif channel is Channel.ATOM:
        path = _path(rest, folder)
        if not rest or path.is_dir() or not path.parent.is_dir():
            raise InputError(f"{where}: atom:{rest} is no file in a folder that is there")
        if is_database(path):
            raise InputError(
                f"{where}: atom:{rest} is a database, which would be lost: name another file"
            )
        rest = str(path)
    else:
        _check_apprise(target, where)
    return Receiver(name, channel, rest, secret, tags, digest, _spacing(at_most, channel, where))


def _channel(target: str, where: str) -> tuple[Channel, str]:
    """How a target is reached, and the target without what says so."""
    scheme, colon, rest = target.strip().partition(":")
    if colon and scheme in ("exec", "atom"):
        return Channel.COMMAND if scheme == "exec" else Channel.ATOM, rest.strip()
    if rest.startswith("//") and _SCHEME.fullmatch(scheme):
        return _BY_SCHEME.get(scheme.lower(), Channel.APPRISE), target.strip()
    raise InputError(f"{where}: {_shown(target)} is no receiver; give {_TARGETS}")


def _shown(target: str) -> str:
    """A target as it may be shown: not what may be secret of a URL, nor the words of a command."""
    scheme, colon, rest = target.strip().partition(":")
    if colon and scheme == "atom":
        return target
    if colon and scheme == "exec":
        program, *words = rest.split(maxsplit=1) or [""]
        return f"exec:{program} ..." if words else target
    if not rest.startswith("//") or not _SCHEME.fullmatch(scheme):
        return "this"
    split = _split(target) if scheme.lower() in _BY_SCHEME else None
    return f"{scheme}://..." if split is None else f"{scheme}://{split.hostname}"


def _split(target: str) -> SplitResult | None:
    """The parts of a URL; None: its host or port cannot be."""
    try:
        split = urlsplit(target.strip())
        fits = bool(split.hostname) and (split.port is None or split.port > 0)
    except ValueError:
        return None
    return split if fits else None


def _path(text: str, folder: Path) -> Path:
    return folder.absolute() / os.path.expanduser(text)


def _check_webhook(target: str, where: str) -> None:
    split = _split(target)
    if split is None or not target.isascii() or not target.isprintable() or " " in target:
        raise InputError(f"{where}: {_shown(target)} is no URL; check its host and port")
    if split.username is not None:
        raise InputError(
            f"{where}: a login in the URL of {split.hostname}: take it out, and give a secret, by"
            " which what is posted is signed"
        )


_OF_A_SHELL = re.compile(r"\d*[<>|]+|[&;]+$")


def program_words(command: str) -> list[bytes]:
    """The words of a command, as its program gets them: in UTF-8 where the locale lacks letters.

    `ValueError` if a quote does not end.
    """
    words = shlex.split(command)
    try:
        return [os.fsencode(word) for word in words]
    except UnicodeEncodeError:
        return [word.encode(errors="surrogateescape") for word in words]


def _not_run(command: str, words: Sequence[bytes]) -> str:
    """Why a command that names no program cannot be run, and the mend."""
    if words and os.path.isfile(words[0]):
        return "this file is not executable; make it so (chmod +x), or name what runs it before it"
    if os.path.isfile(command):
        return "a path with spaces needs quotes of its own, such as exec:'my program'"
    return "there is no such program; give one that is there, by its path or by a name on the PATH"


def _check_command(command: str, where: str) -> None:
    try:
        words = program_words(command)
    except ValueError as error:
        raise InputError(
            f"{where}: {_shown(f'exec:{command}')}: {error}; close every quote"
        ) from error
    if not words or shutil.which(words[0]) is None:
        raise InputError(f"{where}: {_shown(f'exec:{command}')}: {_not_run(command, words)}")
    if sign := _bare_sign(command):
        raise InputError(
            f"{where}: {_shown(f'exec:{command}')}: no shell reads the command, so {sign!r} would"
            " be a word for it; write exec:sh -c 'COMMANDS', or put it in quotes"
        )


def _bare_sign(command: str) -> str:
    """The first sign of a shell that stands outside of quotes; empty: there is none."""
    # With quotes kept, as a quoted sign is a word like others.
    lexer = shlex.shlex(command)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        matches = [matched for word in lexer if (matched := _OF_A_SHELL.match(word))]
    except ValueError:  # quotes behind backslashes, which this form does not know
        return ""
    return matches[0][0] if matches else ""


def _check_apprise(target: str, where: str) -> None:
    require_extra("notify", f"{where} {_shown(target)}")
    from pollwise.notify.apprise_targets import is_usable

    if not is_usable(target):
        raise InputError(
            f"{where}: Apprise cannot use {_shown(target)}; its pages show the form of such URLs"
        )


def _digest(text: str | None, where: str) -> float:
    if text is None:
        return 0.0
    seconds = parse_age(text)
    if not seconds > 0.0:
        raise InputError(f"{where} digest: expected a length of time such as 30m, 12h, 1d or 2w")
    return seconds


def _spacing(at_most: str | None, channel: Channel, where: str) -> float:
    if at_most is None:
        if channel is Channel.ATOM:  # nobody is disturbed
            return 0.0
        at_most = _AT_MOST
    return parse_interval(f"{where} at-most", at_most)
