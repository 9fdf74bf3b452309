"""Whether the engine has got heavier: by counts and ratios, which a slow or busy machine has, too.

    python benchmarks/guard.py [--json]

Ends with status 1 if a figure is above its bound:

- bytes a page in the policy;
- instructions of a decision with 500 pages (`instructions.py`), if valgrind is installed;
- what a decision costs with 100,000 pages, as a multiple of what it costs with 1,000, while the
  third poll of each is made, as it costs less later (the least of several runs of each, in turns);
- calls of functions in the main thread for each poll of `pollwise watch`, 100 a second, answered
  304, by the profiler of Python: the fewest of up to three runs, as polls that are late come to
  more turns. That of Python 3.12 and later also counts other threads, so there this figure is told
  without a bound.
"""

import argparse
import json
import math
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engine import Decisions, decisions
from instructions import can_count, instructions_a_decision
from served import Log, serving
from watches import ENVIRONMENT, polls_kept

from pollwise.errors import StoreError
from pollwise.policies.index.bayes_index import BayesianIndex

BOUNDS = {
    "bytes a page": 240.0,
    "instructions a decision": 19_500.0,
    "a decision, 100,000 pages to 1,000": 2.3,
    "calls a poll": 325.0 if sys.version_info < (3, 12) else math.inf,
}
TIMES = 9
DECISIONS = 50_000
RUNS = 3
FEW, MANY = 1_000, 100_000
PAGES = 600
BUDGET = "100/second"
POLLS = (2, 5)
"""Of each page, on average, when the calls are counted."""
LOOK = 0.5
GIVEN_UP_AT = time.monotonic() + 900.0
PROFILED = """
import cProfile, signal, sys
from pollwise.cli import main

def tell(*_):
    print("calls:", sum(entry.callcount for entry in profile.getstats()), file=sys.stderr)

profile = cProfile.Profile()
signal.signal(signal.SIGUSR1, tell)
profile.enable()
main()
"""


def seconds_of_decisions(pages: int) -> float:
    """The CPU seconds of `DECISIONS` about pages that have been polled twice or three times."""
    spent = 0.0
    for _ in range(max(DECISIONS // pages, 1)):
        made = Decisions(BayesianIndex, pages)
        made.go_on(2 * pages)
        begin = time.thread_time()
        made.go_on(min(pages, DECISIONS))
        spent += time.thread_time() - begin
    return spent


def decision_ratio() -> float:
    """How many times as much a decision costs with many pages as with few."""
    least = {FEW: math.inf, MANY: math.inf}
    for _ in range(TIMES):
        for pages, seconds in least.items():
            least[pages] = min(seconds, seconds_of_decisions(pages))
    return least[MANY] / least[FEW]


def polls_so_far(place: Path) -> int:
    """How many polls a watch has kept; none before its database is made."""
    try:
        return sum(polls_kept(place / "watch.db").values())
    except StoreError:
        return 0


def require_polling(watch: "subprocess.Popen[bytes]", said: Path) -> None:
    """End the program if the watch has ended, or has not got so far in a long time."""
    if watch.poll() is not None or time.monotonic() > GIVEN_UP_AT:
        sys.exit(f"the watch does not poll; it said:\n{said.read_text()}")


def fewest_calls_a_poll() -> float:
    """How many functions a poll calls: of the first run within the bound, else of the best."""
    fewest = math.inf
    for _ in range(RUNS):
        fewest = min(fewest, calls_a_poll())
        if fewest <= BOUNDS["calls a poll"]:
            break
    return fewest


def calls_a_poll() -> float:
    """How many functions a poll of a watch calls, in one run."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        log, listed, said = place / "log.npz", place / "urls.txt", place / "watch.log"
        looked_at = []
        hosts = ("plain", "--hosts", str(PAGES), "--pages", "1", "--steady")
        with serving(log, *hosts) as urls, said.open("w") as output:
            listed.write_text("\n".join(urls))
            words = ["watch", "--file", str(listed), "--budget", BUDGET, "--db", "watch.db"]
            command = [sys.executable, "-c", PROFILED, *words]
            watch = subprocess.Popen(
                command, cwd=place, env=ENVIRONMENT, stdout=output, stderr=output
            )
            try:
                for polls in POLLS:
                    while polls_so_far(place) < polls * PAGES:
                        require_polling(watch, said)
                        time.sleep(LOOK)
                    watch.send_signal(signal.SIGUSR1)
                    looked_at.append(time.monotonic())
            finally:
                watch.send_signal(signal.SIGINT)
                watch.wait(timeout=60)
        begun, ended = (
            int(line.rpartition(" ")[2])
            for line in said.read_text().splitlines()
            if line.startswith("calls:")
        )
        answers = Log.read(log)
        polled = answers.ended_at[answers.page >= 0]
        return (ended - begun) / ((polled >= looked_at[0]) & (polled < looked_at[1])).sum()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    figures: dict[str, float | None] = {
        "bytes a page": decisions(BayesianIndex, FEW, 1)["bytes_per_page"],
        "instructions a decision": instructions_a_decision() if can_count() else None,
        "a decision, 100,000 pages to 1,000": decision_ratio(),
        "calls a poll": float(fewest_calls_a_poll()),
    }
    if asked.json:
        print(json.dumps(figures, indent=1))
    else:
        for name, figure in figures.items():
            told = "skipped, without valgrind" if figure is None else f"{figure:.4g}"
            print(f"{name}: {told} (at most {BOUNDS[name]:g})")
    heavier = [n for n, figure in figures.items() if figure is not None and figure > BOUNDS[n]]
    if heavier:
        print(f"heavier than allowed: {'; '.join(heavier)}", file=sys.stderr)
    return 1 if heavier else 0


if __name__ == "__main__":
    sys.exit(main())
