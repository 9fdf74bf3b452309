"""What anyone may register: a type of state, and the kernels that work on it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.kernel_folder import kernel_folder
from pollwise.policies.arrays import LEASED, READY
from pollwise.policies.compiled import CompiledPolicy, Kernels, register
from pollwise.types import Observation, Outcome, Page

OWN_PAGE = np.dtype([("where", "i8"), ("polls", "i8"), ("seen_at", "f8")])


class OneArray(NamedTuple):
    """A state whose arrays are all of one type."""

    pages: np.ndarray


@numba.njit
def select_last(state: Any, now: float) -> int:
    for page in range(len(state.pages) - 1, -1, -1):
        if state.pages[page].where == READY:
            state.pages[page].where = LEASED
            return page
    return -1


@numba.njit
def count(state: Any, observation: Any) -> None:
    state.pages[observation.page].polls += 1
    state.pages[observation.page].where = READY


@numba.njit
def defer(state: Any, page: int, until: float) -> None:
    state.pages[page].where = READY


KERNELS = Kernels(select_last, count, defer=defer)
register(OneArray, KERNELS)


class LastFirst(CompiledPolicy):
    """Polls the page of the highest id."""

    def __init__(self) -> None:
        self._state = OneArray(np.zeros(0, OWN_PAGE))

    def _enter(self, pages: Sequence[Page], page_ids: np.ndarray) -> None:
        self._state.pages["where"][page_ids] = READY

    def _remove(self, page_ids: np.ndarray) -> None:
        self._state.pages["where"][page_ids] = 0


def test_a_state_of_one_array_runs():
    policy = LastFirst()
    policy.add([Page(0), Page(1), Page(5)])
    assert policy.select(1.0, 2).page_ids.tolist() == [5, 1]
    policy.observe([Observation(5, 1.0, Outcome.CHANGED)])
    policy.defer([1], 2.0)
    assert policy.select(2.0, 9).page_ids.tolist() == [5, 1, 0]
    assert policy.state.pages["polls"].tolist()[:6] == [0, 0, 0, 0, 0, 1]


def test_code_for_a_state_of_somebody_else_is_not_kept_on_disk():
    """Its sources are not among those that the place of kept code stands for."""
    policy = LastFirst()
    policy.add([Page(0)])
    policy.select(1.0, 1)
    kept = [path.name for path in Path(kernel_folder()).rglob("*.nbi")]
    assert kept
    assert not [name for name in kept if "OneArray" in name]


def test_a_type_is_registered_once():
    with pytest.raises(InputError, match="OneArray has its kernels already"):
        register(OneArray, KERNELS)
