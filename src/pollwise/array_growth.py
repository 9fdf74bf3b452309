"""Arrays by id, or by row, that grow with what comes."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["long_enough"]

Kind = TypeVar("Kind", bound=np.generic)


def long_enough(array: NDArray[Kind], length: int, blank: float = 0) -> NDArray[Kind]:
    """The array if it has so many elements, else a copy that has an eighth more than that.

    >>> long_enough(np.array([5, 7]), 8, -1)
    array([ 5,  7, -1, -1, -1, -1, -1, -1, -1])
    """
    if length <= len(array):
        return array
    longer = np.zeros(length + length // 8, array.dtype)
    longer[: len(array)] = array
    if blank:
        longer[len(array) :] = blank
    return longer
