"""What is exported of pages that are watched and not collected."""

import json
from pathlib import Path

from pollwise.export import export_collection
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version


def test_what_is_wanted_of_a_page_is_told(tmp_path: Path) -> None:
    wanted = NewPage(
        "http://a.example/",
        name="Town hall",
        tags=("news", "daily"),
        weight=3.0,
        longest_interval=86400.0,
        shortest_interval=60.0,
    )
    with Store.open(tmp_path / "x.db") as store:
        store.add_pages([wanted], now=0.0)
        version = Version(0, 1.0, "text/plain", b"x", "x")
        seen = Observation(0, 1.0, Outcome.CHANGED)
        store.commit(Batch(polls=(PollResult(seen, PageMemory(), version),)))
    export_collection(tmp_path / "x.db", tmp_path / "x.jsonl", now=0.0)
    page = json.loads((tmp_path / "x.jsonl").read_text())
    told = ("name", "tags", "weight", "longest_interval", "shortest_interval")
    assert [page[name] for name in told] == ["Town hall", ["news", "daily"], 3.0, 86400.0, 60.0]


def test_a_watched_page_has_title_and_text(tmp_path: Path) -> None:
    bodies = {
        "text/html": b"<title>News</title><script>1</script><h1>It rains</h1><p>A lot",
        "application/json": b'{"price": 5}',
        "image/png": b"\x89PNG\0",
    }
    with Store.open(tmp_path / "x.db") as store:
        store.add_pages([NewPage(f"http://{n}.example/") for n in range(3)], now=0.0)
        for page_id, (kind, body) in enumerate(bodies.items()):
            version = Version(page_id, 1.0, kind, body, f"{page_id}")
            seen = Observation(page_id, 1.0, Outcome.CHANGED)
            store.commit(Batch(polls=(PollResult(seen, PageMemory(), version),)))
    export_collection(tmp_path / "x.db", tmp_path / "x.jsonl", now=0.0)
    pages = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [(page["title"], page["text"]) for page in pages] == [
        ("News", "It rains\nA lot"),
        (None, '"price": 5'),
        (None, None),
    ]


def test_each_of_many_pages_has_the_text_of_its_own_parts(tmp_path: Path) -> None:
    count = 230  # more than are read at once
    with Store.open(tmp_path / "x.db") as store:
        new = [
            NewPage(f"http://{n}.example/", select=("h1",) if n % 3 == 0 else None)
            for n in range(count)
        ]
        store.add_pages(new, now=0.0)
        polls = []
        for n in range(count):
            version = Version(n, 1.0, "text/html", b"<h1>Day %d</h1><p>Rain" % n, f"{n}")
            seen = Observation(n, 1.0, Outcome.CHANGED)
            polls.append(PollResult(seen, PageMemory(), version))
        store.commit(Batch(polls=tuple(polls)))
    export_collection(tmp_path / "x.db", tmp_path / "x.jsonl", now=0.0)
    pages = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [page["text"] for page in pages] == [
        f"Day {n}" if n % 3 == 0 else f"Day {n}\nRain" for n in range(count)
    ]
