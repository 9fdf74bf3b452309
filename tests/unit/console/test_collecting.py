"""What people see of a running collection."""

from pathlib import Path

from pollwise.console.collecting import CollectDisplay
from pollwise.live.loop import Progress, Watched
from pollwise.types import Page, PageMemory


def test_the_fringe_is_what_no_run_has_seen():
    seen = {n: Watched(Page(n, seen_at=1.0 if n < 3 else None), PageMemory()) for n in range(10)}
    display = CollectDisplay(subject="whales", budget="1/second", db=Path("p.db"))
    display.show(Progress((), ()), seen, 0, 0)
    assert "7 in the fringe" in display._line()
    display.show(Progress((), (), frozenset({3, 4})), seen, 0, 0)
    assert "5 in the fringe" in display._line()
