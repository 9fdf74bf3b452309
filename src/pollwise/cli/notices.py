"""Who is told of changes, as the command line has it."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pollwise.cli.answers import notify as say
from pollwise.errors import InputError


def targets_told(targets: Sequence[str] | None, folder: Path = Path()) -> tuple[str, ...] | None:
    """The targets of `--notify` as they are stored; None: the option was not given.

    Paths are beside `folder`.
    """
    if not targets:
        return None
    from pollwise.notify.receivers import receiver_of, storable_target

    stored = tuple(dict.fromkeys(storable_target(target, folder) for target in targets if target))
    for target in stored:
        receiver_of(target)
    return stored


def notify(
    target: Annotated[
        str,
        typer.Argument(
            help="https://..., smtp://..., exec:COMMAND, atom:FILE, a URL of Apprise, or env:NAME."
        ),
    ],
) -> None:
    """Send a receiver a notice of a change that never was, to try it."""
    from pollwise.notify.delivery import trial_notice
    from pollwise.notify.receivers import receiver_of
    from pollwise.notify.sending import NotSentError, send

    receiver = receiver_of(target)
    try:
        send(receiver, trial_notice(time.time()))
    except NotSentError as error:
        raise InputError(f"the notice to {receiver.name} did not arrive: {error}") from error
    say(f"a notice was sent to {receiver.name}")
