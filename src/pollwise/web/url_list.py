"""Pages as users name them: in a list, a URL a line and what is wanted of it, or one by one."""

import math
import re
import shlex
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from os.path import isfile
from pathlib import Path
from typing import Any

from pollwise.errors import InputError
from pollwise.scheduler.budgets import frequency
from pollwise.store.records import NewPage, usual_cost
from pollwise.texts import STANDARD_INPUT, file_told, plain, read_text
from pollwise.types import Page
from pollwise.web.wishes import wished_page

__all__ = ["NoListError", "line_of", "listed_page", "named_pages", "read_url_list"]

_TOKEN = re.compile(r"""(?P<comment>\#.*) | (?P<quoted>[a-z-]+="(?:[^"]|"")*") | \S+""", re.VERBOSE)
_MARK = re.compile(
    r"(weight|cost|at-least|at-most|tags|select|ignore|render|notify-when)=(.*)", re.DOTALL
)
_SEVERAL = ("select", "ignore", "notify-when")
"""Marks that may be given several times."""
_FOREIGN = re.compile(
    r"\s*<|(?:[^\n]*[;,\t])? *\"?(?:url|uri|link|address|checked_at)\"?\s*(?:[;,:\t\n]|$)",
    re.IGNORECASE,
)
"""How XML, tables and YAML begin."""
_MOST_NAMED = 10
_LARGEST = 2**30
"""Bytes: some ten million URLs."""
_ANSWERS = {"yes": True, "no": False, "": False}


class NoListError(InputError):
    """A file is no list with a URL a line, but one of another program."""


def named_pages(urls: Sequence[str], **told: Any) -> list[NewPage]:
    """The pages of a command line, whose lists do not take them away.

    `told` is what is wanted of them, as to `read_wishes`. `InputError` for what is no URL.
    """
    for url in urls:
        if "://" not in url and isfile(url):
            raise InputError(f"{url} is a file: to watch the pages it names, write --file {url}")
    return [replace(wished_page(url, **told), listed_in="") for url in urls]


def read_url_list(path: Path, say: Callable[[str], None] = lambda told: None) -> list[NewPage]:
    """The pages of a file (UTF-8), in its order; the first line of a repeated URL counts, and `say`
    is told if another one wants something else of it.

    One URL a line; blank lines and lines that begin with `#` are skipped. `weight=2`, `cost=0.5`,
    `at-least=1/day`, `at-most=1/hour`, `tags=a,b`, `select="main p"`, `ignore="nav"`, `render=yes`
    and `notify-when="below 20"` may follow the URL in any order, and a comment after ` #`. Within
    quotes a quote is written twice. With nothing behind the sign they take back what the page had.
    `InputError` names the file and the lines; `NoListError`: it begins like XML, a table or YAML.
    """
    name = file_told(path)
    listed: dict[str, NewPage] = {}
    numbers = array("I")  # of their lines
    unheeded: dict[int, str] = {}
    wrong: dict[int, InputError] = {}
    text = _read(path)
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            page = wished_page(words[0]) if len(words) == 1 else listed_page(line)
        except InputError as error:
            wrong[number] = error
        else:
            heeded = listed.setdefault(page.url, page)
            if heeded is page:
                numbers.append(number)
            elif heeded != page:
                unheeded[number] = page.url
    if wrong:
        if 1 in wrong and _FOREIGN.match(text):
            imports = f"pollwise import {'FILE' if path == STANDARD_INPUT else shlex.quote(name)}"
            raise NoListError(f"{name}: no list with a URL a line; `{imports}` reads others")
        first, *others = wrong
        more = f"; wrong are also lines {_named(others)}" if others else ""
        raise InputError(f"{name}, line {first}: {wrong[first]}{more}") from wrong[first]
    if unheeded:
        number, *others = unheeded
        url = unheeded[number]
        heeded_line = numbers[list(listed).index(url)]
        more = f"; more such lines: {_named(others)}" if others else ""
        say(
            f"{name}: line {number} does not count, as line {heeded_line} names {url} already, with"
            f" other words: keep one of them{more}"
        )
    return list(listed.values())


def line_of(page: Page) -> str:
    """The line of a list that brings a page again, with what is wanted of it.

    Its name and whether it is paused no list says.

    >>> line_of(Page(0, "http://a/", cost=2.0, select=("main p", "h1"), longest_interval=43_200.0))
    'http://a/ cost=2 at-least=2/day select="main p" select=h1'
    """
    marks = []
    if page.weight != 1.0:
        marks.append(("weight", plain(page.weight)))
    if page.cost != usual_cost(page.render):
        marks.append(("cost", plain(page.cost)))
    if page.longest_interval is not None:
        marks.append(("at-least", frequency(page.longest_interval)))
    if page.shortest_interval is not None:
        marks.append(("at-most", frequency(page.shortest_interval)))
    if page.tags:
        marks.append(("tags", ",".join(page.tags)))
    marks += [("select", text) for text in page.select]
    marks += [("ignore", text) for text in page.ignore]
    if page.render:
        marks.append(("render", "yes"))
    marks += [("notify-when", text) for text in page.notify_when]
    return " ".join([page.url, *(f"{name}={_quoted(value)}" for name, value in marks)])


def _quoted(value: str) -> str:
    """A value as `_unquoted` reads it."""
    if " " in value or value.startswith('"'):
        return '"' + value.replace('"', '""') + '"'
    return value


def _unquoted(value: str) -> str:
    if not value.startswith('"'):
        return value
    if len(value) < 2 or not value.endswith('"'):
        raise InputError(f'the quotes of {value} do not end; write " behind it')
    return value[1:-1].replace('""', '"')


def _named(numbers: list[int]) -> str:
    """The numbers of lines, not all of very many.

    >>> _named([3, 5]), _named(list(range(99)))
    ('3, 5', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 89 more')
    """
    told = ", ".join(map(str, numbers[:_MOST_NAMED]))
    left = len(numbers) - _MOST_NAMED
    return f"{told} and {left:,d} more" if left > 0 else told


def _read(path: Path) -> str:
    try:
        return read_text(path, _LARGEST)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file_told(path)}: not UTF-8 text (byte {error.start}); save the URL list as UTF-8"
        ) from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"{file_told(path)}: the URL list cannot be read ({why}); name a readable text file"
        ) from error


def listed_page(line: str) -> NewPage:
    """The page of a line, with what it says behind the URL; `InputError` for what is no such line.

    >>> listed_page("http://a.example/ tags=news weight=2 # mine").tags
    ('news',)
    """
    url, *marks = (found[0] for found in _TOKEN.finditer(line) if found["comment"] is None)
    values: dict[str, list[str]] = {}
    for mark in marks:
        matched = _MARK.fullmatch(mark)
        if matched is None:
            raise InputError(
                f"{mark!r} behind the URL; only weight=NUMBER and cost=NUMBER, at-least=N/TIME and"
                " at-most=N/TIME, tags=TAG,TAG, select=SELECTOR, ignore=SELECTOR, render=YES and"
                " notify-when=CONDITION may follow it; a space in a URL is written %20, and what"
                ' has spaces stands in quotes, as in select="main p"'
            )
        name, value = matched.groups()
        if name in values and name not in _SEVERAL:
            raise InputError(f"{name} is given twice; keep one of them")
        values.setdefault(name, []).append(_unquoted(value))
    return wished_page(
        url,
        weight=_number("weight", values.get("weight")),
        cost=_number("cost", values.get("cost")),
        at_least=values.get("at-least", [None])[0],
        at_most=values.get("at-most", [None])[0],
        tags=values.get("tags"),
        select=values.get("select"),
        ignore=values.get("ignore"),
        render=_answer("render", values.get("render")),
        notify_when=values.get("notify-when"),
    )


def _number(name: str, texts: list[str] | None) -> float | None:
    if texts is None:
        return None
    if not texts[0]:
        return 1.0  # as of any page
    try:
        value = float(texts[0])
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise InputError(f"'{name}={texts[0]}'; {name} must be a number above 0, such as {name}=2")
    return value


def _answer(name: str, texts: list[str] | None) -> bool | None:
    if texts is None:
        return None
    answer = texts[0].lower()
    if answer not in _ANSWERS:
        raise InputError(f"'{name}={texts[0]}'; {name} must be yes or no, such as {name}=yes")
    return _ANSWERS[answer]
