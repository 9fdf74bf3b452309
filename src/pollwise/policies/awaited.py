"""A policy that is not there yet: it is being compiled, or loaded."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pollwise.policies.base import HostPriced, Pausing, Policy, Sharing, Signalling
from pollwise.types import Observation, Page, Selection, StateDict

__all__ = ["AwaitedPolicy", "renew"]


def renew(policy: Policy, pages: Sequence[Page]) -> None:
    """Tell a policy of pages that it has, with other weights or costs; what it learned stays."""
    if isinstance(policy, AwaitedPolicy):
        policy.renew(pages)
        return
    page_ids = [page.id for page in pages]
    learned = policy.state_dict(page_ids)
    policy.discard(page_ids)
    policy.add(pages)
    policy.load_state_dict(learned)


class AwaitedPolicy:
    """Stands in for a policy until `arrived`: selects nothing, and notes what it is told.

    The policy is told the same, in the same order, so that it comes out as if it had been there all
    along. `policy`: the one that comes, if it is there already; else `prepare` gives it.
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self._policy = policy
        self._told: list[Callable[[Policy], None]] = []
        self._passed_on = 0
        self._host_prices: dict[str, float] = {}

    def prepare(self, policy: Policy) -> None:
        """Tell a new policy what was noted so far; another thread may do so meanwhile."""
        self._policy = policy
        self._pass_on(policy)

    def arrived(self) -> Policy:
        """The policy, which knows all that was noted."""
        assert self._policy is not None, "prepare it first"
        self._pass_on(self._policy)
        return self._policy

    def add(self, pages: Sequence[Page]) -> None:
        """Note the pages."""
        self._told.append(lambda policy: policy.add(pages))

    def discard(self, page_ids: Sequence[int]) -> None:
        """Note that these pages are watched no longer."""
        self._told.append(lambda policy: policy.discard(page_ids))

    def select(self, now: float, limit: int) -> Selection:
        """No page, whatever the time."""
        return Selection(np.empty(0, np.int64))

    def observe(self, observations: Sequence[Observation]) -> None:
        """Note the observations."""
        self._told.append(lambda policy: policy.observe(observations))

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Note that these pages are to wait."""
        self._told.append(lambda policy: policy.defer(page_ids, until))

    def share_out(self, shares: Mapping[str, float], tags: Mapping[int, tuple[str, ...]]) -> None:
        """Note the shares, should the policy take any."""
        self._note_sharing(lambda policy: policy.share_out(shares, tags))

    def retag(self, tags: Mapping[int, tuple[str, ...]]) -> None:
        """Note the tags."""
        self._note_sharing(lambda policy: policy.retag(tags))

    def spend(self, page_id: int, cost: float) -> None:
        """Note what a poll took."""
        self._note_sharing(lambda policy: policy.spend(page_id, cost))

    def group_prices(self) -> dict[str, float]:
        """None: it has found none yet."""
        return {}

    def load_group_prices(self, prices: Mapping[str, float]) -> None:
        """Note the prices."""
        self._note_sharing(lambda policy: policy.load_group_prices(prices))

    def host_prices(self) -> dict[str, float]:
        """Those that were loaded: no poll has shown others yet."""
        return self._host_prices

    def load_host_prices(self, prices: Mapping[str, float]) -> None:
        """Note the prices, should the policy have any."""
        self._host_prices = dict(prices)

        def tell(policy: Policy) -> None:
            if isinstance(policy, HostPriced):
                policy.load_host_prices(prices)

        self._told.append(tell)

    def signal(self, page_ids: Sequence[int], at: float) -> None:
        """Note the signals, should the policy heed any."""

        def tell(policy: Policy) -> None:
            if isinstance(policy, Signalling):
                policy.signal(page_ids, at)

        self._told.append(tell)

    def pause(self, page_ids: Sequence[int]) -> None:
        """Note the pauses, should the policy reckon with rounds."""
        self._note_pausing(lambda policy: policy.pause(page_ids))

    def resume(self, page_ids: Sequence[int]) -> None:
        """Note that pauses end."""
        self._note_pausing(lambda policy: policy.resume(page_ids))

    def _note_pausing(self, tell: Callable[[Pausing], None]) -> None:
        def tell_if_pausing(policy: Policy) -> None:
            if isinstance(policy, Pausing):
                tell(policy)

        self._told.append(tell_if_pausing)

    def renew(self, pages: Sequence[Page]) -> None:
        """Note that pages have other weights or costs: see `renew`."""
        self._told.append(lambda policy: renew(policy, pages))

    def _note_sharing(self, tell: Callable[[Sharing], None]) -> None:
        """Note what only a policy is told that shares the budget out."""

        def tell_if_sharing(policy: Policy) -> None:
            if isinstance(policy, Sharing):
                tell(policy)

        self._told.append(tell_if_sharing)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """Nothing: it has learned nothing yet."""
        return {}

    def load_state_dict(self, state: StateDict) -> None:
        """Note what was learned before."""
        self._told.append(lambda policy: policy.load_state_dict(state))

    def _pass_on(self, policy: Policy) -> None:
        for tell in self._told[self._passed_on :]:
            tell(policy)
            self._passed_on += 1
