"""Estimated change rates with the optimal allocation, after Cho and Garcia-Molina.

Sources: "Estimating frequency of change", ACM Transactions on Internet Technology 3(3), 2003, the
estimators; "Effective page refresh policies for Web crawlers", ACM Transactions on Database Systems
28(4), 2003, the allocation, for freshness. What is ours: the epochs, other objectives, that half a
change counts where none was seen, and the share that explores
(`pollwise.policies.estimating.kernels`).
"""

from pollwise.objectives import Objective
from pollwise.policies.estimating.kernels import NAIVE, REDUCED
from pollwise.policies.estimating.policy import ReallocatingPolicy

__all__ = ["ChoMLE", "ChoNaive"]


class ChoNaive(ReallocatingPolicy):
    """Takes changes found per time watched, X/T, as the change rate: too low for fast pages.

    `objective`, or its name, is what a poll is worth; a share `exploration` of the budget
    goes to all pages equally.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = ChoNaive()
    >>> policy.add([Page(n, seen_at=0.0) for n in range(8)])
    >>> for hour in range(1, 100):
    ...     (page_id,) = policy.select(hour * 3600.0, limit=1).page_ids.tolist()
    ...     policy.observe([Observation(page_id, hour * 3600.0, Outcome(page_id == 0))])
    >>> (policy.rates()[:3] * 86400.0).round(1)
    array([7.4, 0.1, 0.1])
    """

    name = "cho-naive"

    def __init__(
        self, *, objective: str | Objective = "freshness", exploration: float = 0.05
    ) -> None:
        super().__init__(NAIVE, objective, exploration=exploration)


class ChoMLE(ReallocatingPolicy):
    """Takes the likeliest change rate, with its bias reduced; for the arguments see `ChoNaive`.

    Between two polls there may have been many changes; where the server tells when the page changed
    last, that is used.

    >>> from pollwise.types import Observation, Outcome, Page
    >>> policy = ChoMLE()
    >>> policy.add([Page(n, seen_at=0.0) for n in range(8)])
    >>> for hour in range(1, 100):
    ...     (page_id,) = policy.select(hour * 3600.0, limit=1).page_ids.tolist()
    ...     policy.observe([Observation(page_id, hour * 3600.0, Outcome(page_id == 0))])
    >>> (policy.rates()[:3] * 86400.0).round(1)
    array([50.7,  0.1,  0.1])
    """

    name = "cho-mle"

    def __init__(
        self, *, objective: str | Objective = "freshness", exploration: float = 0.05
    ) -> None:
        super().__init__(REDUCED, objective, exploration=exploration)
