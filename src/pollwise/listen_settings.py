"""Where a watch listens for signals, as people say it: an address, a token, a public URL."""

from ada_url import URL

from pollwise.errors import InputError

__all__ = ["check_listening", "parse_address", "parse_place"]

_PLACES = ("env", "file")


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `--listen HOST:PORT`; `InputError` if it is no such text.

    >>> parse_address("[::1]:8099")
    ('::1', 8099)
    """
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdecimal() and int(port) < 65_536):
        raise InputError(f"--listen {text!r}: expected HOST:PORT, such as 127.0.0.1:8099")
    return host.removeprefix("[").removesuffix("]"), int(port)


def parse_place(text: str) -> tuple[str, str]:
    """Kind and name of the place of a token, `env:NAME` or `file:PATH`; else `InputError`."""
    kind, _, name = text.partition(":")
    if kind not in _PLACES or not name:
        # The text is not shown: it may be the token itself.
        raise InputError("--listen-token: say where the token is: env:NAME or file:PATH")
    return kind, name


def check_listening(listen: str, token: str, public_url: str) -> None:
    """`InputError` if these cannot be used, or not together; "" stands for none.

    `token` is the place of a token.
    """
    if token:
        parse_place(token)
    if public_url:
        _check_public_url(public_url)
    if not listen:
        if token or public_url:
            option = "--listen-token" if token else "--public-url"
            raise InputError(
                f"{option} needs --listen HOST:PORT; give it, or take {option} back by ''"
            )
        return
    parse_address(listen)
    if not (token or public_url):
        raise InputError(
            f"--listen {listen}: nobody could signal anything; give --listen-token env:NAME or"
            " file:PATH for programs of yours, or --public-url https://... for hubs of feeds"
        )


def _check_public_url(text: str) -> None:
    try:
        url = URL(text)
    except ValueError as error:
        raise InputError(
            f"--public-url {text[:200]!r}: no URL; give one such as https://me.example/"
        ) from error
    plain = not (url.username or url.password or url.search or url.hash)
    if url.protocol not in ("http:", "https:") or not plain or url.href != text:
        near = f"{url.protocol}//{url.host}{url.pathname}"
        raise InputError(f"--public-url {text[:200]!r}: write it as {near}")
    if not url.pathname.endswith("/"):
        raise InputError(f"--public-url {text[:200]!r}: it must end with a slash: {text[:200]}/")
