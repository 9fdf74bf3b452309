"""The configuration file on the command line: taken in by `watch`, checked by `check-config`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pollwise.cli.answers import notify
from pollwise.cli.notices import targets_told
from pollwise.cli.options import DB, ObjectiveName, listed, objective_told, token_place_told
from pollwise.errors import InputError

if TYPE_CHECKING:
    from pollwise.configuration import Configuration
    from pollwise.fetch_settings import HeaderLine
    from pollwise.live.followed_list import FollowedList
    from pollwise.live.reloading import ReadAgain
    from pollwise.notify.receivers import Receiver
    from pollwise.store.place import Place

CONFIG = Path("pollwise.toml")


def check_config(
    file: Annotated[Path, typer.Argument(help="The configuration.")] = CONFIG,
) -> None:
    """Read a configuration as watch does, with the secrets and lists that it names; say what is in
    it, or the first thing that is wrong.
    """
    from pollwise.configuration import read_configuration
    from pollwise.console.quantities import count
    from pollwise.live.listening.listener import read_token
    from pollwise.settings import WatchSettings
    from pollwise.web.own_headers import read_own_headers
    from pollwise.web.url_list import read_url_list

    configuration = read_configuration(file)
    told = WatchSettings(**settings_of(configuration, configuration.db or DB))
    read_own_headers(told, configuration.headers)
    read_token(told)
    all_receivers_of(configuration)
    pages = len(configuration.pages)
    if configuration.file is not None:
        pages += len(read_url_list(configuration.file, notify))
    places = [one for one in (configuration.db, configuration.file) if one is not None]
    settings = count(len(configuration.settings) + len(places), "setting")
    headers = len(configuration.headers)
    secret = f", {count(headers, 'secret header')}" if headers else ""
    receivers = len(configuration.notify)
    told_of = f", {count(receivers, 'receiver')} of notices" if receivers else ""
    if (doubt := told.quiet_hours().doubt) is not None:
        notify(doubt)
    notify(f"{file} can be used: {settings}, {count(pages, 'page')}{secret}{told_of}")


@dataclass(frozen=True, slots=True)
class Configured:
    """What a watch was told by command line and configuration, as `watch_pages` takes it."""

    db: "Place"
    followed: "Sequence[FollowedList]"
    told: Mapping[str, Any]
    secret: "Sequence[HeaderLine]"
    receivers: "Sequence[Receiver]"
    read_again: "ReadAgain | None"


def configured(
    config: Path | None, file: Path | None, db: "Place | None", told: Mapping[str, Any]
) -> Configured:
    """The settings that are `told` (None: not told), before those of the file `config`, if any."""
    from pollwise.configuration import read_configuration
    from pollwise.live.followed_list import FollowedList

    followed: list[FollowedList] = []
    settings: dict[str, Any] = {}
    secret: Sequence[HeaderLine] = ()
    receivers: Sequence[Receiver] = ()
    told = {name: value for name, value in told.items() if value is not None}
    read_again = None
    if config is not None:
        configuration = read_configuration(config)
        db = db or configuration.db
        file = configuration.file if file is None else file
        settings, secret = settings_of(configuration, db or DB), configuration.headers
        receivers = receivers_of(configuration)
        if configuration.pages:
            followed.append(FollowedList(config, lambda path, say: read_configuration(path).pages))
        read_again = partial(told_again, config, told)
    if file is not None:
        followed.append(FollowedList(file))
    return Configured(db or DB, followed, {**settings, **told}, secret, receivers, read_again)


def settings_of(configuration: "Configuration", db: "Place") -> dict[str, Any]:
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
        if "listen_token" in told:
            [(kind, name)] = told["listen_token"].items()
            told["listen_token"] = token_place_told(f"{kind}:{name}", configuration.path.parent)
        named = None if objective is None else ObjectiveName(objective)
        told |= objective_told(named, half_life)
        WatchSettings(**told_alone(told, db))
    except InputError as error:
        raise InputError(f"{configuration.path}: {error}") from error
    return told


def told_again(config: Path, told: Mapping[str, Any]) -> Mapping[str, Any]:
    """All that a configuration says now, by names that people know; `told` comes before it.

    `InputError` for what cannot be used.
    """
    from pollwise.configuration import read_configuration

    configuration = read_configuration(config)
    return {
        "db": configuration.db,
        "file": configuration.file,
        "secret headers": configuration.headers,
        "receivers": configuration.notify,
        **settings_of(configuration, configuration.db or DB),
        **told,
    }


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


def all_receivers_of(configuration: "Configuration") -> "list[Receiver]":
    """The same, and those that its `[watch]` names; `InputError` if two have one name, too."""
    from pollwise.notify.receivers import receiver_of, require_own_names

    told = settings_of(configuration, configuration.db or DB)
    receivers = receivers_of(configuration)
    try:
        receivers = [*map(receiver_of, told.get("notify", ())), *receivers]
        require_own_names(receivers)
    except InputError as error:
        raise InputError(f"{configuration.path}: {error}") from error
    return receivers
