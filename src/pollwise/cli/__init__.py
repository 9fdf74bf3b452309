"""The command `pollwise`: parses, calls, prints.

Answers go to stdout, for people as tables or for programs (`--json`) as one JSON document;
progress and errors go to stderr. Exit status: 0 done (for `watch`: stopped by Ctrl-C or SIGTERM),
1 an error of ours, 2 an input that cannot be used, 130 interrupted.
"""

# numba and aiohttp take a while to load: the commands import what they need.

from pollwise.cli.program import app, main

__all__ = ["app", "main"]
