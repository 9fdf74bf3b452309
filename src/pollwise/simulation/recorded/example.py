"""The bundled time-lapse as a recorded history."""

import math

from pollwise.simulation.recorded.replay import Replay
from pollwise.testing.timelapse import TimeLapse, site_of

__all__ = ["example", "history_of"]


def example() -> Replay:
    """The changes of the bundled pages in their year."""
    return history_of(TimeLapse.bundled())


def history_of(timelapse: TimeLapse) -> Replay:
    """The changes of a time-lapse; its pages are numbered in the order of their names."""
    names = timelapse.page_names
    born = {name: max(timelapse.history(name)[0].time, timelapse.start) for name in names}
    return Replay(
        {name: timelapse.change_times(name) for name in names},
        {name: (born[name], math.inf) for name in names},
        end=timelapse.end,
        sites={name: site_of(name) for name in names},
    )
