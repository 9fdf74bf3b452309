"""Checks of arguments; each message names the owner, the argument, its value and the range.

Besides, `read_json`: of what was stored, anything may be damaged.
"""

import inspect
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Any, TypeGuard

import numpy as np

from pollwise.errors import InputError
from pollwise.extras import require_extra

__all__ = [
    "MOST_SHARES",
    "is_finite",
    "is_real",
    "is_whole",
    "read_json",
    "require",
    "require_choice",
    "require_drawable",
    "require_generator",
    "require_no_link",
    "require_object",
    "require_positive",
    "require_share",
    "require_shares",
    "require_weight",
    "require_whole",
    "shown",
    "shown_text",
]

MOST_SHARES = 32
"""Tags that may have a share of the budget."""

_LONGEST_SHOWN = 200


def read_json(text: str, members: Callable[[list[tuple[str, Any]]], object] | None = None) -> Any:
    """The value of a text in JSON; `ValueError` if it is none, or nested too deeply.

    `members` makes an object of its names and values (None: a dict, with the last value of each).

    >>> read_json("[" * 100_000)
    Traceback (most recent call last):
    ...
    ValueError: nested too deeply
    """
    try:
        return json.loads(text, object_pairs_hook=members)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is an integer, numpy's included; True and False are none.

    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: object) -> TypeGuard[float]:
    """Whether it is a real number, numpy's included; True and False are none.

    >>> is_real(3), is_real(0.5), is_real("0.5")
    (True, True, False)
    """
    # numpy's lengths of time are registered as integers.
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)


def require(name: str, value: object, holds: bool, demand: str) -> None:
    """`InputError`, which says that the value must be `demand`, unless `holds`.

    >>> require("Budget: rate", -1.0, False, "above 0")
    Traceback (most recent call last):
    pollwise.errors.InputError: Budget: rate=-1.0 must be above 0
    """
    if not holds:
        raise InputError(f"{name}={shown(value)} must be {demand}")


def shown(value: object) -> str:
    """A value on one line, in a few words.

    >>> shown(np.zeros((2, 2)))
    'array([[0., 0.], [0., 0.]])'
    """
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        text = f"{type(value).__name__} too long to show"
    return shown_text(text)


def shown_text(text: str) -> str:
    """A text on one line, shortened if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]}..."


def require_no_link(path: Path) -> None:
    """`InputError` if a file to be written is a symbolic link: what it leads to was not named."""
    if path.is_symlink():
        leads_to = os.path.realpath(path)
        raise InputError(f"{path} is a link to {leads_to}: name that file, or remove the link")


def require_object(name: str, value: object, kind: type | UnionType, demand: str) -> None:
    """`InputError`, which says that the value must be `demand`, unless it is an object of a kind.

    A class is none, though it has all methods that a protocol asks for.

    >>> require_object("simulate: policy", dict, dict, "a policy")
    Traceback (most recent call last):
    pollwise.errors.InputError: simulate: policy is the class dict; give an object, such as dict()
    """
    if isinstance(value, type):
        raise InputError(
            f"{name} is the class {value.__name__}; give an object, such as {value.__name__}()"
        )
    if not isinstance(value, kind):
        missing = missing_members(value, kind)
        is_partly = 0 < len(missing) < len(_members(kind))
        lacks = f": it lacks {', '.join(missing)}" if is_partly else ""
        require(name, value, False, demand + lacks)


def missing_members(value: object, kind: type | UnionType) -> list[str]:
    """The methods that a value lacks of those that a protocol asks for; none of another kind."""
    return [each for each in _members(kind) if getattr(value, each, None) is None]


def _members(kind: type | UnionType) -> list[str]:
    """What a protocol asks for; nothing of another kind."""
    if isinstance(kind, UnionType) or not getattr(kind, "_is_protocol", False):
        return []
    named = (*inspect.get_annotations(kind), *vars(kind))
    return [name for name in named if not name.startswith("_")]


def require_shares(owner: str, shares: Mapping[str, float]) -> None:
    """`InputError` unless shares can all be given: each above 0, together at most 1, at most 32.

    >>> require_shares("--share", {"shop": 0.7, "news": 0.6})
    Traceback (most recent call last):
    pollwise.errors.InputError: --share: together that is 130 % of the budget; make some smaller
    """
    for tag, share in shares.items():
        require(f"{owner}: {tag}", share, 0 < share <= 1, "above 0 and at most 1")
    total = math.fsum(shares.values())
    if total > 1.0 + 1e-9:
        raise InputError(
            f"{owner}: together that is {100 * total:g} % of the budget; make some smaller"
        )
    if len(shares) > MOST_SHARES:
        raise InputError(f"{owner}: {len(shares)} tags have a share; give {MOST_SHARES} at most")


def require_whole(
    owner: str, name: str, value: object, least: int, most: int | None = None
) -> None:
    """`InputError` unless it is a whole number from `least` to `most` (None: no upper bound).

    >>> require_whole("lakg", "resolution", 1.5, least=2)
    Traceback (most recent call last):
    pollwise.errors.InputError: lakg: resolution=1.5 must be a whole number of at least 2
    """
    holds = is_whole(value) and least <= value and (most is None or value <= most)
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    require(f"{owner}: {name}", value, holds, f"a whole number {bounds}")


def is_finite(value: object) -> TypeGuard[float]:
    """Whether it is a real number that a float can hold, and neither infinite nor NaN.

    >>> is_finite(3), is_finite(10**400), is_finite(float("inf"))
    (True, False, False)
    """
    try:
        return is_real(value) and math.isfinite(value)
    except OverflowError:
        return False


def require_positive(owner: str, name: str, value: object) -> None:
    """`InputError` unless it is a finite number above 0."""
    holds = is_finite(value) and value > 0
    require(f"{owner}: {name}", value, holds, "a finite number above 0")


def require_share(owner: str, name: str, value: object) -> None:
    """`InputError` unless it is a number from 0 to 1."""
    holds = is_real(value) and 0 <= value <= 1
    require(f"{owner}: {name}", value, holds, "a number from 0 to 1")


def require_weight(name: str, weight: float) -> None:
    """`InputError` for a weight by which a page cannot be compared with others."""
    require(name, weight, 0 <= weight < math.inf, "finite and at least 0")


def require_choice(owner: str, name: str, value: object, choices: Iterable[str]) -> None:
    """`InputError` unless it is one of the choices."""
    known = list(choices)
    holds = isinstance(value, str) and value in known
    require(f"{owner}: {name}", value, holds, f"one of {', '.join(known)}")


def require_generator(owner: str, generator: object) -> None:
    """`InputError` unless it is a generator of random numbers."""
    holds = isinstance(generator, np.random.Generator)
    demand = "a numpy Generator, such as numpy.random.default_rng(1)"
    require(f"{owner}: generator", generator, holds, demand)


def require_drawable(figure: Path, otherwise: str) -> None:
    """`InputError` unless matplotlib is installed and the file `figure` can be written.

    `otherwise`: what the user can do instead.
    """
    require_extra("plots", "to draw a figure", otherwise)
    there = figure if figure.exists() else figure.parent
    if figure.is_dir() or not (figure.parent.is_dir() and os.access(there, os.W_OK)):
        raise InputError(
            f"the figure {figure} cannot be written: give a place where it can, or {otherwise}"
        )
    if figure.suffix.casefold() != ".png":
        raise InputError(f"the figure {figure} would be a PNG file: give a name that ends in .png")
