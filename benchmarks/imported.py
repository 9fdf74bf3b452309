"""What a month of past checks is worth: a watch that begins with them, beside a fresh one.

    python benchmarks/imported.py TIMELAPSE [--pages 100] [--budget 0.1] [--draws 4]

TIMELAPSE is the file `web.jsonl.xz`. Pages of it are drawn; another program has checked them once a
day for a month, and its backup is imported as by `pollwise import`. The month after is polled by
the scheduler and the policy of `pollwise watch`, at so many polls a page and day, with what was
learned from the backup and without. It prints, for the first 2, 7 and 28 days, the freshness (what
a watch by default is for) and the share of the changes that a poll has seen.
"""

import argparse
import json
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from objectives import time_lapse

from pollwise.events import Poll, Polled, Tick
from pollwise.insight.learned import learned_by
from pollwise.live.importing import import_file
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import WatchSettings
from pollwise.simulation.recorded.replay import Replay
from pollwise.store import Store
from pollwise.types import Observation, Outcome, Page, StateDict

DAY = 86_400.0
MONTH = 28
LOOKS = (2, 7, MONTH)
Changes = list[np.ndarray]


def drawn(history: Replay, pages: int, draw: int) -> tuple[float, Changes]:
    """When the second month begins, and all changes (UTC seconds) of so many pages there then."""
    dice = np.random.default_rng(draw)
    history.reset(0)
    begin = history.begin + MONTH * DAY
    now = dice.uniform(begin, history.end - MONTH * DAY)
    old = [page.id for page in history.pages if history.changes.of_page(page.id).size]
    chosen = dice.permutation(old)[:pages]
    return now, [history.changes.of_page(page) for page in chosen]


def backup(file: Path, now: float, changes: Changes) -> None:
    """What another program knows that checked once a day for a month."""
    checks = now - DAY * np.arange(MONTH, -1, -1)
    with zipfile.ZipFile(file, "w") as archive:
        for page, times in enumerate(changes):
            found = np.unique(np.searchsorted(checks, times))
            versions = checks[[0, *found[(found > 0) & (found < len(checks))]]]
            watch = {
                "url": url(page),
                "time_between_check": {"days": 1},
                "last_checked": now,
            }
            archive.writestr(f"{page}/watch.json", json.dumps(watch))
            archive.writestr(f"{page}/history.txt", "".join(f"{at:.0f},x\n" for at in versions))


def url(page: int) -> str:
    """Where a page is."""
    return f"https://{page % 12}.example/{page}"


def polled(
    scheduler: Scheduler, pages: list[Page], learned: StateDict | None, now: float, changes: Changes
) -> Changes:
    """When each page is polled in the month after `now` (UTC seconds)."""
    end = now + MONTH * DAY
    polls: list[list[float]] = [[] for _ in pages]
    last = {page.id: page.seen_at for page in pages}
    scheduler.restore(pages, None)
    if learned is not None:
        scheduler.policy.load_state_dict(learned)
    events: list[Tick | Polled] = [Tick(now)]
    while now < end:
        wake_at, answers = now, []
        for event in events:
            *commands, wake = scheduler.handle(event)
            for poll in commands:
                assert isinstance(poll, Poll)
                page, before = poll.page_id, last[poll.page_id]
                times = changes[page]
                is_changed = before is None or bool(((times > before) & (times <= now)).any())
                outcome = Outcome.CHANGED if is_changed else Outcome.UNCHANGED
                answers.append(Observation(page, now, outcome))
                polls[page].append(now)
                last[page] = now
            wake_at = wake.time
        if answers:
            events = [Polled(now, tuple(answers))]
        else:
            now = max(min(wake_at, end), now + 1e-3)
            events = [Tick(now)]
    return [np.array(times) for times in polls]


def figures(changes: Changes, polls: Changes, begin: float, days: float) -> tuple[float, float]:
    """Freshness and share of the changes seen, in the first so many days after `begin`."""
    end = begin + days * DAY
    stale, seen, happened = 0.0, 0, 0
    for times, own in zip(changes, polls, strict=True):
        new = times[(times > begin) & (times <= end)]
        following = np.append(own[own <= end], end)
        # The copy is stale from the first change after a poll until the next poll.
        of_poll = np.searchsorted(following, new)
        for poll in np.unique(of_poll):
            stale += following[poll] - new[of_poll == poll][0]
        happened += len(new)
        seen += len(np.unique(of_poll[of_poll < len(following) - 1]))
    return 1 - stale / (days * DAY * len(changes)), seen / happened


def main() -> None:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("timelapse", type=Path)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--budget", type=float, default=0.1, help="polls a page and day")
    parser.add_argument("--draws", type=int, default=4)
    asked = parser.parse_args()
    history = time_lapse(asked.timelapse)
    results: dict[str, list[list[tuple[float, float]]]] = {"fresh": [], "with past checks": []}
    for draw in range(asked.draws):
        now, changes = drawn(history, asked.pages, draw)
        settings = WatchSettings(budget=f"{asked.budget * len(changes):g}/day")
        with tempfile.TemporaryDirectory() as folder:
            file, db = Path(folder, "backup.zip"), Path(folder, "pollwise.db")
            backup(file, now, changes)
            import_file(file, db, say=lambda line: None)
            with Store.open_readonly(db) as store:
                known = [record.page for record in store.pages()]
                taught = settings.scheduler(len(known))
                learned = learned_by(store, taught.policy)
        unknown = [Page(page.id, page.url, page.scope) for page in known]
        fresh = settings.scheduler(len(unknown))
        for name, scheduler, pages, state in (
            ("fresh", fresh, unknown, None),
            ("with past checks", taught, known, learned),
        ):
            polls = polled(scheduler, pages, state, now, changes)
            results[name].append([figures(changes, polls, now, days) for days in LOOKS])
    print(f"{asked.draws} draws of {asked.pages} pages, {asked.budget:g} polls a page and day")
    heads = [f"{figure} {days} days" for days in LOOKS for figure in ("fresh", "seen")]
    print("| watch | " + " | ".join(heads) + " |")
    print("|---|" + "---|" * len(heads))
    for name, told in results.items():
        means = np.mean(told, axis=0).ravel()
        print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")


if __name__ == "__main__":
    main()
