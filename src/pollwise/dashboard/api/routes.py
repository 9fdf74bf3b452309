"""The routes of the JSON API, and the document that describes them."""

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.api.change_operations import change_operations
from pollwise.dashboard.api.operations import Operation, operation_routes
from pollwise.dashboard.api.page_operations import page_operations
from pollwise.dashboard.api.schema import openapi_document
from pollwise.dashboard.api.state_operations import state_operations
from pollwise.dashboard.foreseen import Ahead

__all__ = ["api_operations", "api_routes"]


def api_operations(answers: Answers, ahead: Ahead) -> list[Operation]:
    """All operations."""
    return [
        *state_operations(answers, ahead),
        *page_operations(answers),
        *change_operations(answers),
    ]


def api_routes(answers: Answers, ahead: Ahead) -> list[Route]:
    """All below `/api/`."""
    operations = api_operations(answers, ahead)
    described = JSONResponse(openapi_document(operations))

    async def describe(request: Request) -> JSONResponse:
        return described

    return [*operation_routes(operations), Route("/api/openapi.json", describe)]
