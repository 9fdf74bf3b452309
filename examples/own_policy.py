"""A policy of one's own: a page that has changed is due twice as soon, another one later.

It sorts all pages at every choice, which is fine for some thousand pages. That it keeps the rules
of `pollwise.Policy` is tested in a few lines, see `pollwise.testing.policy_contract`.
"""

import math

import numpy as np

from pollwise import Outcome, Selection, StateError, Uniform, Zipf, simulate

FACTORS = {Outcome.CHANGED: 0.5, Outcome.UNCHANGED: 1.5}


class Halving:
    """Polls the page that is due first: an interval after it was seen."""

    def __init__(self):
        self.known = {}  # by page id: when it was seen, and its interval in seconds
        self.waiting = {}  # the pages that are not leased, and until when each is left alone

    def add(self, pages):
        for page in pages:
            seen_at = -math.inf if page.seen_at is None else page.seen_at
            self.known[page.id], self.waiting[page.id] = (seen_at, 3600.0), -math.inf

    def discard(self, page_ids):
        for page_id in page_ids:
            self.known.pop(page_id, None)
            self.waiting.pop(page_id, None)

    def select(self, now, limit):
        free = [page_id for page_id, until in self.waiting.items() if until <= now]
        due = sorted(free, key=lambda page_id: (sum(self.known[page_id]), page_id))
        chosen = due[: max(limit, 0)]
        for page_id in chosen:
            del self.waiting[page_id]
        later = [until for until in self.waiting.values() if until > now]
        return Selection(np.array(chosen, np.int64), wake_at=min(later, default=math.inf))

    def observe(self, observations):
        for seen in (each for each in observations if each.page_id in self.known):
            self.waiting.setdefault(seen.page_id, -math.inf)
            seen_at, interval = self.known[seen.page_id]
            if seen.outcome in FACTORS and seen.polled_at > seen_at:
                is_first = seen_at == -math.inf  # a first copy tells of no change
                factor = 1.0 if is_first else FACTORS[seen.outcome]
                self.known[seen.page_id] = (seen.polled_at, interval * factor)

    def defer(self, page_ids, until):
        for page_id in page_ids:
            if page_id in self.known:
                self.waiting.setdefault(page_id, until)

    def state_dict(self, page_ids=None):
        ids = [i for i in (self.known if page_ids is None else page_ids) if i in self.known]
        known = np.array([self.known[page_id] for page_id in ids], np.float64)
        return {"page_ids": np.array(ids, np.int64), "page.known": known.reshape(-1, 2)}

    def load_state_dict(self, state):
        if state.keys() != {"page_ids", "page.known"} or len({*map(len, state.values())}) > 1:
            raise StateError("this is not what a Halving policy has learned")
        for page_id, known in zip(state["page_ids"].tolist(), state["page.known"], strict=True):
            if page_id in self.known:
                self.known[page_id] = tuple(known.tolist())


if __name__ == "__main__":
    for policy in (Halving(), Uniform()):
        polls = simulate(policy, Zipf(pages=100, alpha=0.9, beta=1.5), polls=5_000, seed=1)
        found = (polls.outcomes == Outcome.CHANGED).mean()
        print(f"{type(policy).__name__}: {found:.3f} of all polls find a change")
