"""A collection as JSON lines: one object for each page."""

import json
from base64 import b64encode
from typing import BinaryIO

from pollwise.export.documents import exported_pages
from pollwise.store import Store

__all__ = ["write_jsonl"]


def write_jsonl(file: BinaryIO, store: Store, min_relevance: float | None, *, bodies: bool) -> int:
    """Write a line of UTF-8 for each page; the number of pages.

    The keys are those of `exported_pages`; times are UTC seconds since 1970, bodies are base64.
    """
    count = 0
    for page in exported_pages(store, min_relevance, bodies=bodies):
        if page.get("body") is not None:
            page["body"] = b64encode(page["body"]).decode()
        line = json.dumps(page, ensure_ascii=False, separators=(",", ":"))
        file.write(line.encode() + b"\n")
        count += 1
    return count
