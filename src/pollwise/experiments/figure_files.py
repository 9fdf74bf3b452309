"""Figures as files."""

from pathlib import Path
from typing import Any

from pollwise.errors import InputError

__all__ = ["save"]


def save(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib as a PNG file; `InputError` if that cannot be."""
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise InputError(
            f"the figure {path} cannot be written ({error.strerror}): choose another place, or free"
            " some space"
        ) from error
