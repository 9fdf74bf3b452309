"""Arrays that grow where they are: those of millions of pages would take seconds to copy."""

import contextlib
import math
import os
import resource
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["enlarged", "with_room"]

_LONG = 1 << 14
"""An array of so many elements is long; to copy a shorter one takes some milliseconds."""
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
    Where addresses are short, as the system limits those of a process or counts them as memory,
    others need what is left: then there is no more room than was asked for.
    """
    if length >= _LONG:
        element = np.dtype(dtype).itemsize * math.prod(shape)
        try:
            return np.zeros((max(length, _spare_addresses() // element), *shape), dtype)
        except MemoryError:  # the system may limit them in other ways
            pass
    return np.zeros((length, *shape), dtype)


@cache
def _spare_addresses() -> int:
    """How many bytes of addresses one array may take that it does not need."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY or _are_counted():
        return 0
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _are_counted() -> bool:
    """Whether the system counts all addresses as memory, so that all programs share them."""
    with contextlib.suppress(OSError):  # not Linux
        return _OVERCOMMIT.read_text().strip() == _NEVER
    return False
