"""Backups of changedetection.io."""

import io
import zipfile


def backup(files: dict[str, str]) -> bytes:
    """A zip file with these texts by name."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()
