"""The statements of `queries.sql` by name, and the migrations that make the tables."""

import re
from importlib import resources

__all__ = ["SQL", "migrations", "parse_queries"]

_NAME = re.compile(r"^-- name: *(\w+) *\n-- .+\n", re.MULTILINE)


def parse_queries(text: str) -> dict[str, str]:
    """Statements by name, from a text in which each has a line `-- name: xxx` and a comment line.

    `ValueError` if a name comes twice or lacks its comment line.
    """
    # re.split gives the text before the first name, then names and statements in turn.
    parts = _NAME.split(text)
    names, statements = parts[1::2], parts[2::2]
    queries = {name: sql.strip() for name, sql in zip(names, statements, strict=True)}
    if len(queries) != text.count("-- name:"):
        raise ValueError("a query's name comes twice, or the comment line after it is missing")
    return queries


def migrations() -> list[str]:
    """The scripts of `migrations/` in order; the nth (from 1) makes format version n."""
    folder = resources.files("pollwise.store.sqlite") / "migrations"
    scripts = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".sql")),
        key=lambda entry: entry.name,
    )
    return [script.read_text(encoding="utf-8") for script in scripts]


SQL = parse_queries(
    (resources.files("pollwise.store.sqlite") / "queries.sql").read_text(encoding="utf-8")
)
"""Every statement that the store runs on its tables, by name."""
