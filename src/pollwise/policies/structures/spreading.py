"""Spreads pages that begin together over their first intervals: no bursts, nobody starves."""

from pollwise.kernel_cache import kernel

__all__ = ["spread"]

_GOLDEN_RATIO = 0.6180339887498949


@kernel
def spread(number: int) -> float:
    """A fraction between 0 and 1 for the pages of number 0, 1, 2, ...

    The multiples of the golden ratio, of which any number in sequence are spread evenly (Knuth,
    The Art of Computer Programming, volume 3, section 6.4).
    """
    return (number + 1) * _GOLDEN_RATIO % 1.0
