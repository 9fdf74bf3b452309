"""What people see of `pollwise list`."""

from rich.table import Table
from rich.text import Text

from pollwise.console.quantities import count
from pollwise.console.streams import stdout
from pollwise.console.tables import folded, moment
from pollwise.insight.page_list import PageList

__all__ = ["print_page_list"]

_TIME = 16
"""Characters of a time without its seconds."""


def print_page_list(answer: PageList) -> None:
    """The pages as a table, and how many there are."""
    console = stdout()
    if answer.results:
        table = Table(folded("page"), "state", "last change", "last poll")
        for page in answer.results:
            tags = f"tags: {' '.join(page.tags)}" if page.tags else None
            table.add_row(
                Text("\n".join(filter(None, [page.url, page.title, tags]))),
                str(page.state),
                moment(page.changed_at)[:_TIME],
                moment(page.polled_at)[:_TIME],
            )
        console.print(table)
    shown, found = len(answer.results), answer.found
    told = count(answer.pages, "page")
    if found < answer.pages:
        told += f", {found:,} of them as asked for"
    if shown < found:
        told += f", {shown:,} shown"
    console.print(f"{told}; times are UTC")
