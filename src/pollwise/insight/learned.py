"""What a store holds of what policies learned.

Apart from `pollwise.insight.knowledge`, which is slow to load, as a run waits for this.
"""

from pathlib import Path

from pollwise.errors import StateError, StoreError
from pollwise.policies.arrays import check_state
from pollwise.policies.base import Policy
from pollwise.store import Store
from pollwise.types import StateDict

__all__ = ["damaged_run", "learned_by"]


def learned_by(store: Store, policy: Policy) -> StateDict | None:
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


def damaged_run(db: Path) -> StoreError:
    """The error of a database whose last run cannot be taken up again."""
    return StoreError(
        f"{db}: what its last run left is damaged: restore a copy, or use another file"
    )
