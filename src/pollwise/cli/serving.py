"""`pollwise serve`: the daemon, which polls and answers."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar

import typer

from pollwise.cli.configuring import Configured, configured
from pollwise.cli.option_groups import with_groups
from pollwise.cli.options import LogName, LogOption, OptionalDb, SharesOption, listed
from pollwise.cli.telling import Telling, telling_of
from pollwise.cli.watching import reloading_of, watch_as_told
from pollwise.console.interrupts import end_on_interrupt
from pollwise.errors import InputError
from pollwise.extras import require_extra

if TYPE_CHECKING:
    from pollwise.console.collecting import CollectDisplay
    from pollwise.console.display import Display
    from pollwise.dashboard.answering import Answering
    from pollwise.live.run_figures import BesideRun
    from pollwise.live.shards import WatchedShard
    from pollwise.store.place import Place

__all__ = ["serve"]

D = TypeVar("D", bound="Display")


class AnsweringOptions(NamedTuple):
    """Where it answers, and whom."""

    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8900
    name: Annotated[
        list[str] | None,
        typer.Option(
            help="A host name by which it may be asked, besides localhost and addresses;"
            " give several."
        ),
    ] = None
    token: Annotated[
        str | None,
        typer.Option(
            envvar="POLLWISE_TOKEN",
            help="What every request must bring. If others can reach --host, one is made anyway.",
        ),
    ] = None
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="A proxy that lets only those through who may ask: its requests need no token;"
            " give several.",
        ),
    ] = None
    peers: Annotated[
        list[str] | None,
        typer.Option(
            "--peers",
            metavar="URL",
            help="Another engine, which gets the queries that are about its topic, with"
            " ?token=TOKEN if it wants one; give several.",
        ),
    ] = None

    def open(
        self, place: "Place", say: Callable[[str], None]
    ) -> "AbstractContextManager[Answering]":
        """What answers about a database, as a context."""
        from pollwise.dashboard.answering import open_answering

        return open_answering(
            place,
            host=self.host,
            port=self.port,
            names=self.name or [],
            token=self.token,
            proxies=self.trusted_proxy or [],
            peers=self.peers or [],
            say=say,
        )


@with_groups
def serve(
    db: OptionalDb = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A configuration (pollwise.toml), as for watch."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Polls a time, such as 500/hour. Default: as it was.")
    ] = None,
    shares: SharesOption = None,
    *,
    answered: AnsweringOptions,
    no_polling: Annotated[
        bool,
        typer.Option("--no-polling", help="Only answer: nothing is polled, or another one does."),
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Tell of every poll.")] = False,
    log: LogOption = LogName.text,
) -> None:
    """Watch pages, or go on with a collection, and answer over HTTP, until stopped (Ctrl-C).

    The dashboard shows what is known and found; pages can be added there. Programs get JSON,
    events, metrics and the Atom feed of changes.
    """
    end_on_interrupt()
    gc.disable()
    require_extra("serve", "to answer over HTTP")
    from pollwise.console.slow_readers import stderr_beside
    from pollwise.insight.shards import stores_of
    from pollwise.live.shards import watched_shard
    from pollwise.store.place import command

    told = {"budget": budget, "shares": listed(shares)}
    terms = configured(config, None, db, told)
    telling = telling_of(log, verbose=verbose)
    if no_polling and len(stores_of(terms.db)) > 1:
        raise InputError(
            f"--no-polling shows one shard: name it after --db, as `{command(terms.db, 'shards')}`"
            " tells"
        )
    if no_polling and (budget is not None or shares):
        raise InputError("--no-polling polls nothing: leave out --budget and --share")
    with (
        stderr_beside(telling.say),
        nullcontext()
        if no_polling
        else watched_shard(terms.db, [], terms.followed, terms.told, say=telling.say) as shard,
        answered.open(terms.db if shard is None else shard.place, telling.say) as answering,
    ):
        if no_polling:
            answering.alone()
        else:
            is_for_watch = config is not None or bool(shares)
            _poll(terms, telling, shard, answering, is_for_watch=is_for_watch)


def _poll(
    terms: Configured,
    telling: Telling,
    shard: "WatchedShard | None",
    answering: "Answering",
    *,
    is_for_watch: bool,
) -> None:
    """Go on with the collection that the database holds, or watch, while it answers beside.

    `is_for_watch`: something was told that is for a watch alone.
    """
    from pollwise.insight.collection import holds_collection
    from pollwise.live.opening import convert_older
    from pollwise.store import Store

    place = terms.db if shard is None else shard.place

    @contextmanager
    def begun(display: D) -> Iterator[D]:
        """The display of a run whose database is this process's own from now on."""
        nonlocal terms
        # They are stored by now. What changes them later is to stay when polling is tried again.
        terms = replace(terms, told={})
        with answering.getting_ready(), display:
            yield display

    is_there = Store.exists(place)
    if is_there:
        convert_older(place, telling.say)
    if not (is_there and holds_collection(place)):
        reloading = reloading_of(terms, shard, telling)
        answering.polling(
            lambda: watch_as_told(
                terms,
                [],
                shard,
                telling,
                around=begun,
                may_be_empty=True,
                beside=[answering.beside],
                reloading=reloading,
            ),
            reloading.ask,
        )
        return
    if is_for_watch:
        raise InputError(
            f"{terms.db} holds a collection: leave out --config and --share, which are for a watch"
        )
    answering.polling(
        lambda: _go_on_collecting(terms, telling, around=begun, beside=[answering.beside])
    )


def _go_on_collecting(
    terms: Configured,
    telling: Telling,
    *,
    around: "Callable[[CollectDisplay], AbstractContextManager[CollectDisplay]]",
    beside: Sequence["BesideRun"],
) -> None:
    """Go on with the collection of a database; `around` gives the context of a run."""
    from pollwise.console.collecting import CollectDisplay
    from pollwise.live.collecting import collect_pages

    collect_pages(
        "",
        [],
        None,
        [],
        terms.told,
        terms.db,
        make_display=lambda settings: around(
            CollectDisplay(
                subject=settings.subject,
                budget=settings.budget,
                db=terms.db,
                log=telling.form,
            )
        ),
        say=telling.say,
        beside=beside,
    )
