"""What people see of `pollwise search`."""

from collections.abc import Sequence

from rich.text import Text

from pollwise.console.streams import stdout
from pollwise.store.place import Place
from pollwise.store.records import Hit

__all__ = ["print_hits"]


def print_hits(db: Place, query: str, hits: Sequence[Hit], copies: int) -> None:
    """The pages found, best first: title, relevance, URL, and the text around the words.

    Of `copies` of others, which are not searched, is told where nothing is found.
    """
    console = stdout()
    if not hits:
        more = f"; left out, as they are copies of others: {copies:,}" if copies else ""
        console.print(f"no page of {db} fits {query!r}{more}")
    for number, hit in enumerate(hits, start=1):
        title = _printable(" ".join(hit.title.split())) or hit.url
        heading = Text(f"{number}. {title}", style="bold")
        heading.append(f"  relevance {hit.relevance:.2f}", style="not bold dim")
        snippet = Text(_printable(hit.snippet))
        for start, end in hit.marks:
            snippet.stylize("bold yellow", start, end)
        console.print(heading)
        console.print(Text(f"   {hit.url}", style="cyan"))
        for line in snippet.wrap(console, console.width - 3):
            console.print(Text("   ") + line)
        console.print()


def _printable(text: str) -> str:
    """Text of the web with spaces for what could control a terminal, so that places stay."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
