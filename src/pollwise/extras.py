"""The extras: libraries that only some jobs need, and how to install one that is missing."""

import os
import sys
from importlib.util import find_spec

from pollwise.errors import InputError

__all__ = ["require_extra"]

_LIBRARIES = {
    "browser": ("playwright",),
    "feeds": ("fastfeedparser",),
    "frontier": ("grpc",),
    "notify": ("apprise",),
    "parquet": ("pyarrow",),
    "plots": ("matplotlib",),
    "postgres": ("psycopg",),
    "scrapy": ("scrapy",),
    "serve": ("jinja2", "prometheus_client", "starlette", "uvicorn"),
    "text": ("re2", "lxml", "pypdf", "jsonpath"),
    "warc": ("warcio",),
    "yaml": ("yaml",),
}
"""The modules of each extra in pyproject.toml."""


def require_extra(extra: str, purpose: str, otherwise: str = "") -> None:
    """`InputError` unless all libraries of the `extra` are installed.

    `purpose`: what needs them; `otherwise`: what the user can do instead (empty: nothing).
    """
    missing = [name for name in _LIBRARIES[extra] if find_spec(name) is None]
    if missing:
        alternative = f", or {otherwise}" if otherwise else ""
        *more, last = missing
        named = f"{', '.join(more)} and {last}" if more else last
        raise InputError(
            f"{purpose} needs {named}: install it with"
            f" `{_python()} -m pip install 'pollwise[{extra}]'`{alternative}"
        )


def _python() -> str:
    """This interpreter as a person here would call it: pip has to install for this one."""
    below = os.path.relpath(sys.executable)
    return sys.executable if below.startswith(os.pardir) else below
