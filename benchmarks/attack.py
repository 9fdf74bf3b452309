"""`pollwise watch` among hosts that mean ill: what is left for the others.

    python benchmarks/attack.py [ATTACK ...] [--hosts 200] [--seconds 60] [--out TABLE.md]

Healthy hosts, served by one process, are watched alone, and then beside so many hostile ones,
served by another, for each attack. It fails (exit status 1) if the healthy hosts get less than 90 %
of the polls a second that they get alone, if an answer of theirs is not in the database, if any
host is asked again within its crawl delay, or if the watch needs more than 400 MB.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from served import EVIL, TO_ONE_HOST, Log, serving
from watches import CRAWL_DELAY, early, memory, polls_kept, watching

HEALTHY, PAGES = 20, 5
WARM_UP = 12.0
"""Seconds that are not counted."""
DELAY_OF_ONE_HOST = 10.0
LEAST_SHARE, MOST_MEMORY = 0.9, 400.0


@dataclass(frozen=True)
class Outcome:
    """What came of a run: polls a second of the healthy hosts, the longest time without one of
    them in seconds, answers of theirs that were lost, requests that came too early, MB."""

    rate: float
    gap: float
    lost: int
    early: int
    memory: float

    def faults(self, alone: float) -> list[str]:
        found = {
            "slowed": self.rate < LEAST_SHARE * alone,
            "lost": self.lost > 0,
            "impolite": self.early > 0,
            "memory": self.memory > MOST_MEMORY,
        }
        return [name for name, is_so in found.items() if is_so]


def attack(name: str | None, hosts: int, seconds: float) -> Outcome:
    """Watch for so long, beside so many hosts with this attack (None: alone)."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        plain_log, evil_log = place / "plain.npz", place / "evil.npz"
        plain = ("plain", "--hosts", str(HEALTHY), "--pages", str(PAGES))
        evil = ("evil", "--hosts", str(hosts if name else 1), "--attack", name or "wire")
        with serving(plain_log, *plain) as healthy, serving(evil_log, *evil) as hostile:
            urls = healthy + (hostile if name else [])
            with watching(urls, "2000/second", place) as process:
                time.sleep(WARM_UP + seconds)
                megabytes = memory(process.pid)
                ended_at = time.monotonic()
        kept = polls_kept(place / "watch.db")
        polls = sum(kept[url] for url in healthy)
        return judged(Log.read(plain_log), Log.read(evil_log), polls, ended_at, megabytes, name)


def judged(
    plain: Log, evil: Log, polls: int, ended_at: float, megabytes: float, name: str | None
) -> Outcome:
    """The outcome, by the logs of both servers and the number of polls in the database."""
    begin = plain.begun_at.min() + WARM_UP
    counted = plain.begun_at[(plain.begun_at >= begin) & (plain.begun_at < ended_at)]
    hosts, gaps, times = plain.gaps()
    answered = int(((plain.page >= 0) & (plain.ended_at < ended_at)).sum())
    impolite = early(plain, CRAWL_DELAY)
    if name is not None:
        impolite += early(evil, CRAWL_DELAY)
    if name == TO_ONE_HOST:
        impolite += early(evil.of(0), DELAY_OF_ONE_HOST)
    silent = [ended_at - plain.of(host).begun_at.max() for host in np.unique(hosts)]
    return Outcome(
        rate=len(counted) / (ended_at - begin),
        gap=float(max([*gaps[times >= begin], *silent])),
        lost=max(answered - polls, 0),
        early=impolite,
        memory=megabytes,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK")
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    known = [*EVIL, TO_ONE_HOST]
    if unknown := set(asked.attacks) - set(known):
        parser.error(f"no such attack: {', '.join(unknown)}; known are {', '.join(known)}")
    alone = attack(None, asked.hosts, asked.seconds)
    lines = [
        "| attack | polls a second | longest gap, s | lost | too early | MB | fault |",
        "|---|---|---|---|---|---|---|",
    ]
    failed = False
    for name in [None, *(asked.attacks or known)]:
        outcome = alone if name is None else attack(name, asked.hosts, asked.seconds)
        faults = outcome.faults(alone.rate)
        failed = failed or bool(faults)
        lines.append(
            f"| {name or 'none'} | {outcome.rate:.1f} | {outcome.gap:.1f} | {outcome.lost} |"
            f" {outcome.early} | {outcome.memory:.0f} | {', '.join(faults) or '-'} |"
        )
        print(lines[-1], flush=True)
    if asked.out is not None:
        asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
