"""All that `pollwise serve` answers: the routes, what guards them, and how errors are told."""

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from pollwise.dashboard.access import Guard, error_answer
from pollwise.dashboard.answers import Answers, GettingReadyError
from pollwise.dashboard.api.events import event_routes
from pollwise.dashboard.api.feed import feed_routes
from pollwise.dashboard.api.metrics import metric_routes
from pollwise.dashboard.api.refusals import RefusedError
from pollwise.dashboard.api.routes import api_routes
from pollwise.dashboard.api.searching import search_routes
from pollwise.dashboard.foreseen import ahead_of
from pollwise.dashboard.pages import STATIC, error_page, login_page
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.dashboard.views.changes import changes_routes
from pollwise.dashboard.views.collection import collection_routes
from pollwise.dashboard.views.hosts import hosts_routes
from pollwise.dashboard.views.one_page import one_page_routes
from pollwise.dashboard.views.overview import overview_routes
from pollwise.dashboard.views.pages import pages_routes
from pollwise.dashboard.views.settings import settings_routes
from pollwise.errors import InputError, StoreError
from pollwise.search.query_processor import OverloadedError
from pollwise.search.topic_engine import TopicEngine
from pollwise.texts import printable

__all__ = ["application"]

_AGAIN = "2"
"""Seconds."""


def application(answers: Answers, terms: AnsweringTerms, engine: TopicEngine | None) -> Starlette:
    """Everything that `pollwise serve` answers; `engine`: None unless there is a collection.

    Errors are a page for people and `{"error": ..., "field": ...}` for programs, one line and what
    it is about (null: nothing by name): 400 (what was asked for), 404, 405, 409 (not as things
    stand now), 413, 415, 503 (the database, or too much to do); those of access: see `Guard`.
    """

    async def health(request: Request) -> JSONResponse:
        await answers.check()
        return JSONResponse({"status": "ok"})

    ahead = ahead_of(answers)
    routes: list[BaseRoute] = [
        Route("/healthz", health),
        *event_routes(answers),
        *api_routes(answers, ahead),
        *metric_routes(answers),
        *feed_routes(answers),
        *overview_routes(answers, ahead),
        *pages_routes(answers),
        *changes_routes(answers),
        *hosts_routes(answers),
        *([] if engine is None else collection_routes(answers, engine)),
        *settings_routes(answers),
        *one_page_routes(answers),
        *([] if engine is None else search_routes(engine)),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Starlette(
        routes=routes,
        exception_handlers={
            RefusedError: _refused,
            InputError: _told(400),
            StoreError: _told(503),
            GettingReadyError: _getting_ready,
            OverloadedError: _told(503),
            HTTPException: _http_error,
        },
        middleware=[Middleware(Guard, terms=terms, login_page=login_page)],
    )


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return _answer(request, error.status, str(error), field=error.field)


def _told(status: int) -> Callable[[Request, Exception], Response]:
    return lambda request, error: _answer(request, status, str(error))


def _getting_ready(request: Request, error: Exception) -> Response:
    """People's browsers ask again by themselves."""
    answer = _answer(request, 503, str(error), "In a moment")
    answer.headers.update({"Retry-After": _AGAIN, "Refresh": _AGAIN})
    return answer


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    line = error.detail
    if error.status_code == 404:
        line = f"there is no {request.url.path[:80]} here"
    answer = _answer(request, error.status_code, line)
    answer.headers.update(error.headers or {})
    return answer


def _answer(
    request: Request,
    status: int,
    line: str,
    heading: str = "That did not work",
    field: str | None = None,
) -> Response:
    is_page = "text/html" in request.headers.get("accept", "")
    if is_page and not request.url.path.startswith("/api/"):
        return error_page(status, printable(line), heading)
    return error_answer(status, line, field)
