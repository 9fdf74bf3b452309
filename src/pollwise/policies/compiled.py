"""The compiled functions of policies, by the type of their state.

The compiled loops call `select`, `observe`, `wake_at`, `amount` and `changed_outcome` of this
module; numba puts in what belongs to the state at hand.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
from numba.core import types as numba_types
from numba.extending import overload

from pollwise.types import Outcome

__all__ = [
    "Kernels",
    "amount",
    "changed_outcome",
    "compiled_state",
    "observe",
    "register",
    "select",
    "wake_at",
]

_CHANGED = int(Outcome.CHANGED)


@numba.njit(cache=True)
def _never(state: Any) -> float:
    return math.inf


@numba.njit(cache=True)
def _no_amount(state: Any, page: int) -> float:
    return math.nan


class Kernels(NamedTuple):
    """What belongs to a type of state; the functions below say what each of them does."""

    select: Callable[..., int]
    observe: Callable[..., None]
    wake_at: Callable[..., float] = _never
    amount: Callable[..., float] = _no_amount
    reverted: int = _CHANGED
    """The code of a change back to an earlier version, as `observe` wants it."""


_KERNELS: dict[type, Kernels] = {}


def register(state: type, kernels: Kernels) -> None:
    """Have the compiled loops run policies of this type of state."""
    _KERNELS[state] = kernels


def compiled_state(policy: object) -> Any:
    """The state of a policy that the compiled loops can run, or None."""
    state = getattr(policy, "state", None)
    return state if type(state) in _KERNELS else None


def select(state: Any, now: float) -> int:
    """Lease the next page; -1: none."""
    raise NotImplementedError


def observe(state: Any, page: int, polled_at: float, outcome: int, last_changed_at: float) -> None:
    """Take in a poll."""
    raise NotImplementedError


def wake_at(state: Any) -> float:
    """When a page can be selected again if there is none now; infinite: not by time alone."""
    raise NotImplementedError


def amount(state: Any, page: int) -> float:
    """The share of the knapsack that a page is given now; NaN: the policy has no such thing."""
    raise NotImplementedError


def changed_outcome(state: Any, reverted: bool) -> int:
    """The code of a change, as `observe` wants it."""
    raise NotImplementedError


def _kernels(state: Any) -> Kernels | None:
    """Of the state's type in numba."""
    if not isinstance(state, numba_types.NamedTuple):
        return None
    return _KERNELS.get(state.instance_class)


# Numba wants the very parameters of the overloaded function, annotations included.


@overload(select, inline="always")
def _select(state: Any, now: float) -> Callable[..., int] | None:
    if (kernels := _kernels(state)) is None:
        return None
    kernel = kernels.select

    def compiled(state: Any, now: float) -> int:
        return kernel(state, now)

    return compiled


@overload(observe, inline="always")
def _observe(
    state: Any, page: int, polled_at: float, outcome: int, last_changed_at: float
) -> Callable[..., None] | None:
    if (kernels := _kernels(state)) is None:
        return None
    kernel = kernels.observe

    def compiled(
        state: Any, page: int, polled_at: float, outcome: int, last_changed_at: float
    ) -> None:
        kernel(state, page, polled_at, outcome, last_changed_at)

    return compiled


@overload(wake_at, inline="always")
def _wake_at(state: Any) -> Callable[..., float] | None:
    if (kernels := _kernels(state)) is None:
        return None
    kernel = kernels.wake_at

    def compiled(state: Any) -> float:
        return kernel(state)

    return compiled


@overload(amount, inline="always")
def _amount(state: Any, page: int) -> Callable[..., float] | None:
    if (kernels := _kernels(state)) is None:
        return None
    kernel = kernels.amount

    def compiled(state: Any, page: int) -> float:
        return kernel(state, page)

    return compiled


@overload(changed_outcome, inline="always")
def _changed_outcome(state: Any, reverted: bool) -> Callable[..., int] | None:
    if (kernels := _kernels(state)) is None:
        return None
    code = kernels.reverted

    def compiled(state: Any, reverted: bool) -> int:
        return code if reverted else _CHANGED

    return compiled
