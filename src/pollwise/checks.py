"""What arguments are, for messages that say what they should be."""

from numbers import Integral, Real
from typing import TypeGuard

__all__ = ["is_real", "is_whole"]


def is_whole(value: object) -> TypeGuard[int]:
    """An integer, also one of numpy's; True and False are none.

    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: object) -> TypeGuard[float]:
    """A number that is not complex, also one of numpy's; True and False are none.

    >>> is_real(3), is_real(0.5), is_real("0.5")
    (True, True, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool)
