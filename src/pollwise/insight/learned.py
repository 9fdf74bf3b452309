"""What a store holds of what policies learned.

Apart from `pollwise.insight.knowledge`, which is slow to load, as a run waits for this.
"""

from typing import NamedTuple

from pollwise.errors import StateError
from pollwise.policies.arrays import check_state
from pollwise.policies.base import Policy, Upgrading
from pollwise.store.base import StoreReader
from pollwise.types import StateDict

__all__ = ["Learned", "learned_by"]


class Learned(NamedTuple):
    """What a policy has learned, as this version has it, and whether it is stored so."""

    state: StateDict
    is_stored: bool


def learned_by(store: StoreReader, policy: Policy) -> Learned | None:
    """What a policy of this kind has learned; None: nothing is stored, or only with other arrays,
    such as those of an earlier version that cannot be upgraded.
    """
    try:
        stored = store.load_learned()
        if stored is None:
            return None
        state = policy.upgraded(stored) if isinstance(policy, Upgrading) else stored
        check_state(state, policy.state_dict([]))
    except StateError:
        return None
    return Learned(state, is_stored=state is stored)
