"""What people see of `pollwise list`."""

import time

from rich.table import Column

from pollwise.console.quantities import count
from pollwise.console.streams import stdout
from pollwise.console.tables import moment, print_lines
from pollwise.insight.page_list import PageList
from pollwise.units import DAY

__all__ = ["print_page_list"]

_WIDE = 120
"""Columns from which there is room for names and tags beside a URL."""
_LATELY = 180 * DAY


def print_page_list(answer: PageList) -> None:
    """The pages, a line each, and how many there are."""
    now = time.time()
    console = stdout()
    is_wide = console.width >= _WIDE or not console.is_terminal
    with_names = is_wide and any(page.name or page.title for page in answer.results)
    with_tags = is_wide and any(page.tags for page in answer.results)
    if answer.results:
        names, tags = ["name"] * with_names, ["tags"] * with_tags
        kept = (Column(name, no_wrap=True) for name in ("state", "last change", "last poll"))
        columns = (*map(Column, (*names, "page", *tags)), *kept)
        rows = []
        for page in answer.results:
            named = [page.name or page.title or ""] if with_names else []
            tagged = [" ".join(page.tags)] if with_tags else []
            times = (_when(at, now) for at in (page.changed_at, page.polled_at))
            rows.append((*named, page.url, *tagged, str(page.state), *times))
        print_lines(columns, rows)
    shown, found = len(answer.results), answer.found
    told = count(answer.pages, "page")
    if found < answer.pages:
        told += f", {found:,} of them as asked for"
    if shown < found:
        told += f", {shown:,} shown"
    stdout().print(f"{told}; times are UTC")


def _when(at: float | None, now: float) -> str:
    """A time as `ls` tells it: day and time lately, else the date."""
    told = moment(at)
    return told[5:16] if at is not None and 0.0 <= now - at < _LATELY else told[:10]
