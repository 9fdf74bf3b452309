"""`pollwise frontier`: the URLFrontier service."""

from pathlib import Path
from typing import Annotated

import typer

from pollwise.cli.options import LogName, LogOption, Place, place_option
from pollwise.cli.telling import telling_of
from pollwise.console.interrupts import end_on_interrupt
from pollwise.extras import require_extra

__all__ = ["frontier"]


def frontier(
    db: Annotated[
        Place,
        typer.Option(
            "--db",
            parser=place_option,
            metavar="FILE",
            help="The file, which is made if there is none.",
        ),
    ] = Path("frontier.db"),
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 7071,
    keep_dates: Annotated[
        bool,
        typer.Option("--keep-dates", help="Give no known URL out before the client's own date."),
    ] = False,
    log: LogOption = LogName.text,
) -> None:
    """Serve the URLs of crawlers over gRPC (URLFrontier 2), until stopped (Ctrl-C).

    Crawlers put URLs that they find and get URLs to fetch. Which known URL is fetched again is
    chosen by what was learned of its changes.
    """
    end_on_interrupt()
    require_extra("frontier", "to serve URLs")
    import logging
    import os
    from contextlib import suppress

    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # errors are told by us

    import uvloop

    from pollwise.console.slow_readers import stderr_beside
    from pollwise.frontier.server import Serving, serve_frontier
    from pollwise.store.place import file_of

    path = file_of(db, "a frontier")
    say = telling_of(log, verbose=False).say

    class Said(logging.Handler):
        """Writes the log where all else is told."""

        def emit(self, record: logging.LogRecord) -> None:
            with suppress(OSError):  # nobody may read it
                say(record.getMessage())

    logger = logging.getLogger("pollwise.frontier")
    logger.addHandler(Said())
    logger.setLevel(logging.INFO)
    logger.propagate = False
    with stderr_beside(say):
        uvloop.run(serve_frontier(Serving(path, host, port, keep_dates)))
