"""The hosts: how politeness treats them, and how their pages stand."""

import time
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.frame import frame_of
from pollwise.dashboard.pages import page
from pollwise.dashboard.views.listing import Listing, listing_asked
from pollwise.insight.hosts import HostColumn, HostList
from pollwise.insight.snapshot import Snapshot

__all__ = ["hosts_routes"]

_PATH = "/hosts"


def hosts_routes(answers: Answers) -> list[Route]:
    """The list of the hosts."""

    async def hosts(request: Request) -> Response:
        listing = listing_asked(request, _PATH, HostColumn.pages, "q")
        frame = await frame_of(answers, request)
        rows = await answers.think(partial(_rows, listing=listing))
        snapshot = await answers.snapshot()
        return page(
            "hosts.html",
            frame=frame,
            listing=listing,
            rows=rows,
            columns=list(HostColumn),
            is_watch=snapshot.known is not None,
            now=time.time(),
        )

    return [Route(_PATH, hosts)]


def _rows(snapshot: Snapshot, *, listing: Listing) -> HostList:
    assert isinstance(listing.column, HostColumn)
    return snapshot.hosts.rows(
        text=listing.filters.get("q"),
        order=listing.column,
        descending=listing.descending,
        offset=listing.offset,
    )
