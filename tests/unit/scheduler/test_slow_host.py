"""A host that cannot keep up: the policy says which of its pages in line it is asked for.

Some of its pages change every two minutes, the others hardly ever; it answers one poll in five
seconds, for forty pages.
"""

import heapq
import itertools
import math

import numpy as np

from pollwise.events import Added, Event, Poll, Polled, Tick
from pollwise.objectives import Delay
from pollwise.policies.base import Chooser
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Observation, Outcome, Page

FAST, SLOW, OTHERS = range(10), range(10, 40), range(40, 50)
END = 4000.0
BEGIN = 2000.0


class InOrder(BayesianIndex):
    """The same policy, which does not say which page of a line comes first."""

    best = None  # type: ignore[assignment]


def changes(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    means = [120.0] * len(FAST) + [4000.0] * len(SLOW) + [300.0] * len(OTHERS)
    return [np.sort(rng.uniform(0.0, END, rng.poisson(END / mean))) for mean in means]


def polls_of(policy: BayesianIndex, changed: list[np.ndarray]) -> list[list[float]]:
    """When each page was polled."""
    some = Scheduler(policy, Budget(0.4), crawl_delay=4.5, line=16)
    polls: list[list[float]] = [[] for _ in changed]
    coming: list[tuple[float, int, int]] = []
    order = itertools.count()
    event: Event = Added(
        0.0,
        tuple(
            Page(n, f"http://h/{n}", "other" * (n in OTHERS) + f"{n}" * (n in OTHERS) or "slow")
            for n in range(len(changed))
        ),
    )
    while event.now <= END:
        *begun, wake = some.handle(event)
        for poll in begun:
            assert isinstance(poll, Poll)
            heapq.heappush(coming, (event.now + 0.5, next(order), poll.page_id))
        if coming and coming[0][0] <= wake.time:
            now, _, page = heapq.heappop(coming)
            since = polls[page][-1] if polls[page] else -math.inf
            between = np.searchsorted(changed[page], [since, now])
            outcome = Outcome.CHANGED if between[0] < between[1] else Outcome.UNCHANGED
            polls[page].append(now)
            event = Polled(now, (Observation(page, now, outcome),))
        else:
            event = Tick(wake.time)
    return polls


def waited(polls: list[list[float]], changed: list[np.ndarray], pages: range) -> float:
    """The mean seconds from a change to the next poll of its page, from `BEGIN` on."""
    waits: list[float] = []
    for page in pages:
        own = np.array([*polls[page], END])
        late = changed[page][changed[page] > BEGIN]
        waits += (own[np.searchsorted(own, late)] - late).tolist()
    return float(np.mean(waits))


def test_the_policy_chooses_among_the_pages_that_wait() -> None:
    assert isinstance(BayesianIndex(), Chooser)
    assert not isinstance(InOrder(), Chooser)
    of_host = range(len(FAST) + len(SLOW))
    waits = []
    for seed in range(8):  # one draw alone may be 8 % off
        changed = changes(seed)
        in_order, chosen = (
            polls_of(kind(objective=Delay()), changed) for kind in (InOrder, BayesianIndex)
        )
        # The host is asked as often as it may be, both ways.
        for polls in (in_order, chosen):
            assert sum(len(polls[page]) for page in of_host) > 0.97 * END / 5.0
        # No page waits for ever.
        assert min(len(polls) for polls in chosen) >= 3
        waits.append(
            [
                [waited(polls, changed, pages) for polls in (in_order, chosen)]
                for pages in (of_host, OTHERS)
            ]
        )
    [own_in_order, own_chosen], [others_in_order, others_chosen] = np.mean(waits, axis=0)
    assert own_chosen < 0.9 * own_in_order
    assert others_chosen < 1.2 * others_in_order
