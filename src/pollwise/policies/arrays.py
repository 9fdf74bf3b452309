"""Conversions between the values of the contract and the arrays of compiled policies."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numba.extending import typeof_impl
from numpy.typing import NDArray

from pollwise.checks import require_weight
from pollwise.errors import InputError, StateError
from pollwise.kernel_cache import kernel
from pollwise.page_columns import as_columns
from pollwise.policies.base import StateDict
from pollwise.types import Observation, Outcome, Page

__all__ = [
    "ABSENT",
    "HELD",
    "LEASED",
    "OBSERVATION",
    "READY",
    "all_watched",
    "blank_observation",
    "check_sound",
    "check_state",
    "known_rows",
    "new_ids",
    "not_after",
    "observed",
    "seen_at",
    "tells",
    "typed_once",
    "watched",
    "write_observation",
]

ABSENT, READY, HELD, LEASED = range(4)
"""The field `where` of a page id: no page has it; the page waits for its turn (some policies have
more such places); it is deferred; it is leased."""

OBSERVATION = np.dtype(
    [
        ("page", "i8"),
        ("polled_at", "f8"),
        ("last_changed_at", "f8"),  # NaN: not told
        ("n_items", "i8"),  # -1: not told
        ("outcome", "i8"),
        ("reverted", "?"),  # it changed, to a version that was seen before
    ],
    align=True,
)
"""What kernels are told of a poll: see `pollwise.types.Observation`."""

_CHANGED, _UNCHANGED = int(Outcome.CHANGED), int(Outcome.UNCHANGED)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


State = TypeVar("State", bound=type[tuple[Any, ...]])


def typed_once(kind: State) -> State:
    """Decorates the class of a state that may hold a random generator.

    Numba's fast look-up of types does not know generators: it would work out the types of all
    arrays at every call from Python. With this it does so once, so the types must never vary.
    """
    known: dict[tuple[type, ...], Any] = {}

    @typeof_impl.register(kind)
    def typeof_state(value: Any, context: Any) -> Any:
        kinds = tuple(map(type, value))
        if kinds not in known:
            known[kinds] = typeof_impl.dispatch(tuple)(value, context)
        return known[kinds]

    return kind


def watched(page_ids: Sequence[int] | NDArray[Any] | None, pages: NDArray[Any]) -> Ints:
    """Those of the ids that belong to pages (None: the ids of all pages).

    `pages` is a structured array with the field `where`.
    """
    if page_ids is None:
        return all_watched(pages)
    ids = np.asarray(page_ids, np.int64)
    ids = ids[(ids >= 0) & (ids < len(pages))]
    return ids[pages["where"][ids] != ABSENT]


def all_watched(pages: NDArray[Any]) -> Ints:
    """The ids of all pages."""
    return np.flatnonzero(pages["where"] != ABSENT)


def new_ids(new: Sequence[Page], pages: NDArray[Any]) -> Ints:
    """The ids of new pages; `InputError` for one that is negative, given twice or taken.

    And for a weight that is not finite, or below 0.
    """
    columns = as_columns(new)
    ids, weights = columns.ids, columns.weights
    in_order = np.sort(ids)  # `np.unique` takes ten times as long
    is_any_twice = (in_order[1:] == in_order[:-1]).any()
    if (ids < 0).any() or is_any_twice or len(watched(ids, pages)) > 0:
        raise InputError(
            "add: a page id is negative, given twice or watched already; give every page an"
            " id of its own (0, 1, 2, ...)"
        )
    for place in np.flatnonzero(~((weights >= 0) & (weights < math.inf))).tolist():
        require_weight(f"add: page {ids[place]}: weight", weights.item(place))
    return ids


def seen_at(pages: Sequence[Page]) -> Floats:
    """The times of the copies of pages; NaN: there is none."""
    return as_columns(pages).seen_at


def observed(observations: Sequence[Observation], pages: NDArray[Any]) -> NDArray[Any]:
    """The observations of known pages, as an array of OBSERVATION."""
    rows = [
        (
            o.page_id,
            o.polled_at,
            math.nan if o.last_changed_at is None else o.last_changed_at,
            -1 if o.n_items is None else o.n_items,
            o.outcome,
            o.reverted,
        )
        for o in observations
        if 0 <= o.page_id < len(pages)
    ]
    array = np.array(rows, OBSERVATION)
    return array[pages["where"][array["page"]] != ABSENT]


def blank_observation() -> NDArray[Any]:
    """An array of one OBSERVATION, for `write_observation`."""
    blank = np.zeros(1, OBSERVATION)
    blank["n_items"] = -1
    return blank


@kernel
def write_observation(
    observation: Any,
    page: int,
    polled_at: float,
    outcome: int,
    reverted: bool = False,
    last_changed_at: float = math.nan,
) -> None:
    """Fill in a record of OBSERVATION."""
    observation.page = page
    observation.polled_at = polled_at
    observation.outcome = outcome
    observation.reverted = reverted
    observation.last_changed_at = last_changed_at


@kernel
def tells(observation: Any, known_at: float) -> bool:
    """Whether a poll did not fail and is newer than `known_at`, the time last known (NaN: none)."""
    outcome = observation.outcome
    if outcome == _CHANGED or outcome == _UNCHANGED:  # noqa: SIM109 (tuples are slow here)
        return not observation.polled_at <= known_at
    return False


def known_rows(state: StateDict, pages: NDArray[Any]) -> tuple[Ints, Ints | slice]:
    """The ids in learned state that belong to pages, each once, and their rows.

    All rows are a slice: what is taken from arrays by that is not copied.
    """
    ids = state["page_ids"].astype(np.int64)
    is_in_order = not (ids[1:] <= ids[:-1]).any()
    if is_in_order and len(watched(ids, pages)) == len(ids):
        return ids, slice(None)
    ids, first = np.unique(ids, return_index=True)
    known = np.isin(ids, watched(ids, pages))
    return ids[known], first[known]


def check_state(given: StateDict, expected: StateDict) -> None:
    """`StateError` unless `given` has the arrays of `expected`, the state of no pages."""
    if given.keys() != expected.keys():
        lacking, unknown = expected.keys() - given.keys(), given.keys() - expected.keys()
        lacks = f"lacks {', '.join(sorted(lacking))}" if lacking else ""
        holds = f"holds {', '.join(sorted(unknown))} besides" if unknown else ""
        raise StateError(
            f"the learned state {' and '.join(filter(None, (lacks, holds)))}; load it into a policy"
            " of the same kind and version"
        )
    for name, array in expected.items():
        rows = len(given["page_ids"]) if name.startswith("page") else len(array)
        shape = (rows, *array.shape[1:])
        if given[name].shape != shape or given[name].dtype != array.dtype:
            raise StateError(
                f"the learned array {name!r} is {given[name].dtype} {given[name].shape}, expected"
                f" {array.dtype} {shape}; load it into a policy of the same kind and version"
            )


def not_after(state: StateDict, now: float) -> StateDict:
    """The learned state with no time later than `now`, when the clock that gave it was ahead.

    The very same state if it has none.
    """
    times = {name: array for name, array in state.items() if name.endswith("_at")}
    bounded = {name: np.minimum(array, now) for name, array in times.items()}
    if all(np.array_equal(times[name], bounded[name], equal_nan=True) for name in times):
        return state
    return {**state, **bounded}


def check_sound(owner: str, sound: Mapping[str, Any]) -> None:
    """`StateError` unless each part of a learned state, by its name, is `sound` throughout."""
    for what, flags in sound.items():
        if not np.all(flags):
            raise StateError(
                f"the learned state of {owner} is damaged: a {what} is not one that can be; go"
                " back to a copy of it"
            )
