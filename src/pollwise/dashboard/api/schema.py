"""The OpenAPI document of operations, made from the dataclasses that they take and give."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pollwise.dashboard.api.fields import MOST_NUMBER, TellableField, Told, tellable
from pollwise.dashboard.api.operations import Operation
from pollwise.version import __version__

__all__ = ["OpenApi", "openapi_document", "told_schema"]

OpenApi = Mapping[str, Any]
"""An OpenAPI document."""

_ALWAYS = {
    400: "Something in it cannot be used.",
    401: "The token is missing or wrong.",
    403: "A page of another origin asks.",
    421: "The server has no such name.",
    503: "The database cannot be read, or the process that polls does not answer.",
}
_MORE = {
    404: "There is no such page, version, change or part.",
    409: "It does not fit how things stand now: read them again.",
}
_WITH_BODY = {413: "The body is too large.", 415: "The body is no JSON."}
_SIMPLE: Mapping[Any, Any] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    # JSON has neither infinity nor NaN.
    float: {"type": ["number", "null"]},
    NoneType: {"type": "null"},
}
_ERROR = {
    "type": "object",
    "description": "Why a request was refused, in one line, and the field that it is about.",
    "properties": {"error": {"type": "string"}, "field": {"type": ["string", "null"]}},
    "required": ["error", "field"],
    "additionalProperties": False,
}


def openapi_document(operations: Iterable[Operation]) -> OpenApi:
    """The document (OpenAPI 3.1) of these operations."""
    schemas: dict[str, Any] = {"Error": _ERROR}
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "pollwise",
            "version": __version__,
            "description": "What is known of the pages that are watched, and requests for them."
            " Times are seconds since 1970 (UTC); null is what is not known, or not finite.",
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(one: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "parameters": [*_in_path(one.path), *map(_in_query, tellable(one.query).values())],
        "responses": {
            str(one.status): _content("It was done.", _schema(one.answer, schemas)),
            **_refusals(one),
        },
    }
    if one.body is not None:
        schemas.setdefault(one.body.__name__, told_schema(one.body))
        told["requestBody"] = {**_content("", _ref(one.body.__name__)), "required": True}
    return told


def _in_path(path: str) -> list[dict[str, Any]]:
    names = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
    number = {"type": "integer", "minimum": 0}
    return [{"name": name, "in": "path", "required": True, "schema": number} for name in names]


def _in_query(field: TellableField) -> dict[str, Any]:
    return {
        "name": field.name,
        "in": "query",
        "description": field.told.meaning,
        "required": field.required,
        "schema": _of_field(field),
    }


def _refusals(one: Operation) -> dict[str, Any]:
    possible = {
        **_ALWAYS,
        **{status: _MORE[status] for status in one.refusals},
        **({} if one.body is None else _WITH_BODY),
    }
    return {str(status): _content(line, _ref("Error")) for status, line in sorted(possible.items())}


def _content(description: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def told_schema(cls: type) -> dict[str, Any]:
    """The schema of a dataclass of what programs tell."""
    known = tellable(cls)
    return {
        "type": "object",
        "description": inspect.getdoc(cls),
        "properties": {
            name: {**_of_field(field), "description": field.told.meaning}
            for name, field in known.items()
        },
        "required": [name for name, field in known.items() if field.required],
        "additionalProperties": False,
    }


def _of_field(field: TellableField) -> dict[str, Any]:
    kind, told = field.kind, field.told
    default = {} if field.default is None else {"default": field.default}
    if issubclass(kind, Enum):
        usual = {} if field.default is None else {"default": field.default.value}
        return {"type": "string", "enum": [one.value for one in kind], **usual}
    if kind is tuple:
        items: dict[str, Any] = {"type": "string", "maxLength": told.longest}
        if field.item is int:
            items = {"type": "integer", "minimum": 0, "maximum": MOST_NUMBER}
        return {"type": "array", "items": items, **_bounds(told, "minItems", "maxItems")}
    if kind is str:
        return {"type": "string", **_bounds(told, "minLength", "maxLength"), **default}
    if kind is bool:
        return {"type": "boolean", **default}
    number = {"type": "integer" if kind is int else "number"}
    above = {} if told.above is None else {"exclusiveMinimum": told.above}
    return {**number, **_bounds(told, "minimum", "maximum"), **above, **default}


def _bounds(told: Told, least: str, most: str) -> dict[str, Any]:
    named = ((least, told.least), (most, told.most))
    return {name: bound for name, bound in named if bound is not None}


def _schema(annotation: Any, schemas: dict[str, Any]) -> Any:
    """The schema of what `documents.document` makes of a value with this annotation."""
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if is_dataclass(annotation) and isinstance(annotation, type):
        name = annotation.__name__
        if name not in schemas:
            schemas[name] = {}  # it may have itself in it
            schemas[name] = _of_answer(annotation, schemas)
        return _ref(name)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return {"type": "string", "enum": [one.name.lower() for one in annotation]}
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return {"anyOf": [_schema(one, schemas) for one in inner]}
    if origin is tuple and inner[-1] is not Ellipsis:
        items = [_schema(one, schemas) for one in inner]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "items": False}
    if origin in (tuple, list):
        return {"type": "array", "items": _schema(inner[0], schemas)}
    assert origin is Mapping, annotation
    if inner[1] is Any:
        return {"type": "object"}
    return {"type": "object", "additionalProperties": _schema(inner[1], schemas)}


def _of_answer(cls: type, schemas: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {
        "type": "object",
        "description": inspect.getdoc(cls),
        "properties": {field.name: _schema(hints[field.name], schemas) for field in fields(cls)},
        "required": [
            field.name for field in fields(cls) if not field.metadata.get("only_if_asked")
        ],
        "additionalProperties": False,
    }
