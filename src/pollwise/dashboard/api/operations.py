"""The operations of the API: one table from which routes and the OpenAPI document are made."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pollwise.checks import read_json
from pollwise.dashboard.access import MOST_BYTES
from pollwise.dashboard.api.fields import read_body_fields, read_query_fields
from pollwise.dashboard.api.refusals import RefusedError
from pollwise.dashboard.path_numbers import NUMBER
from pollwise.insight.documents import document

__all__ = ["Asked", "Nothing", "Operation", "operation_routes"]


@dataclass(frozen=True, slots=True)
class Nothing:
    """No parameters."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks: the numbers in its path, its query, and its body if it has one."""

    path: Mapping[str, int]
    query: Any
    body: Any


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: a method on a path, which may have whole numbers in it (`{page}`).

    `query` and `body` are dataclasses of what may be told (`body` None: there is none), `answer` is
    that of what `carry_out` gives, with this status. `refusals` are the statuses of errors beyond
    those that every operation may have.
    """

    method: str
    path: str
    summary: str
    answer: Any
    carry_out: Callable[[Asked], Awaitable[object]]
    query: type = Nothing
    body: type | None = None
    status: int = 200
    refusals: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """A name of its own, for programs that are made from the OpenAPI document."""
        words = [one.strip("{}") for one in self.path.removeprefix("/api/").split("/")]
        return "_".join((self.method.lower(), *words)).replace(".", "_")


def operation_routes(operations: Iterable[Operation]) -> list[Route]:
    """The routes of these operations; other methods are answered with 405."""
    by_path: dict[str, dict[str, Operation]] = {}
    for one in operations:
        by_path.setdefault(one.path, {})[one.method] = one
    return [_route(path, by_method) for path, by_method in by_path.items()]


def _route(path: str, by_method: Mapping[str, Operation]) -> Route:
    async def answer(request: Request) -> Response:
        operation = by_method["GET" if request.method == "HEAD" else request.method]
        asked = Asked(
            request.path_params, _query(operation, request), await _body(operation, request)
        )
        told = await operation.carry_out(asked)
        return JSONResponse(document(told), operation.status)

    return Route(path.replace("}", f":{NUMBER}}}"), answer, methods=list(by_method))


def _query(operation: Operation, request: Request) -> Any:
    """What the query tells; the token was the business of others."""
    named = _each_once(request.query_params.multi_items())
    named.pop("token", None)
    return read_query_fields(operation.query, named)


def _each_once(told: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Values by name; `RefusedError` for a name that is told twice."""
    named: dict[str, Any] = {}
    for name, value in told:
        if name in named:
            raise RefusedError(f"{name[:80]} is told twice: tell it once", field=name)
        named[name] = value
    return named


async def _body(operation: Operation, request: Request) -> Any:
    if operation.body is None:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedError("send one JSON object, as Content-Type: application/json", status=415)
    try:
        text = (await request.body()).decode()
        return read_body_fields(operation.body, read_json(text, _each_once))
    except ClientDisconnect as error:
        raise RefusedError(f"send at most {MOST_BYTES:,d} bytes", status=413) from error
    except RefusedError:
        raise
    except ValueError as error:
        raise RefusedError("the body cannot be read: send one JSON object, in UTF-8") from error
