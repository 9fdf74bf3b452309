"""What people see of a running collection."""

import json
from pathlib import Path

from pollwise.collecting.link_filter import Rejected
from pollwise.console.collecting import CollectDisplay
from pollwise.console.log import LogFormat
from pollwise.live.loop import Progress, Watched
from pollwise.types import Page, PageMemory


def test_the_fringe_is_what_no_run_has_seen():
    seen = {n: Watched(Page(n, seen_at=1.0 if n < 3 else None), PageMemory()) for n in range(10)}
    display = CollectDisplay(subject="whales", budget="1/second", db=Path("p.db"))
    display.show(Progress((), ()), seen, 0, 0)
    assert "7 in the fringe" in display._line()
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
