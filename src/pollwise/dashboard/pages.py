"""Making pages from templates; and the pages that tell errors and ask for the token."""

import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from pollwise.dashboard.wording import FILTERS

__all__ = ["STATIC", "error_page", "login_page", "page"]

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
"""What is sent as it is: the style and the script."""


def _mark() -> str:
    """What changes with the static files, so that browsers may keep them."""
    digest = hashlib.sha256()
    for file in sorted(STATIC.iterdir()):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


_templates = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.globals["mark"] = _mark()
_templates.filters.update(FILTERS)


_BARE = {"frame": None, "flash": ""}
"""Of pages without a frame, and without news of what was just done."""


def page(template: str, status: int = 200, /, **values: Any) -> Response:
    """The page of a template with these values, which are escaped, under this status code.

    What stands around it needs the value `frame`, see `frame_of`.
    """
    return HTMLResponse(_templates.get_template(template).render({**_BARE, **values}), status)


def error_page(status: int, line: str, heading: str = "That did not work") -> Response:
    """The page that tells what went wrong, in one line."""
    return page("error.html", status, line=line, heading=heading)


def login_page(target: str, complaint: str) -> Response:
    """The page that asks for the token, to go on with the path `target`."""
    return page("login.html", 401, target=target, complaint=complaint)
