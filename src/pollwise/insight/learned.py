"""What a store holds of what policies learned.

Apart from `pollwise.insight.knowledge`, which is slow to load, as a run waits for this.
"""

from pollwise.errors import StateError
from pollwise.policies.arrays import check_state
from pollwise.policies.base import Policy
from pollwise.store.base import StoreReader
from pollwise.types import StateDict

__all__ = ["learned_by"]


def learned_by(store: StoreReader, policy: Policy) -> StateDict | None:
    """What a policy of this kind has learned; None: nothing is stored, or only with other arrays,
    such as those of an earlier version.
    """
    try:
        learned = store.load_learned()
        if learned is not None:
            check_state(learned, policy.state_dict([]))
    except StateError:
        return None
    return learned
