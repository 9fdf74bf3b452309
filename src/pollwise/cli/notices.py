"""Who is told of changes, as the command line has it."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pollwise.cli.answers import notify as say
from pollwise.errors import InputError

if TYPE_CHECKING:
    from pollwise.notify.receivers import Receiver


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
        str | None,
        typer.Argument(
            help="https://..., smtp://..., exec:COMMAND, atom:FILE, a URL of Apprise, or env:NAME;"
            " with --config the name of a receiver there."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A configuration (pollwise.toml): try the receiver of that name, or all of them.",
        ),
    ] = None,
) -> None:
    """Send a receiver a notice of a change that never was, to try it."""
    from pollwise.notify.delivery import trial_notice
    from pollwise.notify.receivers import receiver_of
    from pollwise.notify.sending import NotSentError, send

    if config is not None:
        receivers = _configured(config, target)
    elif target is not None:
        receivers = [receiver_of(target)]
    else:
        raise InputError("notify: name a target, or a configuration with --config")
    failures = []
    for receiver in receivers:
        try:
            send(receiver, trial_notice(time.time()))
        except NotSentError as error:
            failures.append(f"the notice to {receiver.name} did not arrive: {error}")
        else:
            say(f"a notice was sent to {receiver.name}")
    if failures:
        raise InputError("; ".join(failures))


def _configured(config: Path, name: str | None) -> "list[Receiver]":
    """The receiver of this name in a configuration; None: all of them."""
    from pollwise.cli.configuring import all_receivers_of  # which imports this module
    from pollwise.configuration import read_configuration

    receivers = all_receivers_of(read_configuration(config))
    if not receivers:
        raise InputError(f"{config} names no receiver of notices: add a [[notify]] table to it")
    named = [receiver for receiver in receivers if name in (None, receiver.name)]
    if not named:
        names = ", ".join(repr(receiver.name) for receiver in receivers)
        raise InputError(f"{config} has no receiver {name!r}: give one of {names}, or none for all")
    return named
