"""The command that takes over what other programs know."""

from pathlib import Path
from typing import Annotated

import typer

from pollwise.cli.answers import notify, print_json
from pollwise.cli.options import DB, Db, Json, file_option


def import_pages(
    file: Annotated[
        Path,
        typer.Argument(
            parser=file_option,
            help="OPML of a feed reader, a sitemap, a CSV table with a column url or of past"
            " checks, the jobs of urlwatch (.yaml), or a backup of changedetection.io (.zip)."
            " -: the standard input.",
        ),
    ],
    db: Db = DB,
    tags: Annotated[
        list[str] | None,
        typer.Option(
            "--tags", metavar="A,B", help="Tags for all of them, beside their own; give several."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Watch the pages that another program watches, with their past checks where they are told.

    Folders become tags, and filters that choose parts of a page become selectors. What has no
    counterpart is said. A list of URLs is for `pollwise add --file`.
    """
    from pollwise.console.importing import print_import
    from pollwise.live.importing import import_file
    from pollwise.web.wishes import read_tags

    report = import_file(file, db, read_tags(tags or ()), say=notify)
    if as_json:
        print_json(report)
    else:
        print_import(report, db)
