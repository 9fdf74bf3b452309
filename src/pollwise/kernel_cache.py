"""Compiled functions (kernels), whose machine code is kept on disk from one run to the next.

numba's own cache notices an edit of a function's file, but not of a function in another file that
it calls. So the code of all kernels is kept in one folder named after a hash of all their sources,
and an edit leads to another folder. It is below the package's `__pycache__`, or in the user's cache
directory if that cannot be written; NUMBA_CACHE_DIR takes precedence over both.
"""

import contextlib
import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, overload

import numba

from pollwise.version import __version__

__all__ = ["kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

_config: Any = numba.config
_lock = threading.Lock()
"""Decorating sets a variable that is numba's for the whole process, for a moment."""
_PACKAGE = Path(__file__).parent
_FOLDER = f"{_PACKAGE.name}-kernels-"
_KEPT = 3
"""How many folders stay, those used last: several versions may be in use side by side."""
_CONSTANTS = ("types.py", os.path.join("policies", "collecting", "known_web.py"))
"""Files without kernels whose constants are compiled into kernels: the integer codes of `Outcome`,
and where a page of the known web is."""


@overload
def kernel(function: Function, /) -> Function: ...


@overload
def kernel(*, inline: str = ..., fastmath: bool = ...) -> Callable[[Function], Function]: ...


def kernel(function: Any = None, /, **options: Any) -> Any:
    """Have numba compile a function at its first call, and keep the code.

    A decorator in the place of `numba.njit(cache=True)`, and with its options.
    """
    if function is None:
        return lambda function: kernel(function, **options)
    folder, others = _folder(), _config.CACHE_DIR
    try:
        # numba reads it only here; functions that others decorate keep their own folder.
        _config.CACHE_DIR = folder
        return numba.njit(cache=bool(folder), **options)(function)
    finally:
        _config.CACHE_DIR = others


@cache
def _folder() -> str:
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


def _places() -> Iterator[Path]:
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR)
    yield _PACKAGE / "__pycache__"
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    yield Path(caches, _PACKAGE.name)


def _hash_of_sources() -> str:
    """Hash the names and sources of all files whose code ends up in kernels."""
    digest = hashlib.sha256(__version__.encode())  # all there is of an archive without sources
    for folder, folders, files in os.walk(_PACKAGE):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            # Editors leave links to nowhere, such as `.#x.py`, beside the files that are open.
            if name.endswith(".py") and not name.startswith("."):
                path = os.path.join(folder, name)
                with open(path, "rb", buffering=0) as file:
                    source = file.read()
                relative = os.path.relpath(path, _PACKAGE)
                if b"kernel_cache" in source or relative in _CONSTANTS:
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
