"""The commands that build a collection about a topic, and those that use it."""

import gc
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pollwise.cli.answers import notify, print_json
from pollwise.cli.option_groups import with_groups
from pollwise.cli.options import (
    DB,
    AllowPrivateOption,
    Db,
    FetchingOptions,
    Json,
    KeepOption,
    LogName,
    LogOption,
    file_option,
)
from pollwise.console.interrupts import end_on_interrupt
from pollwise.errors import InputError

_STDOUT = "-"


class CollectOptions(NamedTuple):
    """What can be said of a collection, but for its topic; None: as before.

    All are settings, but for `db`, where the collection is kept.
    """

    budget: Annotated[
        str | None,
        typer.Option(help="Requests a time, such as 2/second or 5000/hour. Default: 1/second."),
    ] = None
    db: Db = DB
    allow: Annotated[
        list[str] | None,
        typer.Option(
            help="Poll only URLs in which this expression is found, or another one: give several."
            " '': any again. Documents that are held stay, and are polled again once it allows"
            " them."
        ),
    ] = None
    deny: Annotated[
        list[str] | None,
        typer.Option(
            help="Poll no URL in which this expression is found; give several. '': any again."
            " Documents that are held stay, and are polled again once it allows them."
        ),
    ] = None
    max_depth: Annotated[
        int | None, typer.Option(min=0, help="The most links between a seed and a page.")
    ] = None
    pages_per_host: Annotated[
        int | None, typer.Option(min=1, help="The most pages of one host.")
    ] = None
    requests: Annotated[int | None, typer.Option(min=1, help="Stop after so many polls.")] = None
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that read responses.")] = 1
    keep: KeepOption = None
    allow_private: AllowPrivateOption = None

    def told(self) -> dict[str, Any]:
        """The settings that were given, by the names of the fields of `CollectSettings`."""
        told = {
            **self._asdict(),
            "allow": _expressions(self.allow),
            "deny": _expressions(self.deny),
        }
        del told["db"]
        return {name: value for name, value in told.items() if value is not None}


@with_groups
def collect(
    topic: Annotated[
        str, typer.Option(help='Words that say what the collection is about ("marine biology").')
    ] = "",
    example: Annotated[
        list[str] | None,
        typer.Option(help="A page about the topic: a URL or a file; give several."),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="A Python callable that takes a page's text and answers its relevance, 0 to 1.",
        ),
    ] = None,
    seed: Annotated[
        list[str] | None, typer.Option(help="A page to begin with; give several.")
    ] = None,
    seed_file: Annotated[
        Path | None,
        typer.Option(
            parser=file_option,
            metavar="FILE",
            help="A file that names pages to begin with: a URL a line, a sitemap, OPML or a table."
            " -: a list on the standard input.",
        ),
    ] = None,
    *,
    wanted: CollectOptions,
    fetching: FetchingOptions,
    log: LogOption = LogName.text,
    as_json: Json = False,
) -> None:
    """Build and keep up a collection of pages about a topic, until stopped (Ctrl-C).

    Options that are not given stay as they were in the run before, but for --requests and
    --workers, which hold for one run.
    """
    end_on_interrupt()
    gc.disable()
    from pollwise.console.collecting import CollectDisplay
    from pollwise.console.log import LogFormat, notices_in
    from pollwise.console.slow_readers import stderr_beside
    from pollwise.importing.recognising import read_urls
    from pollwise.live.collecting import collect_pages

    form = LogFormat(log)
    say = notices_in(form, notify)
    listed = () if seed_file is None else read_urls(seed_file, say)
    with stderr_beside(say):
        run = collect_pages(
            topic,
            example or [],
            judge,
            seed or [],
            {**wanted.told(), **fetching.told()},
            wanted.db,
            make_display=lambda settings: CollectDisplay(
                subject=settings.subject,
                budget=settings.budget,
                db=wanted.db,
                seeds=seed or (),
                log=form,
            ),
            say=say,
            listed=listed,
        )
    if as_json:
        print_json({"collection": run.totals, "results": [run.load]})


def _expressions(given: list[str] | None) -> tuple[str, ...] | None:
    """The expressions that were given, without empty ones; None: the option was not given."""
    return None if not given else tuple(filter(None, given))


def search(
    words: Annotated[
        list[str],
        typer.Argument(help="""Such as 'whale OR dolphin "marine biology" -shark'."""),
    ],
    db: Db = DB,
    limit: Annotated[int, typer.Option(min=1, help="Pages to show.")] = 10,
    as_json: Json = False,
) -> None:
    """Find pages of the collection by the words in them, those about its topic first."""
    from pollwise.console.searches import print_hits
    from pollwise.errors import InputError
    from pollwise.search.ordering import search_in_order
    from pollwise.settings import WatchSettings, latest_settings
    from pollwise.store import Store
    from pollwise.store.place import command

    query = " ".join(words)
    with Store.open_readonly(db) as store:
        if isinstance(latest_settings(store), WatchSettings):
            raise InputError(
                f"{db} holds a watch, whose pages are not searched: name a database that `pollwise"
                f" collect` made; `{command(db, 'status')}` tells what is in this one"
            )
        hits = search_in_order(store, query, limit)
        copies = store.count_copies() if as_json or not hits else 0
    if as_json:
        print_json({"query": query, "copies": copies, "results": hits})
    else:
        print_hits(db, query, hits, copies)


def export(
    file: Annotated[
        str,
        typer.Argument(
            help="Such as pages.jsonl, .txt (a list for --file), .opml (feeds alone), .parquet or"
            " .warc.gz; -: stdout."
        ),
    ],
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format", help="jsonl, txt, opml, parquet or warc, where the name does not tell."
        ),
    ] = None,
    db: Db = DB,
    min_relevance: Annotated[
        float | None, typer.Option(help="Only pages so much about the topic (0 to 1).")
    ] = None,
    bodies: Annotated[
        bool,
        typer.Option("--bodies", help="With the latest body of each page (jsonl, parquet)."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Write the pages into a file for other programs; those without a copy into a list alone."""
    import sys
    import time
    from functools import partial

    from pollwise.console.quantities import count
    from pollwise.console.streams import stderr
    from pollwise.export import count_left_out, count_not_listed, export_collection, export_into

    path = Path(file)
    # As it was given: the path ./- is a file.
    if file != _STDOUT:
        export = partial(export_collection, path=path, format_name=format_name, force=force)
    elif format_name is None:
        raise InputError("- is the standard output: say by --format what to write there")
    else:
        export = partial(export_into, file=sys.stdout.buffer, format_name=format_name)
    written = export(db, now=time.time(), min_relevance=min_relevance, bodies=bodies)
    sys.stdout.flush()
    without_copy, no_feeds = (
        count_left_out(db, path, format_name) if min_relevance is None else (0, 0)
    )
    more = f"; left out, as there is no copy yet: {without_copy:,d}" if without_copy else ""
    more += f"; left out, as they are no feeds: {no_feeds:,d}" if no_feeds else ""
    named, paused = count_not_listed(db, path, format_name)
    more += f"; left out, as a list has none: {count(named, 'name')}" if named else ""
    more += f"; paused, which a list does not say: {paused:,d}" if paused else ""
    where = "" if file == _STDOUT else f" to {path}"
    stderr().print(f"pages written{where}: {written:,d}{more}", soft_wrap=True)


def backup(
    file: Annotated[Path, typer.Argument(help="The copy, such as pollwise-2026-11-23.db.")],
    db: Db = DB,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    as_json: Json = False,
) -> None:
    """Copy the whole database, of one moment, also while it is written to; only you may read it."""
    from pollwise.console.quantities import storage
    from pollwise.export.backup import back_up

    answer = back_up(db, file, force=force)
    if as_json:
        print_json(answer)
    else:
        notify(f"{db} copied to {file}: {storage(answer.bytes)}, checked")
