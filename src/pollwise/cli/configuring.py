"""The configuration file on the command line: taken in by `watch`, checked by `check-config`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pollwise.cli.answers import notify
from pollwise.cli.notices import targets_told
from pollwise.cli.options import DB, ObjectiveName, listed, objective_told
from pollwise.errors import InputError

if TYPE_CHECKING:
    from pollwise.configuration import Configuration
    from pollwise.notify.receivers import Receiver

CONFIG = Path("pollwise.toml")


def check_config(
    file: Annotated[Path, typer.Argument(help="The configuration.")] = CONFIG,
) -> None:
    """Read a configuration as watch does, with the secrets and lists that it names; say what is in
    it, or the first thing that is wrong.
    """
    from pollwise.configuration import read_configuration
    from pollwise.console.quantities import count
    from pollwise.live.followed_list import FollowedList
    from pollwise.notify.receivers import receiver_of, require_own_names
    from pollwise.settings import WatchSettings
    from pollwise.web.own_headers import read_own_headers

    configuration = read_configuration(file)
    told = settings_of(configuration, configuration.db or DB)
    read_own_headers(WatchSettings(**told), configuration.headers)
    receivers = receivers_of(configuration)
    try:
        require_own_names([*map(receiver_of, told.get("notify", ())), *receivers])
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    pages = len(configuration.pages)
    if configuration.file is not None:
        pages += len(FollowedList(configuration.file).pages)
    settings, headers = count(len(configuration.settings), "setting"), len(configuration.headers)
    secret = f", {count(headers, 'secret header')}" if headers else ""
    told_of = f", {count(len(receivers), 'receiver')} of notices" if receivers else ""
    notify(f"{file} can be used: {settings}, {count(pages, 'page')}{secret}{told_of}")


def settings_of(configuration: "Configuration", db: Path) -> dict[str, Any]:
    """The settings that a configuration tells, by the names of the fields of `WatchSettings`.

    `InputError`, which names the file, for what cannot be used.
    """
    from pollwise.settings import WatchSettings, told_alone

    told = dict(configuration.settings)
    objective, half_life = told.pop("objective", None), told.pop("half_life", None)
    for name, value in told.items():
        if isinstance(value, tuple):
            told[name] = listed(value) or ()
    try:
        if "notify" in told:
            told["notify"] = targets_told(told["notify"], configuration.path.parent) or ()
        named = None if objective is None else ObjectiveName(objective)
        told |= objective_told(named, half_life)
        WatchSettings(**told_alone(told, db))
    except InputError as error:
        raise InputError(f"{configuration.path}: {error}") from error
    return told


def receivers_of(configuration: "Configuration") -> "list[Receiver]":
    """The receivers of notices that a configuration names; `InputError` names the file."""
    if not configuration.notify:
        return []
    from pollwise.notify.receivers import read_receiver

    try:
        folder = configuration.path.parent
        return [read_receiver(told, folder) for told in configuration.notify]
    except InputError as error:
        raise InputError(f"{configuration.path}: {error}") from error
