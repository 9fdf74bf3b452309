"""The annotated SQL files of a database, and the migrations that make its tables."""

import re
from importlib import resources

__all__ = ["parse_queries", "read_migrations", "read_queries"]

_NAME = re.compile(r"^-- name: *(\w+) *\n-- .+\n", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")


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


def read_queries(package: str, parameter: str = r":\1") -> dict[str, str]:
    """The statements of a database by name: those that all word alike, and those of a package.

    They stand in `queries.sql` here and there. `parameter` is how the database wants a parameter,
    `\\1` being its name.
    """
    alike, own = (
        (resources.files(one) / "queries.sql").read_text(encoding="utf-8")
        for one in (__package__, package)
    )
    return {**parse_queries(_PARAMETER.sub(parameter, alike)), **parse_queries(own)}


def read_migrations(package: str) -> list[str]:
    """The scripts of the package's `migrations/` in order; the nth makes format version n."""
    folder = resources.files(package) / "migrations"
    scripts = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".sql")),
        key=lambda entry: entry.name,
    )
    return [script.read_text(encoding="utf-8") for script in scripts]
