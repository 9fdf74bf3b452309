"""Errors of polls for which whole hosts may be left alone. Of an error only its words are stored,
so those who write them and those who know them again have them from here.
"""

__all__ = ["OVERLOADED", "is_stop", "of_robots", "of_status"]

OVERLOADED = (429, 503)
"""The statuses by which a host may ask to be left alone, in Retry-After."""
_NOTHING, _UNHAD = "nothing may be fetched, as ", "/robots.txt cannot be had: "


def of_status(status: int | None) -> str:
    """The error of a poll that got this status."""
    return f"status {status}"


def of_robots(origin: str, why: str) -> str:
    """The error of a poll that was not made, as the robots.txt of its origin cannot be had."""
    return f"{_NOTHING}{origin}{_UNHAD}{why}"


def is_stop(error: str) -> bool:
    """Whether this error of a poll is one for which its host may be left alone.

    >>> is_stop(of_status(429)), is_stop(of_robots("https://a.example", "timeout"))
    (True, True)
    >>> is_stop(of_status(500)), is_stop("the proxy refused a tunnel: status 503")
    (False, False)
    """
    is_of_robots = error.startswith(_NOTHING) and _UNHAD in error
    return is_of_robots or error in map(of_status, OVERLOADED)
