"""What people can do about what they are told, in words."""

import shlex

from pollwise.store.place import Place, db_option

__all__ = ["always_remedy"]


def always_remedy(db: Place | str, url: str = "URL") -> str:
    """For a page that differs at every poll."""
    # Without --db a check looks at no database, not at the usual one.
    checks = f"pollwise check {shlex.quote(url)} {db_option(db)}"
    return (
        f"`{checks}` shows what: leave that out (`set --ignore`), watch its feed instead,"
        " or give it less weight"
    )
