"""JSON lines: what is known of each page."""

import json
from base64 import b64decode
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
        "name": "",
        "tags": [],
        "weight": 1.0,
        "longest_interval": None,
        "shortest_interval": None,
    }
    assert (second["title"], second["duplicate_of"]) == ("One", SITE)
    assert (third["url"], third["title"], third["text"]) == (f"{SITE}2", None, None)


def test_bodies_are_base64_and_come_after_all_the_rest(db: Path) -> None:
    plain, whole = db.with_name("plain.jsonl"), db.with_name("whole.jsonl")
    export_collection(db, plain, now=0.0)
    export_collection(db, whole, now=0.0, bodies=True)
    pages = [json.loads(line) for line in whole.read_bytes().splitlines()]
    assert [(page.pop("content_type"), b64decode(page.pop("body"))) for page in pages] == [
        ("text/html; charset=utf-8", b"<p>two \xc3\xa9"),
        ("text/html; charset=utf-8", b"<p>one"),
        ("téxt/odd", b"\0\xff"),
    ]
    assert pages == [json.loads(line) for line in plain.read_bytes().splitlines()]
