"""Five pages that change at their own pace, for the tutorial.

    python3 docs/tutorial_site.py [PORT]

Serves them on this machine until Ctrl-C; needs nothing but Python.
"""

import bisect
import contextlib
import itertools
import random
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECONDS_BETWEEN_CHANGES = {"news": 8, "offers": 25, "weather": 60, "team": 3600, "terms": 86_400}
TREES = (
    "alder",
    "birch",
    "cedar",
    "elm",
    "fir",
    "hazel",
    "juniper",
    "larch",
    "maple",
    "oak",
    "yew",
)
PLACES = ("bay", "fjord", "grove", "heath", "island", "marsh", "valley")


class Site:
    """The texts of the pages, which change at random moments of a seeded generator."""

    def __init__(self) -> None:
        generator = random.Random(1)
        self._begin = time.monotonic()
        self._changes = {
            page: [*itertools.accumulate(generator.expovariate(1 / mean) for _ in range(10_000))]
            for page, mean in SECONDS_BETWEEN_CHANGES.items()
        }

    def text(self, page: str) -> str:
        """The HTML of a page now; the news also tell the time, as many pages do."""
        changes = bisect.bisect(self._changes[page], time.monotonic() - self._begin)
        now = f"{TREES[changes % len(TREES)]} by the {PLACES[changes % len(PLACES)]}"
        clock = f"<p>It is {time.strftime('%H:%M:%S')}.</p>" if page == "news" else ""
        return f"<title>{page.title()}</title><h1>{page.title()}</h1><p>Now: {now}.</p>{clock}"


SITE = Site()


class Handler(BaseHTTPRequestHandler):
    """Answers each request with the page as it is now."""

    def do_GET(self) -> None:
        """Send a page, or 404 (robots.txt too: everything is allowed)."""
        page = self.path.strip("/")
        known = page in SECONDS_BETWEEN_CHANGES
        body = SITE.text(page).encode() if known else b"no such page"
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""


def main() -> None:
    """Serve until Ctrl-C."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        for page in SECONDS_BETWEEN_CHANGES:
            print(f"http://127.0.0.1:{server.server_port}/{page}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
