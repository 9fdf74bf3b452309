"""The command `pollwise`: parses, calls, prints.

Answers go to stdout, for people as tables or for programs (`--json`) as one JSON document;
progress and errors go to stderr. Exit status: 0 done (for `watch`: stopped by Ctrl-C or SIGTERM),
1 an error of ours, 2 an unusable input, 130 interrupted, 141 nobody reads stdout any more. numba
and aiohttp take a while to load, so each command imports what it needs.
"""

import os
import signal

__all__ = ["main"]


def main() -> None:
    """Run the command line; unusable input ends it with one line and status 2."""
    interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interrupts:  # as an exception it would show where the loading was
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # More threads of numpy's linear algebra use up whole cores while they wait for little work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pollwise.cli.program import run

    if interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()
