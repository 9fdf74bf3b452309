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
from pollwise.dashboard.prompt_protocol import answer_lasts
from pollwise.insight.documents import document

__all__ = ["event_routes"]

_KIND = "text/event-stream"
_UNBUFFERED = {"X-Accel-Buffering": "no"}
"""Has nginx hand events on as they come."""
_FIGURES_EVERY = 1.0


def event_routes(answers: Answers) -> list[Route]:
    """The stream of events."""

    async def lines() -> AsyncIterator[str]:
        news: object = None
        figures: object = ...
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

    async def events(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(headers=_UNBUFFERED, media_type=_KIND)
        answer_lasts(request)
        return StreamingResponse(lines(), headers=_UNBUFFERED, media_type=_KIND)

    return [Route("/events", events)]


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
