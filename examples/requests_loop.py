"""Watches URLs one after the other, until Ctrl-C: python requests_loop.py FILE URL ...

What it learns is kept in FILE from one run to the next, and the hashes of pages beside it. Here the
standard library fetches; with the package requests it would be `requests.get(url, timeout=30)`.
"""

import hashlib
import http.client
import shelve
import signal
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pollwise


def fetch(url):
    """The hash of the page, and its Last-Modified header."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        return hashlib.sha256(answer.read()).digest(), answer.headers["Last-Modified"]


def watch(schedule, copies):
    while True:
        url = schedule.next()
        if url is None:
            time.sleep(schedule.wait())
            continue
        try:
            copy, last_modified = fetch(url)
        except urllib.error.HTTPError as error:
            is_gone = error.code in (404, 410)
            wait = error.headers["Retry-After"]
            schedule.record(url, failed=not is_gone, gone=is_gone, retry_after=wait)
        except (OSError, http.client.HTTPException):
            schedule.record(url, failed=True)
        else:
            changed = url in copies and copies[url] != copy
            copies[url] = copy
            schedule.record(url, changed, last_changed_at=last_modified)
            print(url, "changed" if changed else "seen", flush=True)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    schedule = pollwise.Schedule.load(file) if file.exists() else pollwise.Schedule("2/second")
    schedule.add(sys.argv[2:])
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    with shelve.open(f"{file}.copies") as copies:
        try:
            watch(schedule, copies)
        except KeyboardInterrupt:
            print("stopped")
        finally:
            schedule.save(file)
