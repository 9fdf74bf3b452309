"""Reading the parameters of requests: what cannot be used is an `InputError` that names it."""

import re

from starlette.requests import Request

from pollwise.errors import InputError

__all__ = ["flag_asked", "text_asked", "whole_number_asked"]

_LONGEST = 1000


def text_asked(request: Request, name: str) -> str:
    """A text in the query of the URL, up to 1,000 characters; empty if there is none."""
    text = request.query_params.get(name, "")
    if len(text) > _LONGEST:
        raise InputError(f"{name} has {len(text)} characters; expected at most {_LONGEST}")
    return text


def whole_number_asked(request: Request, name: str, default: int, *, least: int, most: int) -> int:
    """A whole number in the query of the URL."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not re.fullmatch("[0-9]{1,15}", text) or not least <= int(text) <= most:
        raise InputError(f"{name}={text[:20]!r} must be a whole number from {least} to {most}")
    return int(text)


def flag_asked(request: Request, name: str) -> bool:
    """Whether something is asked for in the query of the URL; it is not unless that says so."""
    text = request.query_params.get(name, "false")
    if text not in ("true", "false"):
        raise InputError(f"{name}={text[:20]!r} must be true or false")
    return text == "true"
