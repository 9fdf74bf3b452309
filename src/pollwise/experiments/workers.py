"""Processes that do trials side by side."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from pollwise.errors import PollwiseError
from pollwise.process_pool import process_pool

__all__ = ["workers"]

Run = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]


@contextmanager
def workers(cores: int) -> Iterator[Run]:
    """A `map` that runs on so many cores and gives results in any order."""
    if cores == 1:
        yield map
        return
    with process_pool(cores) as begin:

        def run(function: Callable[[Any], Any], arguments: Sequence[Any]) -> Iterator[Any]:
            for future in as_completed(begin(function, arguments)):
                yield future.result()

        try:
            yield run
        except BrokenProcessPool as error:
            raise PollwiseError(
                "a process that did trials has ended before they were done (is there enough"
                " memory?); try again, with fewer --trials perhaps"
            ) from error
