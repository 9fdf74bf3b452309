"""The text of a PDF."""

import io
from importlib.util import find_spec

from pollwise.sources.view import LONGEST_TITLE, UnreadableError
from pollwise.texts import one_line, printable

__all__ = ["can_read_pdf", "read_pdf"]

_MOST_PAGES = 500
_MOST_TEXT = 5_000_000


def can_read_pdf() -> bool:
    """Whether the library for PDF is installed."""
    return find_spec("pypdf") is not None


def read_pdf(body: bytes) -> tuple[str, tuple[str, ...]]:
    """The title of a PDF, empty if it tells none, and the lines of its first 500 pages.

    A scan has no lines. `UnreadableError` if it is broken or encrypted. Needs the extra `text`, and
    time that its content may make long: call it beside the loop.
    """
    import logging

    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells each flaw of each page
    try:
        document = pypdf.PdfReader(io.BytesIO(body))
        title = (document.metadata.title if document.metadata else None) or ""
        lines: list[str] = []
        text = 0
        for page in document.pages[:_MOST_PAGES]:
            own = [" ".join(line.split()) for line in page.extract_text().split("\n")]
            lines += filter(None, own)
            text += sum(map(len, own))
            if text > _MOST_TEXT:
                break
    # Of a PDF that is wrong in a new way it raises whatever comes.
    except Exception as error:
        raise UnreadableError(f"a PDF that cannot be read: {one_line(error)}") from error
    return printable(title)[:LONGEST_TITLE], tuple(lines)
