"""A cluster on one machine, without containers: python local.py LIST [--budget 600/hour]

PostgreSQL keeps the pages of the list, split into three shards. Four daemons poll them, of which
one waits to take a shard over, and there is a frontier for crawlers. Ctrl-C ends all of it. Without
--db the server is one of its own, whose pages are gone at the end.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext

from pollwise.testing.postgres_server import postgres_server

PROGRAM = (sys.executable, "-m", "pollwise")
RESTART = 5.0  # seconds, as a service manager waits


def pollwise(*words):
    subprocess.run([*PROGRAM, *words], check=True)


def run(database, told, folder):
    """Start what was not started yet, or has ended, until Ctrl-C."""
    programs = {
        f"daemon on port {told.port + number}": (
            *("serve", "--db", database, "--port", str(told.port + number)),
        )
        for number in range(told.daemons)
    }
    frontier = ("frontier", "--db", f"{folder}/frontier.db", "--port", str(told.port - 1))
    programs[f"frontier on port {told.port - 1}"] = frontier
    running = {}
    try:
        while True:
            for name, words in programs.items():
                if name not in running or running[name].poll() is not None:
                    # A group of its own: Ctrl-C is for this program, which ends the others.
                    running[name] = subprocess.Popen([*PROGRAM, *words], start_new_session=True)
                    print(f"started: {name}, process {running[name].pid}", flush=True)
            time.sleep(RESTART)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("list", help="a file with a URL on each line")
    parser.add_argument("--db", help="an empty PostgreSQL database")
    parser.add_argument("--budget", default="600/hour")
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--daemons", type=int, default=4)
    parser.add_argument("--port", type=int, default=8901, help="of the first daemon")
    told = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (
        tempfile.TemporaryDirectory() as folder,
        nullcontext() if told.db else postgres_server("fsync=on") as server,
    ):
        database = told.db or server.url("postgres")
        pollwise(*("shards", "--into", str(told.shards), "--budget", told.budget, "--db", database))
        pollwise("add", "--file", told.list, "--db", database)
        print(f"the shards: pollwise shards --db '{database}'", flush=True)
        run(database, told, folder)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
