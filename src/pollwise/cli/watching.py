"""The command that watches pages."""

import gc
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pollwise.cli.answers import NOT_HAD
from pollwise.cli.configuring import Configured, configured
from pollwise.cli.notices import targets_told
from pollwise.cli.option_groups import with_groups
from pollwise.cli.options import (
    AllowPrivateOption,
    FetchingOptions,
    HalfLifeOption,
    KeepOption,
    LogName,
    LogOption,
    ObjectiveName,
    OptionalDb,
    RenderOption,
    SharesOption,
    a_number,
    file_option,
    listed,
    objective_told,
    token_place_told,
)
from pollwise.cli.telling import Telling, telling_of
from pollwise.console.interrupts import end_on_interrupt

if TYPE_CHECKING:
    from pollwise.console.watching import WatchDisplay
    from pollwise.live.reloading import Reloading
    from pollwise.live.run_figures import BesideRun
    from pollwise.live.shards import WatchedShard
    from pollwise.live.watching import WatchRun
    from pollwise.store.records import NewPage

_CHANGED = 3
"""The exit status of `watch --once` if anything changed."""


class WatchOptions(NamedTuple):
    """What can be said of a watch, in this run and those after it; None: as before.

    All are settings, but for `db`, where the watch is kept, and `render`, which is of the pages
    that are named.
    """

    budget: Annotated[
        str | None,
        typer.Option(help="Polls a time, such as 500/hour or 4/day/page. Default: 60/hour."),
    ] = None
    shares: SharesOption = None
    objective: Annotated[
        ObjectiveName | None, typer.Option(help="What a poll is worth. Default: freshness.")
    ] = None
    half_life: HalfLifeOption = None
    revert_worth: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            callback=a_number("from 0 to 1"),
            help="What a change back to a version seen before counts for. Default: 1.",
        ),
    ] = None
    db: OptionalDb = None
    not_modified_cost: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            callback=a_number("from 0 to 1"),
            help="What a poll costs that is answered 304. Default: 1.",
        ),
    ] = None
    keep: KeepOption = None
    notify_targets: Annotated[
        list[str] | None,
        typer.Option(
            "--notify",
            metavar="TARGET",
            help="Who is told of changes: https://..., smtp://..., exec:COMMAND, atom:FILE, or"
            " env:NAME of a variable that holds such a target; give several. '': nobody. As a"
            " rule one notice in two minutes at most, with all changes since the last.",
        ),
    ] = None
    allow_private: AllowPrivateOption = None
    first_copies: Annotated[
        str | None,
        typer.Option(
            help="Polls a time of pages never polled, beside the budget. If the budget is more,"
            " that holds. Default: 1/second."
        ),
    ] = None
    at_least: Annotated[
        str | None,
        typer.Option(help="Polls of each page, such as 1/week, or none. Default: none."),
    ] = None
    at_most: Annotated[
        str | None,
        typer.Option(help="Polls of each page, such as 1/minute, or none. Default: none."),
    ] = None
    quiet: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HH:MM-HH:MM",
            help="Times of the day (local) in which nothing is polled; give several. '': none.",
        ),
    ] = None
    render: RenderOption = None
    listen: Annotated[
        str | None,
        typer.Option(
            rich_help_panel="Signals",
            metavar="HOST:PORT",
            help="Where others may say that pages have changed, while the watch runs. '': nowhere.",
        ),
    ] = None
    listen_token: Annotated[
        str | None,
        typer.Option(
            rich_help_panel="Signals",
            metavar="PLACE",
            help="Where the token is that programs of yours send: env:NAME or file:PATH. '': they"
            " cannot signal anything.",
        ),
    ] = None
    public_url: Annotated[
        str | None,
        typer.Option(
            rich_help_panel="Signals",
            metavar="URL",
            help="By which hubs reach the listener: feeds that name a hub are subscribed to"
            " (WebSub). '': none are.",
        ),
    ] = None

    def told(self) -> dict[str, Any]:
        """The settings that these are, by the names of the fields of `WatchSettings`."""
        token = self.listen_token
        return {
            "budget": self.budget,
            "shares": listed(self.shares),
            **objective_told(self.objective, self.half_life),
            "revert_worth": self.revert_worth,
            "not_modified_cost": self.not_modified_cost,
            "keep": self.keep,
            "notify": targets_told(self.notify_targets),
            "allow_private": self.allow_private,
            "first_copies": self.first_copies,
            "at_least": self.at_least,
            "at_most": self.at_most,
            "quiet": listed(self.quiet),
            "listen": self.listen,
            "listen_token": None if token is None else token_place_told(token),
            "public_url": self.public_url,
        }


@with_groups
def watch(
    urls: Annotated[list[str] | None, typer.Argument(help="Pages to watch.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            parser=file_option,
            metavar="FILE",
            help="A file with a URL a line, perhaps weight=W at-least=N/TIME tags=A,B after it. It"
            " is followed: what is changed in it is changed in the watch. -: the standard"
            " input.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A configuration (pollwise.toml). What is given here comes before what it says.",
        ),
    ] = None,
    *,
    wanted: WatchOptions,
    once: Annotated[
        bool,
        typer.Option(
            "--once",
            help="Spend what the budget allows since the last time, and end: with status 3 if"
            " anything changed, 4 if no page could be had. For cron.",
        ),
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Tell of every poll.")] = False,
    log: LogOption = LogName.text,
    log_json: Annotated[bool, typer.Option("--log-json", help="As --log json.")] = False,
    fetching: FetchingOptions,
) -> None:
    """Watch pages until stopped (Ctrl-C); those in the database from earlier runs as well.

    Changes are told on stdout, everything else on stderr. Settings that are not given stay as they
    were in the run before.
    """
    end_on_interrupt()
    # What is loaded at the start is no garbage: not searching for any makes it quicker.
    gc.disable()
    from pollwise.console.slow_readers import stderr_beside
    from pollwise.live.shards import watched_shard
    from pollwise.web.url_list import named_pages

    telling = telling_of(LogName.json if log_json else log, verbose=verbose)
    told = {**wanted.told(), **fetching.told()}
    terms = configured(config, file, wanted.db, told)
    pages = named_pages(urls or [], render=wanted.render)
    with (
        stderr_beside(telling.say),
        watched_shard(
            terms.db, pages, terms.followed, terms.told, once=once, say=telling.say
        ) as shard,
    ):
        run = watch_as_told(terms, pages, shard, telling, once=once)
    if once and run.changes:
        raise typer.Exit(_CHANGED)
    if once and run.polls and not run.had:
        raise typer.Exit(NOT_HAD)


def watch_as_told(
    terms: Configured,
    pages: Sequence["NewPage"],
    shard: "WatchedShard | None",
    telling: Telling,
    *,
    once: bool = False,
    may_be_empty: bool = False,
    beside: Sequence["BesideRun"] = (),
    reloading: "Reloading | None" = None,
    around: "Callable[[WatchDisplay], AbstractContextManager[WatchDisplay]]" = lambda display: (
        display
    ),
) -> "WatchRun":
    """Watch these pages on these terms, or a shard, which has them by now; see `watch_pages`.

    `reloading`: None, or what `reloading_of` gave. `around` gives the context of a run for its
    display.
    """
    from pollwise.console.watching import WatchDisplay
    from pollwise.live.watching import watch_pages

    place = terms.db if shard is None else shard.place
    return watch_pages(
        pages if shard is None else [],
        terms.followed,
        terms.told,
        place,
        make_display=lambda settings, count: around(
            WatchDisplay(settings, pages=count, db=place, detail=telling.detail, log=telling.form)
        ),
        say=telling.say,
        once=once,
        secret=terms.secret,
        receivers=terms.receivers,
        may_be_empty=may_be_empty or shard is not None,
        beside=beside,
        reloading=reloading or reloading_of(terms, shard, telling),
        shard=shard,
    )


def reloading_of(terms: Configured, shard: "WatchedShard | None", telling: Telling) -> "Reloading":
    """What takes in a configuration anew, from what these terms say of it."""
    from pollwise.live.reloading import Reloading

    return Reloading(terms.read_again if shard is None else None, telling.say)
