"""The commands that change what is watched, also while it is: one line each says what was done."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pollwise.cli.answers import notify, print_json, reading_what_was_learned
from pollwise.cli.options import (
    DB,
    Db,
    Json,
    NotifyWhenOption,
    OrderName,
    RenderOption,
    SharesOption,
    file_option,
    listed,
)
from pollwise.errors import InputError

if TYPE_CHECKING:
    from pollwise.live.requests import Effect, Request
    from pollwise.store.place import Place

_MOST_NAMED = 10
"""Pages that a list will bring back, each with a line."""

Urls = Annotated[list[str] | None, typer.Argument(help="Pages that are watched.")]
Tag = Annotated[
    str | None, typer.Option("--tag", metavar="TAG", help="All pages with this tag, instead.")
]
All = Annotated[bool, typer.Option("--all", help="All pages, instead.")]
Weight = Annotated[float | None, typer.Option(help="What a change is worth. New pages: 1.")]
Cost = Annotated[float | None, typer.Option(help="What a poll costs. New pages: 1.")]
AtLeast = Annotated[
    str | None, typer.Option(metavar="N/TIME", help="Polls, such as 1/day. '': as all pages.")
]
AtMost = Annotated[
    str | None, typer.Option(metavar="N/TIME", help="Polls, such as 1/minute. '': as all pages.")
]
Tags = Annotated[
    str | None, typer.Option(metavar="TAG,TAG", help="Words to group pages by. '': none.")
]
Select = Annotated[
    list[str] | None,
    typer.Option(metavar="SELECTOR", help="A part that counts; give several. '': the whole page."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="SELECTOR", help="A part that does not count; give several. '': none."),
]

Name = Annotated[
    str | None, typer.Option(help="What to call a page, before its title. '': by its title.")
]


def add(
    urls: Annotated[list[str] | None, typer.Argument(help="Pages to watch.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            parser=file_option,
            metavar="FILE",
            help="A list of pages, as for watch; it is read once. -: the standard input.",
        ),
    ] = None,
    weight: Weight = None,
    cost: Cost = None,
    at_least: AtLeast = None,
    at_most: AtMost = None,
    tags: Tags = None,
    select: Select = None,
    ignore: Ignore = None,
    name: Name = None,
    render: RenderOption = None,
    notify_when: NotifyWhenOption = None,
    db: Db = DB,
    as_json: Json = False,
) -> None:
    """Watch more pages, also while a watch runs. A database that is not there is made.

    Of pages that are watched already, what is told holds from now on. What a line of the list says
    goes before the options.
    """
    from pollwise.live.requests import AddPages
    from pollwise.texts import file_told
    from pollwise.web.url_list import named_pages, read_url_list
    from pollwise.web.wishes import completed, read_wishes

    told = _told(
        *(weight, cost, at_least, at_most, tags, select, ignore, name, render, notify_when)
    )
    wishes = read_wishes(**told)  # before the list is read
    of_list = [] if file is None else read_url_list(file, notify)
    pages = [completed(page, wishes) for page in of_list]
    pages += named_pages(urls or [], **told)
    if not pages:
        if file is not None:
            raise InputError(f"{file_told(file)} names no page: write one URL on each line")
        raise InputError("no page is named: give URLs, or a list of them with --file")
    each = {page.url: page for page in reversed(pages)}  # of a page named twice, the first counts
    _require_one_to_name(name, len(each))
    _ask(db, AddPages(tuple(reversed(each.values()))), make=True, as_json=as_json)


def remove(urls: Urls = None, tag: Tag = None, db: Db = DB, as_json: Json = False) -> None:
    """Watch pages no longer, also while a watch runs; their versions and changes stay."""
    from pollwise.live.requests import RemovePages

    effect = _ask(db, RemovePages(tuple(_chosen(urls, tag, db))), as_json=as_json)
    for url in effect.listed[:_MOST_NAMED]:
        notify(f"{url} comes back when a watch of its list starts, unless its line goes")
    if len(effect.listed) > _MOST_NAMED:
        notify(f"so do {len(effect.listed) - _MOST_NAMED:,d} other pages of lists")


def pause(
    urls: Urls = None, tag: Tag = None, every: All = False, db: Db = DB, as_json: Json = False
) -> None:
    """Do not poll pages until they are resumed, also while a watch runs."""
    _change(_chosen_or_all(urls, tag, every, db), db, {"paused": True}, as_json)


def resume(
    urls: Urls = None, tag: Tag = None, every: All = False, db: Db = DB, as_json: Json = False
) -> None:
    """Poll pages again that were paused; what was learned of them was kept."""
    _change(_chosen_or_all(urls, tag, every, db), db, {"paused": False}, as_json)


def signal(urls: Urls = None, tag: Tag = None, db: Db = DB) -> None:
    """Say that pages have changed, as far as you know: a running watch polls them sooner.

    How much sooner is learned: from what polls found after earlier signals.
    """
    from pollwise.live.control import signal_pages
    from pollwise.live.requests import Effect, SignalPages, described

    signalled = _chosen(urls, tag, db)
    signal_pages(db, signalled)
    notify(described(SignalPages(tuple(signalled)), Effect()))


def set_wishes(
    urls: Urls = None,
    tag: Tag = None,
    every: All = False,
    weight: Weight = None,
    cost: Cost = None,
    at_least: AtLeast = None,
    at_most: AtMost = None,
    tags: Tags = None,
    select: Select = None,
    ignore: Ignore = None,
    name: Name = None,
    render: RenderOption = None,
    notify_when: NotifyWhenOption = None,
    db: Db = DB,
    as_json: Json = False,
) -> None:
    """Change what is wanted of pages, also while a watch runs. What is not told stays."""
    told = _told(
        *(weight, cost, at_least, at_most, tags, select, ignore, name, render, notify_when)
    )
    if not told:
        such = "--tags to change tags, as --tag chooses pages" if urls and tag else "--weight 2"
        raise InputError(f"nothing to set: give an option, such as {such}")
    from pollwise.web.wishes import read_wishes

    wishes = read_wishes(**told)  # before the database is looked at
    chosen = _chosen_or_all(urls, tag, every, db)
    _require_one_to_name(name, len(chosen))
    _change(chosen, db, wishes, as_json)


def budget(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="[N/TIME]", help="Such as 500/hour or 4/day/page; none: show the present one."
        ),
    ] = None,
    shares: SharesOption = None,
    db: Db = DB,
    as_json: Json = False,
) -> None:
    """Show the budget, or change it for good, also while a watch runs."""
    from pollwise.console.streams import stdout
    from pollwise.insight.present_settings import present_settings
    from pollwise.live.control import unused_shares
    from pollwise.live.requests import ChangeSettings
    from pollwise.scheduler.budgets import parse_budget, parse_shares
    from pollwise.settings import WatchSettings, latest_settings
    from pollwise.store import Store, split_database

    split = split_database(db)
    is_changed = text is not None or bool(shares)
    if is_changed:
        if text is not None:
            parse_budget(text)
        told = listed(shares)
        parse_shares(told or ())
        _ask(db, ChangeSettings(text, told), make=True)
    if split is None:
        with Store.open_readonly(db) as store:
            settings = latest_settings(store) or WatchSettings()
            for unused in unused_shares(store) if is_changed else ():
                notify(unused)
        present = present_settings(db, settings)
    else:
        present = replace(present_settings(db, None), budget=split.shared()[0])
    if as_json:
        print_json(present)
    elif not is_changed:
        for line in (present.budget, *present.shares):
            stdout().print(line)


def list_pages(
    tag: Annotated[str | None, typer.Option(help="Only pages with this tag.")] = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--filter", metavar="TEXT", help="Only pages with it in URL, name, title or state."
        ),
    ] = None,
    order: Annotated[
        OrderName, typer.Option("--sort", help="By URL, or the latest or the most first.")
    ] = OrderName.url,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.")] = None,
    db: Db = DB,
    as_json: Json = False,
) -> None:
    """The pages that are watched, and how they stand."""
    from pollwise.console.page_list import print_page_list
    from pollwise.insight.page_list import Order, read_page_list, tagged

    with reading_what_was_learned("list"):
        answer = read_page_list(db, tag=tag, text=text, order=Order(order.value), limit=limit)
    if tag is not None and not answer.results:
        tagged(db, tag)
    if as_json:
        print_json(answer)
    else:
        print_page_list(answer)


def mask(
    url: Annotated[str, typer.Argument(help="A page that is watched.")],
    text: Annotated[
        str, typer.Argument(help="A block of text of its latest copy, as diff shows it.")
    ],
    db: Db = DB,
) -> None:
    """Let whatever stands where a page has this text count for no change."""
    from pollwise.live.requests import MaskPart
    from pollwise.web.urls import canonical

    _ask(db, MaskPart(canonical(url), text))


def unmask(
    url: Annotated[str, typer.Argument(help="A page that is watched.")],
    number: Annotated[
        int | None,
        typer.Argument(max=1_000_000, help="Of the part, as explain shows it; none: all of them."),
    ] = None,
    db: Db = DB,
) -> None:
    """Let parts of a page count that were masked as noise; they are not masked again."""
    from pollwise.live.control import ask
    from pollwise.live.requests import UnmaskPart
    from pollwise.web.urls import canonical

    for text in ask(db, UnmaskPart(canonical(url), number), make=False, say=notify).parts:
        notify(f"counts again from the next poll on: {text}")


def _told(
    weight: float | None,
    cost: float | None,
    at_least: str | None,
    at_most: str | None,
    tags: str | None,
    select: Sequence[str] | None,
    ignore: Sequence[str] | None,
    name: str | None,
    render: bool | None,
    notify_when: Sequence[str] | None,
) -> dict[str, Any]:
    """The arguments of `read_wishes` that were told."""
    told = {
        "weight": weight,
        "cost": cost,
        "at_least": at_least,
        "at_most": at_most,
        "tags": None if tags is None else [tags],
        # An option that may be given several times comes as an empty list if it is not given.
        "select": select or None,
        "ignore": ignore or None,
        "name": name,
        "render": render,
        "notify_when": notify_when or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _change(chosen: Sequence[str], db: "Place", wishes: dict[str, Any], as_json: bool) -> None:
    from pollwise.live.requests import ChangePages
    from pollwise.store.records import NewPage
    from pollwise.web.urls import scope_of

    pages = tuple(NewPage(url, scope_of(url), **wishes) for url in chosen)
    _ask(db, ChangePages(pages), as_json=as_json)


def _require_one_to_name(name: str | None, pages: int) -> None:
    if name and pages > 1:
        raise InputError(f"a name is for one page, and these are {pages}: name them one by one")


def _chosen_or_all(
    urls: Sequence[str] | None, tag: str | None, every: bool, db: "Place"
) -> list[str]:
    """The canonical URLs of all pages, or those that are `_chosen`."""
    from pollwise.insight.page_list import tagged

    if not every:
        return _chosen(urls, tag, db, otherwise=", or take --all")
    if urls or tag is not None:
        raise InputError("--all says all pages: leave out URLs and --tag")
    return tagged(db, None)


def _chosen(
    urls: Sequence[str] | None, tag: str | None, db: "Place", *, otherwise: str = ""
) -> list[str]:
    """The canonical URLs that were named, or those of the pages with a tag.

    If neither is told, the message names what else could be: `otherwise`.
    """
    from pollwise.insight.page_list import tagged
    from pollwise.web.urls import canonical

    if urls and tag is not None:
        raise InputError(f"URLs and --tag {tag} both say which pages: give one of them")
    if urls:
        return list(dict.fromkeys(map(canonical, urls)))
    if tag is None:
        raise InputError(
            f"which pages? Name their URLs, or a tag that they share with --tag{otherwise}"
        )
    return tagged(db, tag)


def _ask(db: "Place", request: "Request", *, make: bool = False, as_json: bool = False) -> "Effect":
    """Have a request carried out, and tell what came of it."""
    from pollwise.live.control import ask
    from pollwise.live.requests import described

    effect = ask(db, request, make=make, say=notify)
    if as_json:
        print_json(effect)
    else:
        notify(described(request, effect))
    return effect
