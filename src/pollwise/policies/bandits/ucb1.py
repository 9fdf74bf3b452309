"""UCB1: a bandit that pulls the arm of the highest upper confidence bound."""

import numpy as np

from pollwise.policies.bandits.kernels import BOUND
from pollwise.policies.bandits.policy import MixturePolicy, shares

__all__ = ["UCB1"]


class UCB1(MixturePolicy):
    """UCB1 on mixtures of two pages: the highest of mean reward + √(2 ln n / n_k).

    n counts all pulls and n_k those of arm k, which gives the first page k/K of the polls, where K
    is `resolution`. Every arm is pulled once first. A pull of an arm is a round of K polls: k of
    the first page and K - k of the second, spread evenly, and its reward is the share that found a
    change. If `raw`, it is a single poll, of the first page with probability k/K; `generator` is
    used for that only.

    Source: P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time analysis of the multiarmed bandit
    problem", Machine Learning 47, 2002. The rounds are a reading of how a mixture is pulled.

    `InputError` unless `resolution` is a whole number from 2 to 1000.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = UCB1(generator=np.random.default_rng(1), resolution=4)
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> polled = []
    >>> for now in range(1, 13):
    ...     (page_id,) = policy.select(now, limit=1).page_ids.tolist()
    ...     policy.observe([Observation(page_id, now, Outcome.UNCHANGED)])
    ...     polled.append(page_id)
    >>> polled
    [1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0]
    """

    def __init__(
        self, *, generator: np.random.Generator, raw: bool = False, resolution: int = 10
    ) -> None:
        self.name = "ucb1-raw" if raw else "ucb1"
        arms = shares(self.name, resolution)
        super().__init__(
            generator=generator,
            score=BOUND,
            length=1 if raw else resolution,
            mean=np.zeros(len(arms)),
        )
