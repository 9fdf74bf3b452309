"""The commands that look: at what is watched, what was learned of it, or at a page."""

from pathlib import Path
from typing import Annotated

import typer

from pollwise.cli.answers import NOT_HAD, notify, print_json, reading_what_was_learned
from pollwise.cli.options import (
    DB,
    AllowPrivateOption,
    CheckedCookieFileOption,
    CheckedHeaderFileOption,
    Db,
    FetchingOptions,
    Json,
    MaxSizeOption,
    NetrcOption,
    NotifyWhenOption,
    Place,
    RenderOption,
    TimeoutOption,
    place_option,
)
from pollwise.errors import InputError


def status(db: Db = DB, as_json: Json = False) -> None:
    """What is watched and what was found."""
    from pollwise.console.shards import print_shards
    from pollwise.console.status import print_status
    from pollwise.insight.shards import read_shards, stores_of
    from pollwise.insight.status import read_status

    if len(stores_of(db)) > 1 and (split := read_shards(db)) is not None:
        if as_json:
            print_json(split)
        else:
            print_shards(split)
        return
    with reading_what_was_learned("status"):
        answer = read_status(db)
    if as_json:
        print_json(answer)
    else:
        print_status(answer)


def shards(
    into: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Split a PostgreSQL database that holds nothing yet into so many.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="What they share, such as 500/hour. Default: that of a new watch."),
    ] = None,
    db: Db = DB,
    as_json: Json = False,
) -> None:
    """Show the shards of a database and who polls them, or split it.

    Each `watch` or `serve` of a split database polls one shard, or waits to take one over.
    """
    from pollwise.console.shards import print_shards
    from pollwise.insight.shards import read_shards
    from pollwise.live.shards import split_anew
    from pollwise.store.place import command

    if into is not None:
        split_anew(db, into, budget)
    elif budget is not None:
        changes = command(db, "budget", "N/TIME")
        raise InputError(f"--budget is for --into: `{changes}` changes it later")
    answer = read_shards(db)
    if answer is None:
        raise InputError(f"{db} is not split: --into NUMBER splits an empty PostgreSQL database")
    if as_json:
        print_json(answer)
    else:
        print_shards(answer)


def explain(
    url: Annotated[str, typer.Argument(help="A page that is watched.")],
    db: Db = DB,
    as_json: Json = False,
) -> None:
    """What is known of a page, and why it is polled next or not."""
    from pollwise.console.explanation import print_explanation
    from pollwise.insight.explanation import read_explanation
    from pollwise.insight.shards import store_of

    with reading_what_was_learned("explain"):
        answer = read_explanation(store_of(db, url), url)
    if as_json:
        print_json(answer)
    else:
        print_explanation(answer, db)


def check(
    url: Annotated[str, typer.Argument(help="Any page.")],
    db: Annotated[
        Place | None,
        typer.Option(
            "--db",
            parser=place_option,
            metavar="DATABASE",
            help="A database that watches the page: its settings, masks and latest copy are used."
            " A watch of it that runs leaves the host alone meanwhile. If not given, no database is"
            " looked at.",
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            metavar="SELECTOR",
            help="A part that counts, instead of the whole page: CSS, xpath:..., json:... or"
            " re:...; give several.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar="SELECTOR",
            help="A part that does not count, in the same way; give several.",
        ),
    ] = None,
    render: RenderOption = None,
    notify_when: NotifyWhenOption = None,
    allow_private: AllowPrivateOption = None,
    header_file: CheckedHeaderFileOption = None,
    cookie_file: CheckedCookieFileOption = None,
    netrc: NetrcOption = None,
    timeout: TimeoutOption = None,
    max_size: MaxSizeOption = None,
    as_json: Json = False,
) -> None:
    """What a poll sees of a page, and what of it is noise; fetches it two or three times.

    The exit status is 4 if it cannot be had, or not be compared.
    """
    from pollwise.console.checking import print_check
    from pollwise.insight.shards import store_of
    from pollwise.live.checking import check_page

    fetching = FetchingOptions(
        header_file=header_file,
        cookie_file=cookie_file,
        netrc=netrc,
        timeout=timeout,
        max_size=max_size,
    )
    answer = check_page(
        url,
        None if db is None else store_of(db, url),
        select=select or (),
        ignore=ignore or (),
        render=render,
        notify_when=notify_when or (),
        allow_private=bool(allow_private),
        fetch_settings=fetching.told(),
        say=notify,
    )
    if as_json:
        print_json(answer)
    else:
        print_check(answer)
    if answer.error is not None:
        raise typer.Exit(NOT_HAD)


def plan(
    db: Db = DB,
    freshness: Annotated[
        float | None,
        typer.Option(help="Also find the cheapest budget that makes pages so fresh, such as 0.9."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves into this PNG file.")] = None,
    as_json: Json = False,
) -> None:
    """What a smaller or a larger budget would bring, by what was learned so far."""
    from pollwise.checks import require_drawable
    from pollwise.console.charts.plan import draw_plan
    from pollwise.console.plan import print_plan
    from pollwise.insight.plan import read_plan

    if plot is not None:
        require_drawable(plot, "leave out --plot")
    with reading_what_was_learned("plan"):
        answer = read_plan(db, freshness, curve=plot is not None)
    if plot is not None:
        draw_plan(plot, answer)
    if as_json:
        print_json(answer)
    else:
        print_plan(answer)
