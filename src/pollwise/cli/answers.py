"""Answers on stdout: one JSON document for programs, a table for people; notices on stderr."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pollwise.insight.documents import document
from pollwise.slow_work import told_if_slow

if TYPE_CHECKING:
    from pollwise.console.simulations import Columns

NOT_HAD = 4
"""The exit status of `check` if the page cannot be had or compared, and of `watch --once` if no
page could be had."""
_SILENT = 2.0
"""Seconds after which people are told why nothing happens yet."""


def notify(text: str) -> None:
    """Print a line that says whose it is."""
    from pollwise.console.streams import on_one_line, stderr

    stderr().print(on_one_line(f"pollwise: {text}"), soft_wrap=True)


@contextmanager
def reading_what_was_learned(command: str) -> Iterator[None]:
    """A context for that; it says so if it takes long, and if this `command` has yet to compile."""
    from pollwise.kernel_folder import NOTHING_KEPT, is_compiled, kernel_folder, note_compiled

    def say(why: str) -> None:
        times = "the first time" if kernel_folder() else f"each time, {NOTHING_KEPT}"
        compiles = "" if is_compiled(command) else f"; {times} that takes up to a minute"
        notify(f"{why}{compiles}")

    with told_if_slow(say, "getting ready: what was learned is read", after=_SILENT):
        yield
    if "numba" in sys.modules:  # else nothing had to be
        note_compiled(command)


def print_json(answer: Any) -> None:
    """Print an answer as one document in ASCII, as strange text is escaped; see `document`."""
    print(json.dumps(document(answer), indent=2, allow_nan=False))


def print_answer(
    results: list[dict[str, Any]], columns: "Columns", as_json: bool, *, title: str
) -> None:
    """Results as a document for programs, or as a table with a title for people."""
    from pollwise.console.simulations import print_results

    if as_json:
        print_json({"results": results})
    else:
        print_results(results, columns, title)
