"""What went over the wire for a run: counted where every exchange waits for its turn."""

from dataclasses import dataclass

__all__ = ["Traffic"]


@dataclass(slots=True)
class Traffic:
    """Counters that begin at 0 and only grow.

    `requests` are exchanges over HTTP that were begun, those for robots.txt, redirects and hubs
    among them; `bytes_received` those of bodies, as they were sent. Exchanges waited `waited`
    seconds together for their hosts, each at most `longest_wait`.
    """

    requests: int = 0
    bytes_received: int = 0
    waited: float = 0.0
    longest_wait: float = 0.0

    def note_wait(self, seconds: float) -> None:
        """Count what an exchange has waited for its host."""
        self.waited += seconds
        self.longest_wait = max(self.longest_wait, seconds)
