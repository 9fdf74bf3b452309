"""What people see of a running collection."""

import json
from pathlib import Path

from pollwise.collecting.link_filter import Rejected
from pollwise.console.collecting import CollectDisplay
from pollwise.console.log import LogFormat
from pollwise.live.loop import Progress, Watched
from pollwise.store.records import PageRecord
from pollwise.types import Outcome, Page, PageMemory


def record(number: int, relevance: float | None, outcome: Outcome | None) -> PageRecord:
    page = Page(number, seen_at=None if relevance is None else 1.0)
    polled_at = None if outcome is None else 1.0
    told = (
        PageMemory(),
        0.0,
        polled_at,
        outcome,
        2 * (outcome is not None),
        0,
        0,
        None,
        None,
        None,
    )
    return PageRecord(page, *told, relevance=relevance)


def test_what_earlier_runs_collected_is_counted():
    records = [
        *(record(n, relevance, Outcome.UNCHANGED) for n, relevance in enumerate((0.5, 0.25, 0.0))),
        record(3, None, Outcome.FAILED),
        *(record(n, None, None) for n in range(4, 10)),
    ]
    seen = {record.page.id: Watched(record.page, PageMemory()) for record in records}
    display = CollectDisplay(subject="whales", budget="1/second", db=Path("p.db"))
    display.begin(records)
    assert display._line() == (
        "8 polls, 3 documents of which 2 relevant (sum 0.8), 7 in the fringe, 0 under way,"
        " 0 queued, 1 page in trouble"
    )
    display.show(Progress((), (), frozenset({3, 4})), seen, 0, 0)
    assert "5 in the fringe" in display._line()


def test_a_log_for_collectors_has_an_object_a_line(capsys):
    with CollectDisplay(
        subject="whales", budget="1/second", db=Path("p.db"), log=LogFormat.json
    ) as display:
        display.rejected({Rejected.DENIED: 3})
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["notice"] * 3
    assert "collecting pages about whales" in lines[0]["notice"]
    assert lines[1]["notice"].endswith(" 3")
