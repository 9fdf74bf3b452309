"""What a database says of how it is polled, as far as it can be changed or matters to readers."""

from dataclasses import dataclass

from pollwise.settings import Settings, WatchSettings
from pollwise.store.place import Place

__all__ = ["PresentSettings", "present_settings"]


@dataclass(frozen=True, slots=True)
class PresentSettings:
    """The settings that hold now; see `WatchSettings`.

    `budget` and `keep` are None before anything is known of them; a `collection` has no
    `objective`, `shares` or `quiet` hours.
    """

    database: str
    collection: bool
    budget: str | None
    shares: tuple[str, ...]
    quiet: tuple[str, ...]
    keep: str | None
    objective: str | None


def present_settings(database: Place, settings: Settings | None) -> PresentSettings:
    """What is told of these settings; None: there are none yet."""
    watch = settings if isinstance(settings, WatchSettings) else None
    return PresentSettings(
        database=str(database),
        collection=settings is not None and watch is None,
        budget=None if settings is None else settings.budget,
        shares=() if watch is None else watch.shares,
        quiet=() if watch is None else watch.quiet,
        keep=None if settings is None else settings.keep,
        objective=None if watch is None else watch.objective,
    )
