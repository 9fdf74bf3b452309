"""What pages that differ at every poll cost the others, with the settings that a new user has.

    python benchmarks/noisy.py TIMELAPSE [--pages 47] [--budget 20/hour] [--days 14] [--draws 5]
        [--objective freshness]

TIMELAPSE is the file `web.jsonl.xz`. Pages of it are drawn that changed in a stretch of so many
days, and polled by the scheduler and the policy of `pollwise watch`, alone and beside 1, 3 and 10
pages that differ at every poll and of which nothing can be masked. It prints how many changes of
the drawn pages are found, and fails (exit status 1) if noise leaves less than 97 % of them.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from objectives import time_lapse

from pollwise.events import Added, Poll, Polled, Tick
from pollwise.settings import WatchSettings
from pollwise.simulation.recorded.replay import Replay
from pollwise.types import Observation, Outcome, Page

NOISY = (0, 1, 3, 10)
LEAST = 0.97
DAY = 86_400.0


def drawn(history: Replay, pages: int, days: float, draw: int) -> list[np.ndarray]:
    """The changes of so many pages that change in so many days, in seconds of these."""
    dice = np.random.default_rng(draw)
    history.reset(0)
    begin = history.begin + dice.uniform(0, history.end - history.begin - days * DAY)
    changes = history.changes
    inside = []
    for page in range(len(history.pages)):
        times = changes.of_page(page)
        times = times[(times > begin) & (times < begin + days * DAY)] - begin
        if len(times):
            inside.append(times)
    chosen = dice.permutation(len(inside))[:pages]
    return [inside[page] for page in chosen]


def found(
    changes: list[np.ndarray], noisy: int, settings: WatchSettings, days: float
) -> tuple[int, float]:
    """The changes found of these pages, and the share of the polls that noisy ones took."""
    count = len(changes) + noisy
    scheduler = settings.scheduler(count)
    pages = tuple(Page(n, f"https://{n}.example/", f"{n}.example") for n in range(count))
    events = [Added(0.0, pages)]
    now, seen, of_noise, polls, last = 0.0, 0, 0, 0, dict[int, float]()
    while now < days * DAY:
        wake_at = now
        for event in events:
            *commands, wake = scheduler.handle(event)
            answers = []
            for poll in commands:
                assert isinstance(poll, Poll)
                page, before = poll.page_id, last.get(poll.page_id)
                is_noise = page >= len(changes)
                changed = is_noise or before is None
                if not changed:
                    changed = bool(((changes[page] > before) & (changes[page] <= now)).any())
                    seen += changed
                polls += 1
                of_noise += is_noise
                last[page] = now
                outcome = Outcome.CHANGED if changed else Outcome.UNCHANGED
                answers.append(Observation(page, now, outcome))
            wake_at = wake.time
        if answers:
            events = [Polled(now, tuple(answers))]
        else:
            now = max(wake_at, now + 1e-3)
            events = [Tick(now)]
    return seen, of_noise / polls


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("timelapse", type=Path)
    parser.add_argument("--pages", type=int, default=47)
    parser.add_argument("--budget", default="20/hour")
    parser.add_argument("--days", type=float, default=14.0)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--objective", default=WatchSettings().objective)
    asked = parser.parse_args()
    settings = WatchSettings(budget=asked.budget, objective=asked.objective)
    history = time_lapse(asked.timelapse)
    draws = [drawn(history, asked.pages, asked.days, draw) for draw in range(asked.draws)]
    happened = sum(len(times) for draw in draws for times in draw)
    print(f"{asked.draws} draws of {asked.pages} pages, {happened} changes")
    print(f"{asked.budget}, objective {asked.objective}")
    print("| noisy pages | found | of what is found without | polls of noisy pages |")
    print("|---|---|---|---|")
    alone, failed = 0, False
    for noisy in NOISY:
        results = [found(draw, noisy, settings, asked.days) for draw in draws]
        total = sum(seen for seen, _ in results)
        alone = alone or total
        share = float(np.mean([noise for _, noise in results]))
        print(f"| {noisy} | {total} | {total / alone:.1%} | {share:.0%} |", flush=True)
        failed = failed or total < LEAST * alone
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
