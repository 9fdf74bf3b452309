"""The commands that tell what changed."""

import time
from typing import Annotated

import typer

from pollwise.cli.answers import notify, print_json
from pollwise.cli.options import DB, Db, Json
from pollwise.errors import InputError


def changes(
    url: Annotated[
        str | None, typer.Argument(help="A page that is watched, or was. Default: all pages.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="An age such as 12h, 1d or 2w, or a time such as 2026-05-01."
            " Default: 1d, or all that are kept with --unread or a URL."
        ),
    ] = None,
    tag: Annotated[str | None, typer.Option(help="Only pages with this tag.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest changes, so many at most.")] = 100,
    unread: Annotated[
        bool, typer.Option("--unread", help="Only those that are not marked as read.")
    ] = False,
    mark_read: Annotated[
        bool, typer.Option("--mark-read", help="Mark those that are listed as read.")
    ] = False,
    db: Db = DB,
    as_json: Json = False,
    as_atom: Annotated[bool, typer.Option("--atom", help="Print an Atom feed.")] = False,
) -> None:
    """What changed lately, the newest change last; also while a watch runs."""
    from pollwise.console.change_lists import print_changes
    from pollwise.insight.changes import read_changes, since_of
    from pollwise.insight.page_list import tagged
    from pollwise.insight.shards import store_of, stores_of
    from pollwise.store.place import command

    if as_json and as_atom:
        raise InputError("--json and --atom are two formats: give one of them")
    db = db if url is None else store_of(db, url)
    if mark_read and len(stores_of(db)) > 1:
        raise InputError(
            f"--mark-read is for one shard: name it after --db, as `{command(db, 'shards')}` tells"
        )
    now = time.time()
    if since is None:
        since = "1d" if url is None and not unread else "1970-01-01"
    begin = since_of(since, now)
    if begin > now:
        raise InputError(f"--since {since} is in the future (UTC): give an earlier time, or an age")
    answer = read_changes(db, since=begin, tag=tag, limit=limit, unread=unread, url=url)
    if tag is not None and not answer.changes:
        tagged(db, tag)
    if as_json:
        print_json(answer)
    elif as_atom:
        from pollwise.console.streams import stdout
        from pollwise.notify.atom import atom_feed

        feed = atom_feed(answer.id, answer.changes, now).decode()
        # In ASCII, which it is in every locale.
        stdout().out(feed.encode("ascii", "xmlcharrefreplace").decode(), end="")
    else:
        print_changes(answer, now, unread=unread)
    if mark_read and (listed := tuple(one.seq for one in answer.changes if not one.read)):
        from pollwise.live.control import ask
        from pollwise.live.requests import MarkRead, described

        request = MarkRead(listed)
        notify(described(request, ask(db, request, make=False, say=notify)))


def history(
    url: Annotated[str, typer.Argument(help="A page that is watched, or was.")],
    limit: Annotated[int, typer.Option(min=1, help="The newest versions, so many at most.")] = 20,
    db: Db = DB,
    as_json: Json = False,
) -> None:
    """The versions and changes of a page, with the numbers of versions for diff."""
    from pollwise.console.change_lists import print_history
    from pollwise.insight.changes import read_history
    from pollwise.insight.shards import store_of

    answer = read_history(store_of(db, url), url, limit)
    if as_json:
        print_json(answer)
    else:
        print_history(answer)


def diff(
    url: Annotated[str, typer.Argument(help="A page that is watched, or was.")],
    before: Annotated[
        int | None,
        typer.Argument(
            metavar="[A]", help="A version, as history shows it. Default: before the later."
        ),
    ] = None,
    after: Annotated[
        int | None, typer.Argument(metavar="[B]", help="A later one. Default: the newest.")
    ] = None,
    db: Db = DB,
    as_json: Json = False,
) -> None:
    """What differs between two versions of a page, word by word."""
    from pollwise.console.change_lists import print_diff
    from pollwise.insight.changes import read_diff
    from pollwise.insight.shards import store_of

    answer = read_diff(store_of(db, url), url, before, after)
    if as_json:
        print_json(answer)
    else:
        print_diff(answer)
