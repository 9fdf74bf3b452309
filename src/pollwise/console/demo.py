"""What people see of `pollwise demo`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from rich.table import Table

from pollwise.console.display import Display
from pollwise.console.streams import stdout
from pollwise.live.demo import SETTINGS, DemoResult, Watcher

__all__ = ["DemoDisplay", "print_demo"]


class DemoDisplay(Display):
    """The two watchers of the demonstration, side by side."""

    line_interval = 5.0

    def __init__(self) -> None:
        self._title = "getting ready"
        self._watchers: Mapping[str, Watcher] = {}
        super().__init__()

    def show(self, now: float, watchers: Mapping[str, Watcher]) -> None:
        """Show how far the watchers are at the time `now` of the time-lapse."""
        self._title = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
        self._watchers = watchers
        self._tell_at_times()

    def say(self, text: str) -> None:
        """Show what happens before the time-lapse begins."""
        self._title = text
        if not self._console.is_terminal:
            self._console.print(text)

    def _picture(self) -> Table:
        table = Table(title=f"{self._title}: 250 real pages, watched over HTTP")
        for heading in ("policy", "polls", "changes found"):
            table.add_column(heading, justify="left" if heading == "policy" else "right")
        for watcher in self._watchers.values():
            table.add_row(watcher.name, str(watcher.polls), str(watcher.found))
        return table

    def _line(self) -> str:
        found = ", ".join(
            f"{watcher.name} {watcher.found} changes in {watcher.polls} polls"
            for watcher in self._watchers.values()
        )
        return f"{self._title}: {found}"


def print_demo(results: Sequence[DemoResult]) -> None:
    """What both watchers made of the same budget."""
    table = Table(title="A year of 250 real pages, the same budget for both", caption=SETTINGS)
    table.add_column("")
    for result in results:
        table.add_column(result.policy, justify="right")
    rows: list[tuple[str, Callable[[DemoResult], str]]] = [
        ("changes found", lambda r: f"{r.found} of {r.changes}"),
        ("freshness", lambda r: f"{r.freshness:.3f}"),
        ("mean delay", lambda r: f"{r.delay_days:.1f} days"),
        ("polls", lambda r: f"{r.polls}"),
        ("requests used", lambda r: f"{r.requests}"),
    ]
    for name, cell in rows:
        table.add_row(name, *(cell(result) for result in results))
    stdout().print(table)
