"""That polling has stopped and why, told by the process that polls to the one that answers."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

__all__ = ["Stopped"]

_KEY = "stopped"


@dataclass(frozen=True, slots=True)
class Stopped:
    """Polling has stopped `since` a time, for a reason that says what to do; it is tried again at
    `again_at`. Times are UTC seconds.
    """

    why: str
    since: float
    again_at: float

    def encode(self) -> str:
        """It as one line of JSON."""
        return json.dumps({_KEY: asdict(self)})

    @classmethod
    def decode(cls, line: str) -> Self | None:
        """What `encode` made; None: the line tells something else."""
        told: Any = json.loads(line)
        return cls(**told[_KEY]) if _KEY in told else None
