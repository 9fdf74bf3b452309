"""The command `pollwise`: parses, calls, prints.

Answers go to stdout, for people as tables or for programs (`--json`) as one JSON document;
progress and errors go to stderr. Exit status: 0 done (for `watch`: stopped by Ctrl-C or SIGTERM),
1 an error of ours, 2 an unusable input, 130 interrupted. numba and aiohttp take a while to load, so
each command imports what it needs.
"""

from pollwise.cli.program import app, main

__all__ = ["app", "main"]
