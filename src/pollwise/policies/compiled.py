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

from pollwise.policies.automata.htraa_kernels import (
    HTRAAState,
    amount_htraa,
    observe_htraa,
    select_htraa,
    wake_htraa,
)
from pollwise.policies.automata.lakg_kernels import (
    LAKGState,
    amount_lakg,
    observe_lakg,
    select_lakg,
    wake_lakg,
)
from pollwise.policies.bandits.kernels import (
    BanditState,
    amount_bandit,
    observe_bandit,
    select_bandit,
    wake_bandit,
)
from pollwise.policies.deadline.adaptive import select_adaptive, wake_adaptive
from pollwise.policies.deadline.kernels import DeadlineState, next_due, observe_due, select_due
from pollwise.policies.estimating.estimator_kernels import (
    EstimatorState,
    amount_estimator,
    observe_estimator,
    select_estimator,
    wake_estimator,
)
from pollwise.policies.estimating.kernels import ReallocationState, observe_reallocating
from pollwise.policies.estimating.mirrorsync_kernels import MirrorState, observe_mirrorsync
from pollwise.policies.gpoks.kernels import (
    amount_gpoks,
    observe_gpoks,
    select_gpoks,
    wake_gpoks,
)
from pollwise.policies.gpoks.state import GPOKSState
from pollwise.policies.index.queue import REVERTED, observe_page, select_page
from pollwise.policies.index.state import IndexState
from pollwise.policies.rules.kernels import IntervalRuleState, observe_interval_rule
from pollwise.simulation.scores.witness import WitnessedState, observe_witnessed, select_witnessed
from pollwise.types import Outcome

__all__ = [
    "REVERTED",
    "amount",
    "changed_outcome",
    "compiled_state",
    "observe",
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


class _Kernels(NamedTuple):
    select: Callable[..., int]
    observe: Callable[..., None]
    wake_at: Callable[..., float] = _never
    amount: Callable[..., float] = _no_amount
    tells_reverts: bool = False
    """`observe` takes the outcome REVERTED."""


_KERNELS: dict[type, _Kernels] = {
    IndexState: _Kernels(select_page, observe_page, tells_reverts=True),
    DeadlineState: _Kernels(select_due, observe_due, next_due),
    BanditState: _Kernels(select_bandit, observe_bandit, wake_bandit, amount_bandit),
    EstimatorState: _Kernels(select_estimator, observe_estimator, wake_estimator, amount_estimator),
    GPOKSState: _Kernels(select_gpoks, observe_gpoks, wake_gpoks, amount_gpoks),
    IntervalRuleState: _Kernels(select_adaptive, observe_interval_rule, wake_adaptive),
    HTRAAState: _Kernels(select_htraa, observe_htraa, wake_htraa, amount_htraa),
    MirrorState: _Kernels(select_adaptive, observe_mirrorsync, wake_adaptive),
    ReallocationState: _Kernels(select_adaptive, observe_reallocating, wake_adaptive),
    LAKGState: _Kernels(select_lakg, observe_lakg, wake_lakg, amount_lakg),
    WitnessedState: _Kernels(select_witnessed, observe_witnessed, tells_reverts=True),
}


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


def _kernels(state: Any) -> _Kernels | None:
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
    code = REVERTED if kernels.tells_reverts else _CHANGED

    def compiled(state: Any, reverted: bool) -> int:
        return code if reverted else _CHANGED

    return compiled
