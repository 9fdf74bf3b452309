"""`pollwise watch` of 100,000 pages at the highest rate that it takes, for half an hour.

    python benchmarks/soak.py [--minutes 30] [--hosts 1000] [--pages 100] [--budget 2000/second]

The hosts are served by another process. It prints the memory and the polls of each minute, and
fails (exit status 1) if the memory has grown by more than a tenth between the tenth and the last
minute, an answer is not in the database, or a host was asked again within its crawl delay.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from served import Log, serving
from watches import CRAWL_DELAY, early, memory, polls_kept, watching

SETTLED = 10
"""Minutes until all pages are known and the memory has its size."""
MOST_GROWTH = 1.1


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--budget", default="2000/second")
    asked = parser.parse_args()
    sizes: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        log_file = place / "log.npz"
        words = ("plain", "--hosts", str(asked.hosts), "--pages", str(asked.pages))
        with serving(log_file, *words) as urls:
            with watching(urls, asked.budget, place) as process:
                for minute in range(asked.minutes):
                    time.sleep(60.0)
                    sizes.append(memory(process.pid, at_most=False))
                    on_disk = sum(file.stat().st_size for file in place.glob("watch.db*")) / 1e6
                    print(f"minute {minute + 1}: {sizes[-1]:.0f} MB, {on_disk:.0f} MB on the disk")
                    sys.stdout.flush()
                stopped_at = time.monotonic()
            kept = sum(polls_kept(place / "watch.db").values())
        log = Log.read(log_file)
    answers = int(((log.page >= 0) & (log.ended_at < stopped_at)).sum())
    seconds = stopped_at - log.begun_at.min()
    impolite = early(log, CRAWL_DELAY)
    growth = sizes[-1] / sizes[min(SETTLED, len(sizes)) - 1]
    print(
        f"{len(urls):,d} pages, {answers:,d} answers ({answers / seconds:.0f} a second),"
        f" {max(answers - kept, 0)} lost, {impolite} requests too early,"
        f" memory {sizes[-1]:.0f} MB ({growth - 1:+.1%} since minute {min(SETTLED, len(sizes))})"
    )
    return int(answers > kept or impolite > 0 or growth > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
