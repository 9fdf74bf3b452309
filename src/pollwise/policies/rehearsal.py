"""A rehearsal: every kind of call once, so that nothing is left to compile when it matters.

Compiling takes seconds, in which nothing else goes on: answers would wait to be written down, and
requests under way would run out of time.
"""

from collections.abc import Iterator

import numpy as np

from pollwise.policies.base import Chooser, Policy
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.types import Links, Observation, Outcome, Page
from pollwise.units import HOUR

__all__ = ["rehearsal"]

_POLLS = 60
"""So many that a request controller fits its value model."""
_OUTCOMES = (Outcome.CHANGED, Outcome.CHANGED, Outcome.UNCHANGED, Outcome.FAILED, Outcome.GONE)


def rehearsal(policy: Policy) -> Iterator[None]:
    """Make all calls of a new policy, which is of no use afterwards; gives way between them."""
    pages = [_page(page_id) for page_id in range(_POLLS + 3)]
    policy.add(pages[:3])
    yield
    for number in range(_POLLS):
        now = number * HOUR
        chosen = policy.select(now, 2).page_ids.tolist()
        yield
        if isinstance(policy, Chooser) and chosen:
            policy.best(chosen, now)
        policy.defer(chosen[1:], now + 1.0)
        outcome = _OUTCOMES[number % len(_OUTCOMES)]
        for page_id in chosen[:1]:
            told = now - 1.0 if outcome is Outcome.CHANGED else None
            relevance = float(number % 3 == 0)
            seen = Observation(page_id, now, outcome, told, relevance=relevance)
            policy.observe([seen])
            yield
            if isinstance(policy, RequestController):
                new = pages[number + 3]
                policy.add([new])
                targets = np.array([new.id, 0], np.int64)
                policy.link(page_id, Links(targets, ["a title", "home"], ["body/a", "nav/a"]))
                policy.rescore([page_id], [relevance])
                policy.aim({"title": 1.0})
    policy.load_state_dict(policy.state_dict())
    yield
    policy.state_dict([0, 1])
    policy.discard([0])


def _page(page_id: int) -> Page:
    host = f"{page_id % 3}.example"
    return Page(page_id, f"http://{host}/{page_id}", host, site=host, kind="#")
