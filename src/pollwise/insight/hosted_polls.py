"""How often pages are polled whose hosts take only so many polls."""

import numpy as np
from numpy.typing import NDArray

from pollwise.insight.priced_polls import PricedBudget, PricedPolls, SharedPolls

__all__ = ["HostedPolls"]

Floats = NDArray[np.float64]


class HostedPolls:
    """Shares a budget out among pages within what their hosts take.

    `polls` shares it out as if hosts took everything, `priced` prices all the pages together.
    `hosts` has the number of the host of each page, `takes` the polls a second that each host takes
    at most (perhaps infinite), `costs` what a poll of each page takes of the budget.

    A host that is to get more than it takes has a price of its own, at which its pages get just
    that; the rest of the budget goes to the others. That is the best there is for pages whose polls
    bring ever less, and what a policy with prices of hosts does. What pages of groups with shares
    of the budget get at most of a slow host is reckoned as if there were no shares.
    """

    def __init__(
        self,
        polls: PricedPolls | SharedPolls,
        priced: PricedPolls,
        costs: Floats,
        hosts: NDArray[np.int64],
        takes: Floats,
    ) -> None:
        self._polls, self._priced = polls, priced
        self._hosts, self._takes = hosts, takes
        dearest = np.zeros(len(takes))
        np.maximum.at(dearest, hosts, costs)
        self._most = float(dearest @ takes)

    def frequencies(self, budget: float) -> Floats:
        """Polls per second of each page, as of `PricedBudget.frequencies`."""
        # What can never be spent must not be taken for shorter rounds.
        spent = min(budget, self._most)
        polls = self._polls.under(spent, within=budget)
        frequencies = polls.frequencies()
        given = np.bincount(self._hosts, frequencies, len(self._takes))
        if np.all(given <= self._takes):
            return frequencies
        priced = polls
        if not isinstance(priced, PricedBudget):
            priced = self._priced.under(spent, within=budget)
        return polls.frequencies(priced.room(self._hosts, self._takes))
