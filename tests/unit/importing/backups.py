"""Backups of changedetection.io."""

import io
import zipfile


def backup(files: dict[str, str], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file with these texts by name."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()
