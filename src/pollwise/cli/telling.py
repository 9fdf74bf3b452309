"""How a run tells what happens, as it was told to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pollwise.cli.answers import notify
from pollwise.cli.options import LogName
from pollwise.errors import InputError

if TYPE_CHECKING:
    from pollwise.console.log import LogFormat
    from pollwise.console.watching import Detail

__all__ = ["Telling", "telling_of"]


@dataclass(frozen=True, slots=True)
class Telling:
    """The form of its lines, what a watch tells of, and what tells everything else."""

    form: "LogFormat"
    detail: "Detail"
    say: Callable[[str], None]


def telling_of(log: LogName, *, verbose: bool) -> Telling:
    """What the options ask for; `InputError` if they ask for the same twice."""
    from pollwise.console.log import LogFormat, notices_in
    from pollwise.console.watching import Detail

    form = LogFormat(log)
    if verbose and form is LogFormat.json:
        raise InputError("--verbose and --log json both tell of every poll: give one of them")
    detail = Detail.polls if verbose else Detail.news
    return Telling(form, Detail.log if form is LogFormat.json else detail, notices_in(form, notify))
