"""A collection as JSON lines: one object for each page."""

import json
from dataclasses import asdict
from typing import BinaryIO

from pollwise.export.documents import documents_with_text
from pollwise.store import Store

__all__ = ["write_jsonl"]


def write_jsonl(file: BinaryIO, store: Store, min_relevance: float | None) -> int:
    """Write a line of UTF-8 for each page; the number of pages.

    The keys are the fields of `pollwise.store.records.Document`; times are UTC seconds since 1970.
    """
    count = 0
    for document in documents_with_text(store, min_relevance):
        line = json.dumps(asdict(document), ensure_ascii=False, separators=(",", ":"))
        file.write(line.encode() + b"\n")
        count += 1
    return count
