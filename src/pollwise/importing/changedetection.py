"""Pages and their past checks from a backup of changedetection.io (a zip file).

Until version 0.53 the file `url-watches.json` has all watches; since then each has a `watch.json`
in a folder of its own, and each tag a `tag.json`, and `changedetection.json` has the settings for
all; a `url-watches.json` beside that is what was left of the version before. `history.txt` beside
a watch has a line `time,file` for every version that was found: the first one is the first copy,
each other one a change. Checks in between are not noted: they are taken to have been made at the
interval that was set.
"""

import lzma
import math
import re
import zipfile
import zlib
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import IO, Any, NamedTuple

from pollwise.checks import is_finite, read_json
from pollwise.errors import InputError
from pollwise.importing.imported import Imported, page_of, tag_of, usable, without_filters
from pollwise.store.records import NewPage
from pollwise.types import Observation, Outcome
from pollwise.units import HOUR

__all__ = ["read_changedetection"]

_INDEX = "url-watches.json"
_SETTINGS = "changedetection.json"
_BROWSERS = ("html_webdriver", "extra_browser_")
_USUAL: Mapping[str, object] = {
    "processor": "text_json_diff",
    "method": "GET",
    "body": None,
    "proxy": None,
    "webdriver_delay": None,
    "webdriver_js_execute_code": None,
    "browser_steps": [],
    "headers": {},
    "trigger_text": [],
    "text_should_not_be_present": [],
    "extract_text": [],
    "extract_lines_containing": [],
    "conditions": [],
    "filter_text_added": True,
    "filter_text_removed": True,
    "filter_text_replaced": True,
    "check_unique_lines": False,
    "sort_text_alphabetically": False,
    "remove_duplicate_lines": False,
    "ignore_status_codes": None,
    "notification_urls": [],
}
"""What has no counterpart here, and its value in a watch of which nothing is lost by that."""
_RULES = (
    *("include_filters", "subtractive_selectors", "ignore_text", "extract_text"),
    *("extract_lines_containing", "trigger_text", "text_should_not_be_present"),
)
"""Those of a watch, of its tags and of the settings for all count together."""
_LARGEST = 32 * 1024 * 1024
"""Bytes of one file of a backup that are read."""
_MOST_VERSIONS = 5_000
"""Of a page: the latest ones teach its rate."""
_SHORTEST = 1.0
_INTERVAL = 3 * HOUR
"""Seconds between checks where the backup says nothing: the default of changedetection.io."""
_SECONDS = {"weeks": 604_800, "days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}
_MOST_BETWEEN = 10
_REGEX = re.compile(r"/(.*)/([aiLmsux]*)")


class _Index(NamedTuple):
    """The watches by their folders, each as it is told or by the name of its own file; the tags by
    id; what is set for all watches, as in a watch; and the seconds between checks of those that do
    not say so.
    """

    watches: Mapping[str, Mapping[str, Any] | str]
    tags: Mapping[str, Mapping[str, Any]]
    for_all: Mapping[str, Any]
    interval: float


def read_changedetection(file: IO[bytes]) -> Imported:
    """The watches of a backup with their titles, tags, selectors, pauses and past checks.

    One watch that has a file of its own is held at a time. `InputError` if it is no backup. What
    has no counterpart is left out, and said so.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            index = _index(archive)
            pages: list[NewPage] = []
            left_out: list[str] = []
            checks: dict[str, tuple[Observation, ...]] = {}
            for folder, told in index.watches.items():
                watch = _object(archive, told) if isinstance(told, str) else told
                try:
                    page = _page(watch, index, left_out)
                except InputError as error:
                    left_out.append(str(error))
                    continue
                pages.append(page)
                found = _history(archive, folder)
                checked_at = _time(watch.get("last_checked"))
                if not found and checked_at:
                    left_out.append(f"{page.url}: without past checks, as it has no history.txt")
                if found:
                    by_default = watch.get("time_between_check_use_default") is True
                    own = None if by_default else _interval(watch.get("time_between_check"))
                    checks[page.url] = _checks(found, checked_at, own or index.interval)
    except (
        *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
        *(NotImplementedError, RuntimeError, OSError, EOFError, UnicodeDecodeError),
    ) as error:
        raise InputError(f"the backup cannot be read ({error}): make it again") from error
    return Imported("changedetection.io", tuple(pages), tuple(left_out), checks)


def _index(archive: zipfile.ZipFile) -> _Index:
    """What a backup says besides single watches. All may lie in a folder more."""
    names = archive.namelist()
    settled = {place.parent for place in map(PurePosixPath, names) if place.name == _SETTINGS}
    tags: dict[str, Mapping[str, Any]] = {}
    watches: dict[str, Mapping[str, Any] | str] = {}
    for_all: dict[str, Any] = {}
    default = _INTERVAL
    for name in names:
        place = PurePosixPath(name)
        is_old = place.name == _INDEX and place.parent not in settled
        if not (is_old or place.name == _SETTINGS):
            continue
        told_by = _object(archive, name)
        watching = _mapping(told_by.get("watching") if is_old else None)
        watches |= {str(place.parent / uuid): _mapping(watch) for uuid, watch in watching.items()}
        settings = _mapping(told_by.get("settings"))
        application = _mapping(settings.get("application"))
        for_all |= {key.removeprefix("global_"): value for key, value in application.items()}
        tags |= {name: _mapping(tag) for name, tag in _mapping(for_all.pop("tags", None)).items()}
        told = _mapping(settings.get("requests")).get("time_between_check")
        default = _interval(told) or default
    for name in names:
        place = PurePosixPath(name)
        if place.name == "watch.json":
            watches[str(place.parent)] = name
        elif place.name == "tag.json":
            tags[place.parent.name] = _object(archive, name)
    if not watches:
        raise InputError(
            f"no backup of changedetection.io: it has neither {_INDEX} nor watch.json; save a"
            " spreadsheet as CSV"
        )
    return _Index(watches, tags, for_all, default)


def _object(archive: zipfile.ZipFile, name: str) -> Mapping[str, Any]:
    try:
        read = read_json(_read(archive, name).decode())
    except ValueError as error:
        raise InputError(f"{name} in the backup is damaged ({error}): make it again") from error
    return _mapping(read)


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _LARGEST:
        raise InputError(f"{name} in the backup has more than {_LARGEST >> 20} MiB")
    with archive.open(name) as file:
        return file.read(_LARGEST)  # whatever the size that it was said to have


def _mapping(told: object) -> Mapping[str, Any]:
    return told if isinstance(told, dict) else {}


def _page(watch: Mapping[str, Any], index: _Index, left_out: list[str]) -> NewPage:
    url = watch.get("url")
    if not isinstance(url, str) or not url.strip():
        raise InputError("a watch without a URL")
    if "{{" in url or "{%" in url:
        raise InputError(f"{url}: made anew at each check; add what it means now")
    url = url.strip().removeprefix("source:")
    tags = [index.tags[tag] for tag in _texts(watch.get("tags")) if tag in index.tags]
    rules = _rules(watch, *tags, index.for_all)
    chosen = rules["include_filters"]
    dropped = [repr(text) for text in chosen if text.startswith("jq")]
    select = usable([_selector(text) for text in chosen if not text.startswith("jq")], dropped)
    ignored = [_selector(text) for text in rules["subtractive_selectors"]]
    ignored += [_pattern(text) for text in rules["ignore_text"]]
    ignore = usable(ignored, dropped)
    if dropped:
        left_out.append(without_filters(url, dropped, select, ignore))
    if lost := _lost({**watch, **rules}):
        left_out.append(f"{url}: without {', '.join(lost)}")
    fetched_by = _fetched_by(watch, tags, index.for_all)
    named = [str(tag.get("title") or "") for tag in tags]
    old = watch.get("tag")
    named += old.split(",") if isinstance(old, str) else []
    try:
        return page_of(
            url,
            tags=tuple(dict.fromkeys(filter(None, map(tag_of, named)))),
            select=tuple(select),
            ignore=tuple(ignore),
            paused=watch.get("paused") is True or index.for_all.get("all_paused") is True,
            render=isinstance(fetched_by, str) and fetched_by.startswith(_BROWSERS),
            name=watch.get("title"),
        )
    except InputError as error:
        raise InputError(f"{url}: {error}") from error


def _rules(*told: Mapping[str, Any]) -> dict[str, list[str]]:
    """The rules that a watch, its tags and the settings for all have together, each once."""
    return {
        key: list(dict.fromkeys(text for some in lists if some for text in _texts(some)))
        for key, lists in ((key, [one.get(key) for one in told]) for key in _RULES)
    }


def _fetched_by(
    watch: Mapping[str, Any], tags: list[Mapping[str, Any]], for_all: Mapping[str, Any]
) -> object:
    """By what a watch is fetched: it says so itself, or the first tag that may, or all do it so."""
    overriding = (tag for tag in tags if tag.get("overrides_watch") is True)
    told = (one.get("fetch_backend") for one in (watch, *overriding, for_all))
    return next((one for one in told if one not in (None, "", "system")), None)


def _lost(watch: Mapping[str, Any]) -> list[str]:
    """The keys of what has no counterpart."""
    lost = []
    for key, usual in _USUAL.items():
        value = watch.get(key)
        if (value is False) if usual is True else bool(value) and value != usual:
            lost.append(key)
    if _mapping(watch.get("time_schedule_limit")).get("enabled") is True:
        lost.append("time_schedule_limit")
    return lost


def _texts(told: object) -> list[str]:
    lines = told if isinstance(told, list) else []
    return [line.strip() for line in lines if isinstance(line, str) and line.strip()]


def _selector(text: str) -> str:
    """A filter as pollwise writes it.

    >>> [_selector(text) for text in ("main", "//p", "xpath1://p", "json:$.a")]
    ['main', 'xpath://p', 'xpath://p', 'json:$.a']
    """
    if text.startswith("xpath1:"):
        return f"xpath:{text.removeprefix('xpath1:')}"
    return f"xpath:{text}" if text.startswith("/") else text


def _pattern(text: str) -> str:
    """Text to ignore, which stands for whole lines, as a regular expression.

    >>> _pattern("seen 3 times"), _pattern("/[0-9]+ views/i")
    ('re:(?i).*seen\\\\ 3\\\\ times.*', 're:(?i).*(?:[0-9]+ views).*')
    """
    if matched := _REGEX.fullmatch(text):
        pattern, flags = matched.groups()
        case = "(?i)" if "i" in flags else ""
        return f"re:{case}.*(?:{pattern}).*"
    return f"re:(?i).*{re.escape(text)}.*"


def _interval(told: object) -> float | None:
    """Seconds between checks; None: not told."""
    parts = _mapping(told)
    seconds = 0.0
    for name, unit in _SECONDS.items():
        value = parts.get(name)
        if is_finite(value) and value > 0:
            seconds += value * unit
    return max(seconds, _SHORTEST) if seconds else None


def _time(told: object) -> float:
    return float(told) if is_finite(told) and told > 0 else 0.0


def _history(archive: zipfile.ZipFile, folder: str) -> list[float]:
    """The times (UTC seconds) at which versions were found, each once, in order."""
    try:
        text = _read(archive, f"{folder}/history.txt").decode(errors="replace")
    except KeyError:
        return []
    times = {float(time) for time in re.findall(r"^(\d{9,11})(?=,)", text, re.MULTILINE)}
    return sorted(times)[-_MOST_VERSIONS:]


def _checks(found: list[float], last: float, interval: float) -> tuple[Observation, ...]:
    """The checks of a page that found a version at these times, and ran until `last`.

    Of the many between two versions ten are told: to one who learns a rate they say as much.

    >>> [(one.polled_at, one.outcome.value) for one in _checks([0.0, 90.0], 125.0, 30.0)]
    [(0.0, 1), (30.0, 0), (60.0, 0), (90.0, 1), (125.0, 0)]
    """
    checks = []
    for at, following in zip_longest(found, found[1:]):
        checks.append(Observation(-1, at, Outcome.CHANGED))
        end = last if following is None else following - interval
        rounds = math.ceil((end - at) / interval - 0.5) if end > at else 0
        told = min(max(rounds, end > at), _MOST_BETWEEN)
        checks += [
            Observation(-1, at + (end - at) * n / told, Outcome.UNCHANGED)
            for n in range(1, told + 1)
        ]
    return tuple(checks)
