"""Policies whose state is a NamedTuple of arrays that compiled functions work on.

The module of a family's kernels registers them for its type of state. The functions `select`,
`observe`, `wake_at`, `defer` and `amount` stand for those of whatever state they are given, in
functions that `compiled_by_state` decorates: the compiled loops of the simulator, and the loops
over pages here, which `CompiledPolicy` puts between them and the contract of a policy. These loops
have the state `borrowed`: kernels must not keep its arrays.
"""

import math
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from pollwise.array_growth import enlarged
from pollwise.errors import InputError
from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import HELD, LEASED, new_ids, observed, watched
from pollwise.policies.borrowed import borrowed
from pollwise.policies.structures.heap import heaps_for
from pollwise.types import Observation, Page, Selection

__all__ = [
    "CompiledPolicy",
    "Kernels",
    "amount",
    "compiled_by_state",
    "compiled_state",
    "observe",
    "register",
    "select",
    "wake_at",
]


def select(state: Any, now: float) -> int:
    """Lease the next page; -1: none."""
    raise NotImplementedError


def observe(state: Any, observation: Any) -> None:
    """Take in a poll, a record of OBSERVATION, of a page that is there."""
    raise NotImplementedError


def wake_at(state: Any) -> float:
    """When a page can be selected again if there is none now; infinite: not by time alone."""
    raise NotImplementedError


def defer(state: Any, page: int, until: float) -> None:
    """Keep a page, which was leased and is HELD now, away until then."""
    raise NotImplementedError


def amount(state: Any, page: int) -> float:
    """The share of the knapsack that a page is given now; NaN: the policy has no such thing."""
    raise NotImplementedError


@kernel
def _never(state: Any) -> float:
    return math.inf


@kernel
def _no_amount(state: Any, page: int) -> float:
    return math.nan


class Kernels(NamedTuple):
    """The kernels that stand for the functions of these names, for one type of state."""

    select: Callable[..., int]
    observe: Callable[..., None]
    wake_at: Callable[..., float] = _never
    defer: Callable[..., None] | None = None
    """None: pages wait in a part of the state, which has kernels of its own."""
    amount: Callable[..., float] = _no_amount


_KERNELS: dict[type, Kernels] = {}


def register(state: type, kernels: Kernels) -> None:
    """Have these compiled functions work on this type of state, once and for all."""
    if state in _KERNELS:
        raise InputError(f"{state.__name__} has its kernels already; register each type once")
    _KERNELS[state] = kernels


Function = TypeVar("Function", bound=Callable[..., Any])


def compiled_by_state(function: Function) -> Function:
    """Decorates a compiled loop over a state, its first argument.

    Every type of state has a kernel of its own, in which the functions that stand for others are
    these. To find the code kept for one type, numba would else load the modules of all types that
    the kernel was ever called with.
    """
    kernels: dict[type, Callable[..., Any]] = {}

    def call(state: Any, *arguments: Any) -> Any:
        kind = type(state)
        if kind not in kernels:
            own = FunctionType(function.__code__, function.__globals__ | _meant(function, kind))
            own.__qualname__ = f"{function.__qualname__}-{kind.__module__}.{kind.__qualname__}"
            # Code kept on disk is told apart by the sources of this package alone.
            is_ours = kind.__module__.startswith(f"{__package__.partition('.')[0]}.")
            kernels[kind] = kernel(own) if is_ours else numba.njit(own)
        return kernels[kind](state, *arguments)

    return cast(Function, call)


def _meant(function: Callable[..., Any], kind: type) -> dict[str, Any]:
    """The kernels of a type of state by the names of the functions that stand for them."""
    return {
        name: own
        for name, own in _KERNELS[kind]._asdict().items()
        if function.__globals__.get(name) is globals()[name] and own is not None
    }


def compiled_state(policy: object) -> Any:
    """The state of a policy that the compiled loops can run, or None.

    They would not call what somebody's own subclass of a compiled one does in its place.
    """
    kind = type(policy)
    if issubclass(kind, CompiledPolicy) and not (
        kind.select is CompiledPolicy.select and kind.observe is CompiledPolicy.observe
    ):
        return None
    state = getattr(policy, "state", None)
    return state if type(state) in _KERNELS else None


@compiled_by_state
def _select_pages(state: Any, now: float, limit: int) -> tuple[NDArray[np.int64], float]:
    """Lease at most `limit` pages; gives also when a page can be selected again.

    Together, because from Python it takes 10 µs to hand over a generator.
    """
    state = borrowed(state)
    pages = np.empty(max(0, min(limit, len(state.pages))), np.int64)
    count = 0
    while count < len(pages):
        pages[count] = select(state, now)
        if pages[count] < 0:
            break
        count += 1
    return pages[:count], wake_at(state)


@compiled_by_state
def _observe_pages(state: Any, observations: NDArray[Any]) -> None:
    """Take in observations, in the order given."""
    state = borrowed(state)
    for n in range(len(observations)):
        observe(state, observations[n])


@compiled_by_state
def _defer_pages(state: Any, pages: NDArray[np.int64], until: float) -> None:
    """Give leased pages back unpolled."""
    state = borrowed(state)
    for page in pages:
        own = state.pages[page]
        if own.where == LEASED:
            own.where = HELD
            defer(state, page, until)


class CompiledPolicy:
    """The common part of all policies whose state compiled functions work on.

    Subclasses make `_state`, whose structured array `pages` has a record with the field `where` for
    each page id; they say which arrays are by page id, what happens to pages that come and go
    (`_enter`, `_remove`), and what was learned (`state_dict`, `load_state_dict`).
    """

    _state: Any
    _by_page: tuple[str, ...] = ("pages",)
    """The arrays of `_state` that have an element for each page id (or one more, as heaps have)."""
    _two_heaps: str | None = None
    """The array of `_state` with two heaps that have room for each page id; None: there is none."""

    @property
    def state(self) -> Any:
        """The whole state, which the registered kernels work on.

        Ask for it anew after every `add`, which may replace the arrays by larger ones.
        """
        return self._state

    @property
    def _turns(self) -> Any:
        """What `select` and `defer` work on: a state that says whose turn it is, perhaps a part."""
        return self.state

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages; `InputError` for an id or a weight that cannot be, see `new_ids`."""
        if pages:
            page_ids = new_ids(pages, self._state.pages)
            self._grow(int(page_ids.max()) + 1)
            self._enter(pages, page_ids)

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        self._remove(watched(page_ids, self._state.pages))

    def select(self, now: float, limit: int) -> Selection:
        """At most `limit` pages, best first; they are leased."""
        return Selection(*_select_pages(self._turns, float(now), limit))

    def observe(self, observations: Sequence[Observation]) -> None:
        """Learn from polls and end the leases of their pages."""
        _observe_pages(self.state, observed(observations, self._state.pages))

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; they are not selected before `until`."""
        _defer_pages(self._turns, watched(page_ids, self._state.pages), float(until))

    def _enter(self, pages: Sequence[Page], page_ids: NDArray[np.int64]) -> None:
        """Take up pages with these ids, for which there is room."""
        raise NotImplementedError

    def _remove(self, page_ids: NDArray[np.int64]) -> None:
        """Forget pages that are there; an id may be given twice."""
        raise NotImplementedError

    def _grow(self, pages: int, most: int = sys.maxsize) -> None:
        """Make room for page ids below `pages`; the room doubles, up to `most` ids."""
        old = len(self._state.pages)
        if pages > old:
            more = min(max(pages, 2 * old, 16), most) - old
            self._state = self._state._replace(
                **{name: enlarged(getattr(self._state, name), more) for name in self._by_page}
            )
            if self._two_heaps is not None:
                heaps = getattr(self._state, self._two_heaps)
                grown = heaps_for(len(self._state.pages), heaps)
                self._state = self._state._replace(**{self._two_heaps: grown})
