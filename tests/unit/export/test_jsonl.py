"""JSON lines: what is known of each page."""

import json
from pathlib import Path

from pollwise.export import export_collection

SITE = "https://a.example/"


def test_a_line_for_each_page(db: Path) -> None:
    path = db.with_name("x.jsonl")
    export_collection(db, path, now=0.0)
    first, second, third = (json.loads(line) for line in path.read_bytes().splitlines())
    assert first == {
        "page_id": 0,
        "url": SITE,
        "title": "Zwei",
        "text": "two é",
        "relevance": 0.75,
        "depth": 0,
        "first_seen_at": 1.25,
        "last_seen_at": 5.0,
        "last_changed_at": 4.0,
        "polls": 5,
        "changes": 1,
        "gone": False,
        "duplicate_of": None,
    }
    assert (second["title"], second["duplicate_of"]) == ("One", SITE)
    assert (third["url"], third["title"], third["text"]) == (f"{SITE}2", None, None)
