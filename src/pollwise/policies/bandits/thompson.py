"""Thompson sampling: a bandit that pulls each arm as often as it may be the best."""

import numpy as np

from pollwise.policies.bandits.kernels import THOMPSON
from pollwise.policies.bandits.policy import MixturePolicy, shares

__all__ = ["ThompsonSampling"]

_PRIOR_MEAN, _PRIOR_DEVIATION = 0.7, 0.2
_NOISE_DEVIATION = 0.05


class ThompsonSampling(MixturePolicy):
    """Thompson sampling with normal distributions, on mixtures of two pages.

    Arm k gives the first page k/K of the polls, where K is `resolution`. Before the first pull the
    mean reward of every arm is believed to be normal with mean 0.7 and standard deviation 0.2,
    independently, and what a pull pays to be that mean plus normal noise of standard deviation 0.05
    (0 and 1 are taken as if they were normal). At each pull, which is one poll, of the first page
    with probability k/K, a value is drawn for each arm from what is believed of it, and the arm
    with the highest is played.

    Source: S. Glimsdal, "Efficient Gaussian process based optimistic knapsack sampling with
    applications to stochastic resource allocation", University of Agder, 2013, sections 3.3 and
    7.2.2 (MAB:TS). It calls 0.05 the variance of the likelihood; only if 0.05 is the standard
    deviation is so much learned in 1000 polls as it prints. Thompson (1933) for the method.

    `InputError` unless `resolution` is a whole number from 2 to 1000.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = ThompsonSampling(generator=np.random.default_rng(1))
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> polled = []
    >>> for now in range(1, 1001):
    ...     (page_id,) = policy.select(now, limit=1).page_ids.tolist()
    ...     policy.observe([Observation(page_id, now, Outcome(page_id == 0))])
    ...     polled.append(page_id)
    >>> polled.count(0) > 700
    True
    """

    name = "ts"

    def __init__(self, *, generator: np.random.Generator, resolution: int = 100) -> None:
        arms = shares(self.name, resolution)
        super().__init__(
            generator=generator,
            score=THOMPSON,
            mean=np.full(len(arms), _PRIOR_MEAN),
            covariance=_PRIOR_DEVIATION**2 * np.eye(len(arms)),
            noise=_NOISE_DEVIATION**2,
        )
