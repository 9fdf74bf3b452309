"""What went over the wire for a run: counted where every exchange waits for its turn."""

from dataclasses import dataclass, field

__all__ = ["ANSWERS", "Traffic"]

ANSWERS = ("2xx", "3xx", "4xx", "5xx", "none")
"""What came of an exchange: the class of its status; none: an error, or no answer."""
_OF_STATUS = {int(kind[0]): kind for kind in ANSWERS[:-1]}
"""By the first digit of the status."""


@dataclass(slots=True)
class Traffic:
    """Counters that begin at 0 and only grow.

    `requests` are exchanges over HTTP that were begun, those for robots.txt, redirects and hubs
    among them, and `answers` those that have ended, by `ANSWERS`; `bytes_received` those of bodies,
    as they were sent. Exchanges waited `waited` seconds together for their hosts, each at most
    `longest_wait`.
    """

    requests: int = 0
    answers: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ANSWERS, 0))
    bytes_received: int = 0
    waited: float = 0.0
    longest_wait: float = 0.0

    def note_answer(self, status: int | None, wire_bytes: int) -> None:
        """Count an exchange that ended: its status (None: no answer), the bytes of its body."""
        self.answers[_OF_STATUS.get((status or 0) // 100, "none")] += 1
        self.bytes_received += wire_bytes

    def note_wait(self, seconds: float) -> None:
        """Count what an exchange has waited for its host."""
        self.waited += seconds
        self.longest_wait = max(self.longest_wait, seconds)
