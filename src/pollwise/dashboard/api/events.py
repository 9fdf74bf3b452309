"""Server-sent events: what happens, for whoever keeps `GET /events` open.

`event: news` has `{"snapshot": 12, "latest_change": 340}`: there is something to look at anew, and
the number of the latest change. `event: figures` has the run figures (docs/answers.md), at most
once a second; null: nothing polls.
"""

import json
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from pollwise.dashboard.answers import Answers
from pollwise.insight.documents import document
from pollwise.search.query_processor import OverloadedError

__all__ = ["EVENTS_PATH", "event_routes"]

EVENTS_PATH = "/events"
_KIND = "text/event-stream"
_MOST_STREAMS = 100
_FIGURES_EVERY = 1.0


def event_routes(answers: Answers) -> list[Route]:
    """The stream of events."""
    streams = 0

    async def lines() -> AsyncIterator[str]:
        nonlocal streams
        streams += 1
        news: object = None
        figures: object = ...
        try:
            yield "retry: 2000\n\n"
            is_first = True
            while is_first or await answers.wait_for_news(_FIGURES_EVERY):
                is_first = False
                if answers.news != news:
                    news = answers.news
                    yield _event("news", document(news))
                if answers.figures is not figures:
                    figures = answers.figures
                    yield _event("figures", document(figures))
        finally:
            streams -= 1

    async def events(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type=_KIND)
        if streams >= _MOST_STREAMS:
            raise OverloadedError("too many listen to events at once: ask again in a moment")
        return StreamingResponse(lines(), media_type=_KIND)

    return [Route(EVENTS_PATH, events)]


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
