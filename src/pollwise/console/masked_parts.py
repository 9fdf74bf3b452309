"""What people see of the masks of a page."""

from collections.abc import Sequence

from pollwise.insight.noise import MaskedPart

__all__ = ["masked_rows"]


def masked_rows(parts: Sequence[MaskedPart]) -> list[tuple[str, str]]:
    """The parts of a page that do not count, a row each."""
    rows = []
    for part in parts:
        name = "masked, until the next poll" if part.number is None else f"masked {part.number}"
        what = "whatever it says" if part.whole else "its numbers and dates"
        rows.append((name, f"{part.text or '(nothing)'} ({what})"))
    return rows
