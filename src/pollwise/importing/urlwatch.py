"""Pages from the job list of urlwatch (https://urlwatch.readthedocs.io), `urls.yaml`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pollwise.errors import InputError
from pollwise.extras import require_extra
from pollwise.importing.imported import Imported, page_of, tag_of, usable, without_filters
from pollwise.store.records import NewPage
from pollwise.texts import one_line

__all__ = ["read_urlwatch"]

_OF_TEXT = frozenset(
    ("html2text", "strip", "beautify", "format-json", "format-xml", "pretty-xml", "striplines")
)
"""Filters that make text of a page, which is done anyway."""
_DEEPEST = 100
_TAKEN_OVER = frozenset(("url", "name", "filter", "kind", "tags", "enabled", "note"))


def read_urlwatch(data: bytes) -> Imported:
    """The jobs of urlwatch with a `url`; those of a browser or a shell command are left out.

    Filters that choose parts of a page become selectors; what has no counterpart is left out, and
    said so. `InputError` if it is no such file, or without the extra `yaml`.
    """
    require_extra("yaml", "to read a file in YAML", "give a list of URLs instead")
    import yaml

    try:
        depth = 0
        for token in yaml.scan(data):
            # A few of them could stand for more than any memory holds.
            if isinstance(token, yaml.AliasToken):
                raise InputError("aliases (*name) are not read: write out what they stand for")
            # Each token takes time in proportion to the depth.
            begins = isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken)
            ends = isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken)
            depth += begins - ends
            if depth > _DEEPEST:
                raise InputError(f"brackets are nested more than {_DEEPEST} deep")
        jobs = [job for job in yaml.safe_load_all(data) if job is not None]
    except InputError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError, LookupError, AttributeError) as error:
        raise InputError(f"no YAML that can be read: {one_line(error)}") from error
    if not any(isinstance(job, dict) and _JOBS & job.keys() for job in jobs):
        raise InputError("no jobs of urlwatch: expected documents with a key `url`")
    pages: list[NewPage] = []
    left_out: list[str] = []
    for number, job in enumerate(jobs, start=1):
        try:
            pages.append(_page(job, left_out))
        except InputError as error:
            left_out.append(f"job {number}: {error}")
    return Imported("urlwatch", tuple(pages), tuple(left_out))


_JOBS = {"url", "navigate", "command"}


def _page(job: object, left_out: list[str]) -> NewPage:
    if not isinstance(job, dict):
        raise InputError(f"{_text(job)[:60]!r} is no job")
    if not isinstance(url := job.get("url"), str):
        kind = next((key for key in ("navigate", "command") if key in job), "no url")
        name = _text(job.get("name") or "")
        raise InputError(f"{name} cannot be polled ({kind})" if name else f"a job with {kind}")
    select: list[str] = []
    ignore: list[str] = []
    dropped: list[str] = []
    for name, value in _filters(job.get("filter", ())):
        if name in _OF_TEXT:
            continue
        try:
            select += _selectors(name, value)
            ignore += _ignored(name, value)
        except KeyError:
            dropped.append(name)
    select, ignore = usable(select, dropped), usable(ignore, dropped)
    if dropped:
        left_out.append(without_filters(url, dropped, select, ignore))
    if others := sorted(_text(key) for key in job.keys() - _TAKEN_OVER):
        left_out.append(f"{url}: without {', '.join(others)}")
    tags = job.get("tags") or ()
    named = tags if isinstance(tags, list) else _text(tags).split(",") if tags else []
    return page_of(
        url,
        tags=tuple(filter(None, (tag_of(_text(tag)) for tag in named))),
        select=tuple(select),
        ignore=tuple(ignore),
        paused=job.get("enabled") is False,
        name=job.get("name"),
    )


def _filters(told: object) -> Iterator[tuple[str, Any]]:
    """Filters in all the ways in which they are written: `css:body,strip`, names, mappings."""
    if isinstance(told, str):
        told = told.split(",")
    for one in told if isinstance(told, Sequence) else (told,):
        if isinstance(one, Mapping):
            yield from ((_text(name), value) for name, value in one.items())
        else:
            name, _, value = _text(one).strip().partition(":")
            yield name, value


def _selectors(name: str, value: Any) -> list[str]:
    """The selectors of a filter that keeps parts; none for one that drops parts.

    >>> _selectors("css", {"selector": "main", "exclude": "nav"}), _selectors("element-by-id", "a")
    (['main'], ['#a'])
    """
    if name in ("grepi", "re.sub"):
        return []
    chosen = _of(value, "selector", "path", "id", "class", "tag", "query")
    match name:
        case "css":
            return [chosen]
        case "xpath":
            return [f"xpath:{chosen}"]
        case "element-by-id":
            return [f"#{chosen}"]
        case "element-by-class":
            return [f".{chosen}"]
        case "element-by-tag":
            return [chosen]
        case "jsonpath":
            return [f"json:{chosen}"]
    raise KeyError(name)


def _ignored(name: str, value: Any) -> list[str]:
    """What a filter drops.

    >>> _ignored("grepi", "seen"), _ignored("re.sub", {"pattern": "[0-9]+", "repl": ""})
    (['re:.*(?:seen).*'], ['re:[0-9]+'])
    """
    match name:
        case "css" | "xpath" if isinstance(value, Mapping) and value.get("exclude"):
            prefix = "xpath:" if name == "xpath" else ""
            return [f"{prefix}{_text(value['exclude'])}"]
        case "grepi":
            return [f"re:.*(?:{_of(value, 're')}).*"]
        case "re.sub":
            if isinstance(value, Mapping) and value.get("repl"):
                raise KeyError(name)  # it puts something else there
            return [f"re:{_of(value, 'pattern')}"]
    return []


def _of(value: Any, *keys: str) -> str:
    """The parameter of a filter: its value, or that of one of these keys."""
    if isinstance(value, Mapping):
        for key in keys:
            if key in value:
                value = value[key]
                break
        else:
            raise KeyError(keys[0])
    if not isinstance(value, str | int) or re.search(r"[\r\n]", _text(value)):
        raise KeyError(keys[0])
    return _text(value)


def _text(value: object) -> str:
    """A value of the file as a text; `InputError` for a number too long to be written out.

    YAML reads hexadecimal numbers of any length.
    """
    try:
        return str(value)
    except ValueError as error:
        raise InputError("a number in it has too many digits") from error
