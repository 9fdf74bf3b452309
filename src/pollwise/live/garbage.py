"""Python's search for garbage: a run that takes up millions of pages is not to stop for it."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

__all__ = ["short_searches"]


@contextmanager
def short_searches() -> Iterator[None]:
    """A context for a run, in which a search looks only at what came since the one before.

    What is there at the start is never searched. Python searches once so many objects have come as
    its threshold says; if most of them stay, they are no garbage but pages, which are not searched
    again either. Of what forms a circle with them later only those are never found that were in use
    at that moment.
    """

    def note(phase: str, told: Mapping[str, int]) -> None:
        if phase == "stop" and told["collected"] < gc.get_threshold()[0] / 2:
            gc.freeze()

    gc.freeze()
    gc.enable()
    gc.callbacks.append(note)
    try:
        yield
    finally:
        gc.callbacks.remove(note)
