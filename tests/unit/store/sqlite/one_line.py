"""What the tests of database files look at."""

from pathlib import Path

__all__ = ["assert_one_line", "files"]


def files(path: Path) -> dict[str, bytes]:
    """The files at and beside a path, but for the one that any SQLite connection may leave."""
    return {
        p.name: p.read_bytes()
        for p in path.parent.iterdir()
        if p.name != f"{path.name}-shm" and p.is_file()
    }


def assert_one_line(error: BaseException, path: Path, *parts: str) -> None:
    message = str(error)
    assert "\n" not in message
    assert message.startswith(str(path))
    assert all(part in message for part in parts), message
