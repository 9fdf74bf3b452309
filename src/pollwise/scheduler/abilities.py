"""What a policy can do beyond its contract, for who asks that at every poll.

`isinstance` would look for every method of a protocol, each time.
"""

from functools import cache
from typing import TypeGuard

from pollwise.policies.base import Chooser, Policy, Sharing
from pollwise.policies.collecting.request_controller import RequestController

__all__ = ["is_chooser", "is_collecting", "is_sharing"]


def is_chooser(policy: Policy) -> TypeGuard[Chooser]:
    """Whether a policy chooses among pages that wait for one host."""
    return _has(type(policy), Chooser)


def is_collecting(policy: Policy) -> TypeGuard[RequestController]:
    """Whether a policy discovers pages."""
    return _has(type(policy), RequestController)


def is_sharing(policy: Policy) -> TypeGuard[Sharing]:
    """Whether a policy gives shares of the budget."""
    return _has(type(policy), Sharing)


@cache
def _has(kind: type[Policy], ability: type) -> bool:
    return issubclass(kind, ability)
