"""The pages as a list for `--file`: a URL a line, with what is wanted of it."""

from typing import BinaryIO

from pollwise.store.base import StoreReader
from pollwise.web.url_list import line_of

__all__ = ["write_url_list"]


def write_url_list(file: BinaryIO, store: StoreReader, min_relevance: float | None) -> int:
    """Write a line of UTF-8 for each page, also without a copy; the number of pages.

    With `min_relevance`, as for `export_collection`.
    """
    count = 0
    for record in store.pages():
        if min_relevance is None or (record.relevance or 0.0) >= min_relevance:
            file.write(f"{line_of(record.page)}\n".encode())
            count += 1
    return count
