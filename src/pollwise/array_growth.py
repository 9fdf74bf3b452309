"""Arrays, by id or by row, that grow where they are: those of millions of pages would take seconds
to copy, in which nothing is polled.
"""

import math
import os
import resource
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["enlarged", "long_enough", "with_room"]

Kind = TypeVar("Kind", bound=np.generic)

_LONG = 1 << 20
"""An array of so many bytes is long; to copy a shorter one takes a millisecond at most."""
_OVERCOMMIT = Path("/proc/sys/vm/overcommit_memory")
_NEVER = "2"


def enlarged(array: NDArray[Any], more: int) -> NDArray[Any]:
    """The array with `more` zero elements at its end; in the same memory where that has room.

    `array` owns its memory, or is what this function gave. It is not to be used any more. Where it
    has to be copied, there is room for it to double.
    """
    length = len(array) + more
    room = array.base
    if room is None or len(room) < length:
        room = with_room(max(length, 2 * len(array)), array.dtype, array.shape[1:])
        room[: len(array)] = array
    return room[:length]


def with_room(length: int, dtype: Any, shape: tuple[int, ...] = ()) -> NDArray[Any]:
    """Zeros for at least `length` elements of this shape; a long array has room for many more.

    It takes the addresses of half the memory that the machine has, and memory for what is written.
    Where addresses or data are limited, there is as much room as is asked for.
    """
    element = np.dtype(dtype).itemsize * math.prod(shape)
    if length * element >= _LONG:
        length = max(length, _free_addresses() // element)
    return np.zeros((length, *shape), dtype)


@cache
def _free_addresses() -> int:
    """How many bytes of addresses an array may take without a use for them."""
    limits = (resource.getrlimit(one)[0] for one in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    is_limited = any(limit != resource.RLIM_INFINITY for limit in limits)
    counts_as_memory = _OVERCOMMIT.exists() and _OVERCOMMIT.read_text().strip() == _NEVER
    if is_limited or counts_as_memory:
        return 0
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def long_enough(array: NDArray[Kind], length: int, blank: float = 0) -> NDArray[Kind]:
    """The array if it has so many elements, else `enlarged` to an eighth more than that.

    >>> long_enough(np.array([5, 7]), 8, -1)
    array([ 5,  7, -1, -1, -1, -1, -1, -1, -1])
    """
    before = len(array)
    if length <= before:
        return array
    array = enlarged(array, length + length // 8 - before)
    if blank:
        array[before:] = blank
    return array
