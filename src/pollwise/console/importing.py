"""What came of `pollwise import`."""

from rich.text import Text

from pollwise.console.quantities import count
from pollwise.console.streams import stdout
from pollwise.live.importing import ImportReport
from pollwise.store.place import Place, command

__all__ = ["print_import"]

_SHOWN = 20


def print_import(report: ImportReport, db: Place) -> None:
    """Print what was taken over, and what was not."""
    lines = [f"{report.origin}: {count(report.pages, 'page')}, {report.new:,d} of them new in {db}"]
    if report.taught:
        checks, pages = count(report.checks, "past check"), count(report.taught, "page")
        lines.append(f"learned from {checks} of {pages}")
    if report.left_out:
        lines.append("not taken over:")
        lines += [f"  {line}" for line in report.left_out[:_SHOWN]]
    if len(report.left_out) > _SHOWN:
        lines.append(f"  and {len(report.left_out) - _SHOWN:,d} more (--json tells all)")
    goes_on = "the watch that runs has taken them" if report.running else None
    lines.append(goes_on or f"`{command(db, 'watch')}` watches them")
    for line in lines:
        stdout().print(Text(line), soft_wrap=True)
