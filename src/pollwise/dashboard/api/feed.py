"""`GET /feed.atom`: the latest changes, for feed readers; `?tag=` and `?unread=true` choose."""

import hashlib
import time
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.api.parameters import flag_asked, text_asked, whole_number_asked
from pollwise.insight.changes import listed_change
from pollwise.notify.atom import atom_feed
from pollwise.store import Store

__all__ = ["feed_routes"]

_MOST_ENTRIES = 200
_ENTRIES = 50


@dataclass(frozen=True, slots=True)
class _Feed:
    """A feed, by its mark; the document is None if the reader has it."""

    mark: str
    document: bytes | None


def feed_routes(answers: Answers) -> list[Route]:
    """The feed."""

    async def feed(request: Request) -> Response:
        tag = text_asked(request, "tag") or None
        unread = flag_asked(request, "unread")
        limit = whole_number_asked(request, "limit", _ENTRIES, least=1, most=_MOST_ENTRIES)
        known = request.headers.get("if-none-match", "")
        made = await answers.read(lambda store: _made(store, tag, unread, limit, known))
        headers = {"ETag": made.mark, "Cache-Control": "private, no-cache"}
        if made.document is None:
            return Response(status_code=304, headers=headers)
        return Response(made.document, headers=headers, media_type="application/atom+xml")

    return [Route("/feed.atom", feed)]


def _made(store: Store, tag: str | None, unread: bool, limit: int, known: str) -> _Feed:
    """The feed, unless its mark is among the `known` ones."""
    with store.snapshot():
        tags = () if tag is None else (tag,)
        changes = store.newest_changes(limit, tags=tags, unread=unread)
        shown = [(one.seq, one.title, one.name, one.tags) for one in changes]
        mark = f'"{hashlib.sha256(repr(shown).encode()).hexdigest()[:32]}"'
        if known.strip() == "*" or mark in (
            one.strip().removeprefix("W/") for one in known.split(",")
        ):
            return _Feed(mark, None)
        listed = [listed_change(store, change) for change in changes]
        return _Feed(mark, atom_feed(store.database_id().urn, listed, time.time()))
