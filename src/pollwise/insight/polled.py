"""What one poll of a page told, for the log of a watch."""

from dataclasses import dataclass

from pollwise.scheduler.bounds import ALWAYS
from pollwise.store.records import PollResult
from pollwise.types import Outcome

__all__ = ["PolledPage", "polled_page"]


@dataclass(frozen=True, slots=True)
class PolledPage:
    """A poll, as `pollwise watch --log-json` logs it.

    `polled_at` and `last_changed_at` are UTC seconds, the latter as the server told it. `bytes` is
    the size of a new version, None without one. `masked` are the parts of the page that count no
    more from this poll on, as they were noise. `always_changes`: the page differed at each of its
    latest 12 polls. `error` says what went wrong, or why the poll was postponed.
    """

    polled_at: float
    url: str
    outcome: Outcome
    first_copy: bool
    reverted: bool
    last_changed_at: float | None
    bytes: int | None
    masked: tuple[str, ...]
    always_changes: bool
    cost: float
    error: str | None


def polled_page(url: str, result: PollResult, *, first_copy: bool) -> PolledPage:
    """The entry of a poll of the page with this URL."""
    observation, version = result.observation, result.version
    return PolledPage(
        polled_at=observation.polled_at,
        url=url,
        outcome=observation.outcome,
        first_copy=first_copy,
        reverted=observation.reverted,
        last_changed_at=observation.last_changed_at,
        bytes=None if version is None else len(version.body),
        masked=result.masked,
        always_changes=result.memory.noise.changes_in_a_row >= ALWAYS,
        cost=observation.cost,
        error=result.error,
    )
