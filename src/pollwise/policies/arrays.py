"""From the values of the contract to the arrays that compiled policies work on."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numba.extending import typeof_impl
from numpy.typing import NDArray

from pollwise.errors import InputError, StateError
from pollwise.policies.base import StateDict
from pollwise.types import Observation, Page

__all__ = [
    "ABSENT",
    "all_watched",
    "check_state",
    "new_ids",
    "observed",
    "seen_at",
    "typed_once",
    "watched",
]

ABSENT = 0
"""The value of the field `where` of an id that no page has."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


State = TypeVar("State", bound=type[tuple[Any, ...]])


def typed_once(kind: State) -> State:
    """Decorates the class of a state that may hold a random generator.

    The types of its arrays must never vary. Numba's quick look-up of types does not know
    generators, and works out the types of all arrays anew at every call from Python; this has it
    do so at the first one only.
    """
    known: dict[tuple[type, ...], Any] = {}

    @typeof_impl.register(kind)
    def typeof_state(value: Any, context: Any) -> Any:
        kinds = tuple(map(type, value))
        if kinds not in known:
            known[kinds] = typeof_impl.dispatch(tuple)(value, context)
        return known[kinds]

    return kind


def watched(page_ids: Sequence[int] | NDArray[Any], pages: NDArray[Any]) -> Ints:
    """Those of the ids that are of pages; `pages` is a structured array with the field `where`."""
    ids = np.asarray(page_ids, np.int64)
    ids = ids[(ids >= 0) & (ids < len(pages))]
    return ids[pages["where"][ids] != ABSENT]


def all_watched(pages: NDArray[Any]) -> Ints:
    """The ids of all pages."""
    return np.flatnonzero(pages["where"] != ABSENT)


def new_ids(new: Sequence[Page], pages: NDArray[Any]) -> Ints:
    """The ids of new pages; `InputError` for one that is negative, given twice or taken."""
    ids = np.array([page.id for page in new], np.int64)
    if (ids < 0).any() or len(np.unique(ids)) < len(ids) or len(watched(ids, pages)) > 0:
        raise InputError(
            "add: a page id is negative, given twice or watched already; give every page an"
            " id of its own (0, 1, 2, ...)"
        )
    return ids


def seen_at(pages: Sequence[Page]) -> Floats:
    """The times of the copies of pages; NaN: there is none."""
    return np.array([math.nan if page.seen_at is None else page.seen_at for page in pages])


def observed(
    observations: Sequence[Observation], pages: NDArray[Any]
) -> tuple[Ints, Floats, Ints, Floats]:
    """Page ids, times, outcomes and times of the last change (NaN: not told), known ids only."""
    known = [o for o in observations if 0 <= o.page_id < len(pages)]
    told = (o.last_changed_at for o in known)
    return (
        np.array([o.page_id for o in known], np.int64),
        np.array([o.polled_at for o in known], np.float64),
        np.array([o.outcome for o in known], np.int64),
        np.array([math.nan if time is None else time for time in told], np.float64),
    )


def check_state(given: StateDict, expected: StateDict) -> None:
    """`StateError` unless `given` has the arrays of `expected`, the state of no pages."""
    if given.keys() != expected.keys():
        raise StateError(
            f"the learned state holds {sorted(given)}, this policy needs {sorted(expected)};"
            " load it into a policy of the same kind"
        )
    for name, array in expected.items():
        rows = len(given["page_ids"]) if name.startswith("page") else len(array)
        shape = (rows, *array.shape[1:])
        if given[name].shape != shape or given[name].dtype != array.dtype:
            raise StateError(
                f"the learned array {name!r} is {given[name].dtype} {given[name].shape}, expected"
                f" {array.dtype} {shape}; load it into a policy of the same kind and version"
            )
