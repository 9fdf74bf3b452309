"""Parts of a JSON document, found by JSONPath."""

import json
from collections.abc import Sequence
from typing import Any

from pollwise.sources.selectors import Selector, compiled
from pollwise.sources.view import UnreadableError

__all__ = ["json_parts"]


def json_parts(
    text: str, select: Sequence[Selector], ignore: Sequence[Selector]
) -> list[list[str]]:
    """What each selector names (none: one list with all of it), without what is ignored, as JSON.

    `UnreadableError` if it is no JSON. Needs the extra `text`.

    >>> json_parts('{"at": 17, "news": ["a", "b"]}', [], [Selector("json", "$.at")])
    [['{"news": ["a", "b"]}']]
    """
    try:
        document = json.loads(text.removeprefix("\ufeff"))
        for selector in ignore:
            document = _without(document, selector)
        if not select:
            return [[_written(document)]]
        return [list(map(_written, compiled(selector).findall(document))) for selector in select]
    except RecursionError as error:
        raise UnreadableError("the JSON nests too deeply for selectors") from error
    except ValueError as error:
        raise UnreadableError(f"selectors of JSON, but the answer is none: {error}") from error


def _without(document: Any, selector: Selector) -> Any:
    found = list(compiled(selector).finditer(document))
    # From behind, so that the places of the others in a list stay as they are.
    for match in reversed(found):
        if match.parent is None:
            return None
        holder, key = match.parent.obj, match.parts[-1]
        if isinstance(holder, list):
            holder[int(key)] = _GONE
        else:
            holder.pop(key, None)
    return _swept(document) if found else document


_GONE = object()


def _swept(value: Any) -> Any:
    """A value without what is gone from its lists."""
    if isinstance(value, list):
        return [_swept(each) for each in value if each is not _GONE]
    if isinstance(value, dict):
        return {key: _swept(each) for key, each in value.items()}
    return value


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
