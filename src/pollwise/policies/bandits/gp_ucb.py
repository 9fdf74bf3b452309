"""GP-UCB: a bandit that expects arms close to each other to pay alike."""

import numpy as np

from pollwise.policies.bandits.kernels import OPTIMISM
from pollwise.policies.bandits.policy import MixturePolicy, shares
from pollwise.rates.gaussian_process import SquaredExponential

__all__ = ["GPUCB"]

_KERNEL = SquaredExponential(length_scale=1.0, signal_variance=1.0)
_NOISE_VARIANCE = 0.1 + 0.1


class GPUCB(MixturePolicy):
    """Upper confidence bounds of a Gaussian process, on mixtures of two pages.

    The mean reward of the arm that gives the first page the share x of the polls is believed to be
    a Gaussian process in x, with mean 0 before the first pull and covariances σ_f² e^(-(x - x')² /
    (2 l²)), l² = 1 and σ_f² = 1; what a pull pays has noise of variance 2σ_n², where σ_n² = 0.1.
    The arm of the highest mean + 2 standard deviations is played, for one poll: of the first page
    with probability x, where x = k/K for k = 1 ... K - 1 and K is `resolution`.

    Source: N. Srinivas, A. Krause, S. Kakade, M. Seeger, "Gaussian process optimization in the
    bandit setting: no regret and experimental design", ICML 2010, for the method, with a constant
    instead of the growing factor; S. Glimsdal, "Efficient Gaussian process based optimistic
    knapsack sampling with applications to stochastic resource allocation", University of Agder,
    2013, sections 5.3 and 7.2.2 (MAB:GP-UCB), for the numbers. There σ_n² is a part of the
    covariance already, and the regression adds it once more; that the mean is 0 is a reading.

    `InputError` unless `resolution` is a whole number from 2 to 1000.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = GPUCB(generator=np.random.default_rng(1))
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> for now in range(1, 1001):
    ...     (page_id,) = policy.select(now, limit=1).page_ids.tolist()
    ...     policy.observe([Observation(page_id, now, Outcome(page_id == 0))])
    >>> policy.amounts()
    array([0.99, 0.01])
    """

    name = "gp-ucb"

    def __init__(self, *, generator: np.random.Generator, resolution: int = 100) -> None:
        arms = shares(self.name, resolution)
        super().__init__(
            generator=generator,
            score=OPTIMISM,
            mean=np.zeros(len(arms)),
            covariance=_KERNEL.covariance(arms, arms),
            noise=_NOISE_VARIANCE,
        )
