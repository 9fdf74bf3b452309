"""UCB1: a bandit that pulls the arm of the highest upper confidence bound."""

import numpy as np

from pollwise.policies.bandits.kernels import BOUND
from pollwise.policies.bandits.policy import BanditPolicy, MixturePolicy, shares

__all__ = ["UCB1", "RawUCB1"]


class UCB1(MixturePolicy):
    """UCB1 on mixtures of two pages: the highest of mean reward + √(2 ln n / n_k).

    n counts all pulls and n_k those of arm k, which gives the first page k/K of the polls, where K
    is `resolution`. Every arm is pulled once first, in order. A pull is one poll, of the first page
    with probability k/K; it pays 1 for a change and 0 for none. Of equals, the last arm is pulled.

    Source: P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time analysis of the multiarmed bandit
    problem", Machine Learning 47, 2002; the arms are S. Glimsdal's, "Efficient Gaussian process
    based optimistic knapsack sampling with applications to stochastic resource allocation",
    University of Agder, 2013, sections 5.3.1 and 7.2.2 (MAB:UCB-1).

    `InputError` unless `resolution` is a whole number from 2 to 1000.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = UCB1(generator=np.random.default_rng(1), resolution=4)
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> shares = []
    >>> for now in range(1, 5):
    ...     (page_id,) = policy.select(now, limit=1).page_ids.tolist()
    ...     policy.observe([Observation(page_id, now, Outcome.UNCHANGED)])
    ...     shares.append(float(policy.amounts()[0]))
    >>> shares
    [0.25, 0.5, 0.75, 0.75]
    """

    name = "ucb1"

    def __init__(self, *, generator: np.random.Generator, resolution: int = 100) -> None:
        arms = shares(self.name, resolution)
        super().__init__(generator=generator, score=BOUND, mean=np.zeros(len(arms)))


class RawUCB1(BanditPolicy):
    """UCB1 on two pages themselves: the one of the highest mean reward + √(2 ln n / n_i) is polled.

    n counts all polls and n_i those of page i. Both are polled once first; of equals, the one of
    the higher id is polled. A poll pays 1 for a change since the poll before and 0 for none, so
    that a page pays the better the longer it was left alone, of which UCB1 knows nothing.

    Source: S. Glimsdal, 2013, section 7.2.2 (MAB:UCB-1-RAW); see `UCB1`.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = RawUCB1()
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> polled = []
    >>> for now in range(1, 10):
    ...     (page_id,) = policy.select(now, limit=1).page_ids.tolist()
    ...     policy.observe([Observation(page_id, now, Outcome(page_id == 1))])
    ...     polled.append(page_id)
    >>> polled
    [0, 1, 1, 1, 1, 1, 0, 1, 1]
    """

    name = "ucb1-raw"

    def __init__(self) -> None:
        no_draws = np.random.default_rng(0)
        super().__init__(generator=no_draws, score=BOUND, mean=np.zeros(2), raw=True)
