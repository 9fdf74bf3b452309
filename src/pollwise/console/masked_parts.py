"""What people see of the masks of a page."""

from collections.abc import Sequence

from pollwise.insight.noise import MaskedPart

__all__ = ["masked_rows", "noise_rows"]


def masked_rows(parts: Sequence[MaskedPart]) -> list[tuple[str, str]]:
    """The parts of a page that do not count, a row each."""
    names = (
        "masked, until the next poll" if part.number is None else f"masked {part.number}"
        for part in parts
    )
    return [(name, _what(part)) for name, part in zip(names, parts, strict=True)]


def noise_rows(parts: Sequence[MaskedPart]) -> list[tuple[str, str]]:
    """The parts of a page that were seen to be noise, but are not masked yet."""
    return [("noise, not masked yet", _what(part)) for part in parts]


def _what(part: MaskedPart) -> str:
    what = "whatever it says" if part.whole else "its numbers and dates"
    return f"{part.text or '(nothing)'} ({what})"
