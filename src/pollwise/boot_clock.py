"""A clock that also counts the seconds in which the machine sleeps."""

import time
from functools import partial

__all__ = ["seconds_since_boot"]

seconds_since_boot = partial(
    time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)
"""Seconds that also count while the machine sleeps, where the system has such a clock."""
