"""Where the machine code of the kernels is kept, and what is known to be compiled there.

Apart from `pollwise.kernel_cache` because looking needs no numba, which is slow to load. The folder
is named after a hash of the sources of all kernels. It is below the package's `__pycache__`, or in
the user's cache directory if that cannot be written; the environment variable NUMBA_CACHE_DIR takes
precedence over both.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pollwise.version import __version__

__all__ = [
    "NOTHING_KEPT",
    "alone",
    "is_compiled",
    "kernel_folder",
    "note_compiled",
    "what_compiles",
]

NOTHING_KEPT = "as nothing compiled can be kept (XDG_CACHE_HOME may name a folder for it),"
"""Why all is compiled at every run where no place for the folder can be written."""
_PACKAGE = Path(__file__).parent
_FOLDER = f"{_PACKAGE.name}-kernels-"
_KEPT = 3
"""How many folders stay, those used last: several versions may be in use side by side."""
_CONSTANTS = (
    "checks.py",
    "types.py",
    "units.py",
    os.path.join("policies", "collecting", "known_web.py"),
    os.path.join("policies", "index", "state.py"),
)
"""Files without kernels whose constants are compiled into kernels, such as the integer codes of
`Outcome`."""


@cache
def kernel_folder() -> str:
    """The folder for the present sources; empty: no place can be written."""
    name = _FOLDER + _hash_of_sources()
    for parent in _places():
        folder = parent / name
        with contextlib.suppress(OSError):
            is_new = not folder.is_dir()
            folder.mkdir(parents=True, exist_ok=True)
            os.utime(folder)
            if is_new:
                _remove_old(parent)
            if os.access(folder, os.W_OK):
                return str(folder)
    return ""


def is_compiled(purpose: str) -> bool:
    """Whether everything for this purpose was compiled before, on a machine like this."""
    folder = kernel_folder()
    return bool(folder) and Path(folder, _mark(purpose)).exists()


def what_compiles() -> str:
    """The runs that compile, in words: the first one, or each if nothing can be kept."""
    return "the first run" if kernel_folder() else f"every run, {NOTHING_KEPT}"


def note_compiled(purpose: str) -> None:
    """Note that everything for this purpose is compiled; nothing happens if nothing is kept."""
    if folder := kernel_folder():
        with contextlib.suppress(OSError):
            Path(folder, _mark(purpose)).touch()


@contextlib.contextmanager
def alone(file: Path) -> Iterator[None]:
    """Wait until no other process is in this context, for the same file, which is made.

    Where it cannot be made, or locked, nobody is waited for.
    """
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)  # another process may have removed it
            opened = held.enter_context(file.open("w"))
            fcntl.flock(opened, fcntl.LOCK_EX)
            held.callback(fcntl.flock, opened, fcntl.LOCK_UN)  # a fork may have it open, too
        yield


def _mark(purpose: str) -> str:
    try:
        compiler = version("numba")
    except PackageNotFoundError:  # installed without its description
        compiler = "unknown"
    return f"compiled-for-{purpose}-by-numba-{compiler}"


def _places() -> Iterator[Path]:
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(named)
    yield _PACKAGE / "__pycache__"
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(caches):  # else nobody knows where home is
        yield Path(caches, _PACKAGE.name)


def _hash_of_sources() -> str:
    """Hash the names and sources of all files whose code ends up in kernels."""
    digest = hashlib.sha256(__version__.encode())  # all there is of an archive without sources
    constants = {os.path.join(_PACKAGE, name) for name in _CONSTANTS}
    for folder, folders, files in os.walk(_PACKAGE):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            # Editors leave links to nowhere, such as `.#x.py`, beside the files that are open.
            if name.endswith(".py") and not name.startswith("."):
                path = os.path.join(folder, name)
                with open(path, "rb", buffering=0) as file:
                    source = file.read()
                if b"kernel_cache" in source or path in constants:
                    relative = os.path.relpath(path, _PACKAGE)
                    digest.update(f"{relative} {len(source)} ".encode())
                    digest.update(source)
    return digest.hexdigest()[:16]


def _remove_old(parent: Path) -> None:
    """Remove the folders used longest ago; a process that still needs one makes it anew."""
    used = {}
    for folder in parent.glob(_FOLDER + "*"):
        with contextlib.suppress(OSError):
            used[folder] = folder.stat().st_mtime
    for folder in sorted(used, key=used.__getitem__, reverse=True)[_KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)
