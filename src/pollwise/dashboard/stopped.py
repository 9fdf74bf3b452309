"""That nothing is polled and why, told by the process that polls to the one that answers."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from pollwise.checks import read_json
from pollwise.errors import InputError

__all__ = ["Stopped"]

_KEY = "stopped"


@dataclass(frozen=True, slots=True)
class Stopped:
    """Nothing is polled `since` a time, for a reason that says what to do; it is tried again at
    `again_at`. Times are UTC seconds. `has_begun`: this process has polled before.
    """

    why: str
    since: float
    again_at: float
    has_begun: bool

    @property
    def state(self) -> str:
        """What has become of polling, as the beginning of a sentence."""
        return "Polling has stopped" if self.has_begun else "Polling has not begun"

    def encode(self) -> str:
        """It as one line of JSON."""
        return json.dumps({_KEY: asdict(self)})

    @classmethod
    def decode(cls, line: str) -> Self | None:
        """What `encode` made; None: the line tells something else. `InputError`: no word of it."""
        try:
            told: Any = read_json(line)
            return cls(**told[_KEY]) if _KEY in told else None
        except (ValueError, TypeError) as error:
            raise InputError(f"no word of polling: {line[:80]!r} ({error})") from error
