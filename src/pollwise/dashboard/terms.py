"""Whom `pollwise serve` answers, and of what."""

import json
from dataclasses import asdict, dataclass
from typing import Self

from pollwise.checks import read_json
from pollwise.errors import InputError
from pollwise.store.place import Place, parse_place, place_told
from pollwise.web.own_servers import checked_token
from pollwise.web.urls import canonical

__all__ = ["OTHER_TOKEN", "AnsweringTerms", "Peer", "peer_told"]

OTHER_TOKEN = "give another one, or leave --token out to get one made"
"""What to do about a token that is not good enough."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another topic engine, by its URL without a slash at the end, and the token that it wants."""

    url: str
    token: str | None = None


@dataclass(frozen=True, slots=True)
class AnsweringTerms:
    """What `pollwise serve` answers of, and to whom.

    `names` are what it is called besides localhost and its addresses, in lower case. Whoever asks
    must bring the `token`, or come from an address in `proxies`, which know who asks; with neither
    token nor proxies, everybody may. `peers` get the searches that are about their topics.
    """

    db: Place
    names: tuple[str, ...] = ()
    token: str | None = None
    proxies: tuple[str, ...] = ()
    peers: tuple[Peer, ...] = ()

    def encode(self) -> str:
        """These terms as one line of JSON."""
        return json.dumps({**asdict(self), "db": place_told(self.db)})

    @classmethod
    def decode(cls, line: str) -> Self:
        """The terms of such a line."""
        told = read_json(line)
        assert isinstance(told, dict)
        return cls(
            parse_place(told["db"]),
            tuple(told["names"]),
            told["token"],
            tuple(told["proxies"]),
            tuple(Peer(**peer) for peer in told["peers"]),
        )


def peer_told(text: str) -> Peer:
    """The peer of a URL, which may end with `?token=TOKEN`."""
    try:
        url, mark, query = canonical(text).partition("?")
    except InputError as error:
        raise InputError(f"--peers: {error}") from error
    if not mark:
        return Peer(url.rstrip("/"))
    if not query.startswith("token="):
        raise InputError(
            f"--peers {text}: leave out what follows the question mark, unless it is token=TOKEN"
        )
    return Peer(url.rstrip("/"), checked_token(query.removeprefix("token="), OTHER_TOKEN))
