"""What is known of a page's noise, as text: a list in JSON."""

import json
from dataclasses import astuple
from functools import lru_cache
from typing import Any

from pollwise.checks import read_json
from pollwise.types import Mask, MaskState, Noise, PageMemory

__all__ = ["pack_noise", "unpack_noise"]

_NOTHING = PageMemory().noise  # the same one that most pages have


def pack_noise(noise: Noise) -> str:
    """For `unpack_noise`; empty if nothing is known."""
    if noise is _NOTHING or noise == _NOTHING:  # as of most pages
        return ""
    return json.dumps(astuple(noise), separators=(",", ":"), ensure_ascii=False)


@lru_cache  # what is stored of most pages is of a few kinds
def unpack_noise(text: str) -> Noise:
    """What `pack_noise` packed; `ValueError` if it is anything else."""
    if not text:
        return _NOTHING
    try:
        masks, *counts = read_json(text)
        changes_in_a_row, since_look, gap = map(_whole, counts)
        return Noise(tuple(map(_mask, masks)), changes_in_a_row, since_look, gap)
    except (TypeError, ValueError) as error:
        raise ValueError(f"no noise of a page: {text[:40]!r}") from error


def _mask(packed: list[Any]) -> Mask:
    before, after, shape, least, most, room, sample, value, quiet, state, varying, *rest = packed
    return Mask(
        _pair(before),
        _pair(after),
        _text(shape),
        _whole(least),
        _whole(most),
        _whole(room),
        _text(sample),
        _text(value),
        _whole(quiet),
        MaskState(_whole(state)),
        tuple(map(_whole, varying)),
        *map(_flag, rest),  # earlier versions have none
    )


def _flag(packed: object) -> bool:
    if not isinstance(packed, bool):
        raise TypeError(packed)
    return packed


def _pair(packed: object) -> tuple[str, str]:
    if not isinstance(packed, list):
        raise TypeError(packed)
    farther, nearer = map(_text, packed)
    return farther, nearer


def _text(packed: object) -> str:
    if not isinstance(packed, str):
        raise TypeError(packed)
    return packed


def _whole(packed: object) -> int:
    if type(packed) is not int or packed < 0:
        raise TypeError(packed)
    return packed
