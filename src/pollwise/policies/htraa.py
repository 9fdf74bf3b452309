"""H-TRAA: a hierarchy of learning automata divides the polls among the pages."""

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import is_real, is_whole
from pollwise.errors import InputError, StateError
from pollwise.policies.arrays import check_state, new_ids, observed, seen_at, watched
from pollwise.policies.automata_tree import (
    HTRAAState,
    defer_pages,
    next_back,
    observe_pages,
    select_pages,
)
from pollwise.policies.base import StateDict
from pollwise.policies.share_tree import (
    PAGE,
    SHARED,
    ShareTree,
    add_pages,
    amounts_of,
    doubled,
    empty_tree,
    remove_pages,
    settle_all,
)
from pollwise.types import Observation, Page, Selection

__all__ = ["HTRAA", "Schedule", "Update"]

Update = Literal["reward-inaction", "inaction-penalty", "reward-penalty"]
"""Which polls move automata: those that find a change, those that find none, or both."""

Schedule = Literal["deadline", "random"]
"""How frequencies are kept to the amounts: as evenly as can be, or by drawing each page."""

_LARGEST_RESOLUTION = 10**9
_TREE = ("state", "credit")


class HTRAA:
    """Polls with frequencies that a hierarchy of twofold resource allocation automata learns.

    The automata are the inner nodes of a binary tree with the pages below. Each divides what it
    is given between its two parts, so that a page's amount is `capacity` times the shares on its
    path, and frequencies are in proportion to the amounts. A poll teaches the automata on the path
    of its page; amounts settle where polls of all pages find a change equally often, which is the
    optimum of the stochastic nonlinear fractional knapsack: x_i in proportion to -ln q_i, q_i being
    the probability of no change in a step. With two pages it is a single TRAA.

    `generator` draws the moves. `resolution` is the number N of states of each automaton: the
    higher, the finer and the slower it learns. `update` says which polls move the automata: those
    that find a change, those that find none, or both (all three lead to the same amounts).
    `schedule` says how frequencies are kept: "deadline" divides polls as evenly as can be, "random"
    draws every page by the amounts. `capacity` is the sum of the amounts, and nothing but their
    unit. Weights and costs play no part.

    Pages added to an empty tree keep their order, so that neighbours share automata: if they come
    in the order of change rates, much is learned of all of them at the root (in any order it ends
    at the same amounts). Page j of n has the slot ⌊j 2^k / n⌋ of 2^k. All amounts are equal then,
    as nearly as N + 1 steps of each automaton allow. Pages added later take what they are given
    from the emptiest part of the tree, which doubles when it is full.

    It never waits, it shares out whatever polls there are. `pollwise.policies.automata_tree` has
    the automaton's rules and why they lead to the optimum.

    Source: O.-C. Granmo, B. J. Oommen, "Solving stochastic nonlinear resource allocation problems
    using a hierarchy of twofold resource allocation automata", IEEE Trans. Computers 59(4), 2010.

    `InputError` for a `resolution` that is no integer from 2 to 10⁹, an `update` or `schedule` that
    is none of those above, a `capacity` that is not finite and above 0, or no `generator`.

    >>> from pollwise.types import Outcome
    >>> policy = HTRAA(generator=np.random.default_rng(1), resolution=3)
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> policy.amounts()
    array([0.5, 0.5])
    >>> for now in range(1, 21):
    ...     (page_id,) = policy.select(now, limit=1).page_ids.tolist()
    ...     policy.observe([Observation(page_id, now, Outcome(page_id == 0))])
    >>> policy.amounts()
    array([0.75, 0.25])
    """

    def __init__(
        self,
        *,
        generator: np.random.Generator,
        resolution: int = 500,
        update: Update = "reward-penalty",
        schedule: Schedule = "deadline",
        capacity: float = 1.0,
    ) -> None:
        _check_options(generator, resolution, update, schedule, capacity)
        self._whole = int(resolution) + 1
        shared = np.zeros(1, SHARED)
        shared["whole"] = self._whole
        shared["moves_on_reward"] = update != "inaction-penalty"
        shared["moves_on_penalty"] = update != "reward-inaction"
        shared["by_deadline"] = schedule == "deadline"
        shared["capacity"] = capacity
        nodes, occupants = empty_tree(1, self._whole)
        self._generator = generator
        self._tree = ShareTree(
            pages=np.zeros(0, PAGE),
            shared=shared,
            nodes=nodes,
            occupants=occupants,
            held=np.zeros(1, np.int64),
        )

    @property
    def state(self) -> HTRAAState:
        """The whole state: what the functions of `automata_tree` work on.

        To be asked for anew after every `add`, which may need larger arrays.
        """
        return HTRAAState(*self._tree, generator=self._generator)

    def amounts(self) -> NDArray[np.float64]:
        """The amounts by page id up to the largest, 0 for ids that no page has.

        They add up to the capacity, unless there is no page.
        """
        page_ids = watched(range(len(self._tree.pages)), self._tree.pages)
        return amounts_of(self._tree)[: page_ids.max(initial=-1) + 1]

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages; `InputError` for an id that is negative or watched already."""
        if not pages:
            return
        page_ids = new_ids(pages, self._tree.pages)
        self._grow(int(page_ids.max()) + 1)
        self._tree.pages["polled_at"][page_ids] = seen_at(pages)
        watched_before, count = int(self._tree.nodes["pages"][1]), len(page_ids)
        if watched_before == 0:
            room = 1 << (count - 1).bit_length()
            self._plant(*empty_tree(room, self._whole))
            slots = np.arange(count) * room // count
        else:
            self._make_room(watched_before + count)
            slots = np.full(count, -1)
        add_pages(self._tree, page_ids, slots)

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        remove_pages(self._tree, watched(page_ids, self._tree.pages))

    def select(self, now: float, limit: int) -> Selection:
        """The pages whose turn it is; they are leased."""
        page_ids = select_pages(self._tree, self._generator, now, limit)
        return Selection(page_ids, float(next_back(self._tree.pages, self._tree.held)))

    def observe(self, observations: Sequence[Observation]) -> None:
        """Teach the automata and end the leases of polled pages."""
        observe_pages(self._tree, self._generator, *observed(observations, self._tree.pages))

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; they are not selected before `until`."""
        defer_pages(self._tree, watched(page_ids, self._tree.pages), until)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """The latest polls, the places in the tree, and the tree; see `Policy`."""
        tree = self._tree
        ids = watched(range(len(tree.pages)) if page_ids is None else page_ids, tree.pages)
        learned: StateDict = {
            "page_ids": ids,
            "page.polled_at": tree.pages["polled_at"][ids],
            "page.slot": tree.pages["slot"][ids],
            "htraa.whole": tree.shared["whole"].copy(),
        }
        for name in _TREE:
            learned[f"htraa.{name}"] = tree.nodes[name][: len(tree.occupants)].copy()
        return learned

    def load_state_dict(self, state: StateDict) -> None:
        """Put learned state back; `StateError` if it does not fit.

        Pages that it says nothing of are taken up as if they were added after the others. Leases
        and deferrals end.
        """
        self._check_learned(state)
        nodes, occupants = empty_tree(len(state["htraa.state"]), self._whole)
        for name in _TREE:
            nodes[name][: len(occupants)] = state[f"htraa.{name}"]
        pages = self._tree.pages
        everyone = watched(range(len(pages)), pages)
        remove_pages(self._tree, everyone)
        self._plant(nodes, occupants)
        self._make_room(len(everyone))

        ids, slots = state["page_ids"].astype(np.int64), state["page.slot"].astype(np.int64)
        known = np.isin(ids, everyone) & (slots >= 0) & (slots < len(occupants))
        for column in (ids, slots):
            # A page has one slot and a slot one page.
            known[known] = _is_first(column[known])
        ids, slots = ids[known], slots[known]
        pages["polled_at"][ids] = state["page.polled_at"][known]
        others = np.setdiff1d(everyone, ids)
        # All in one: what was learned of a node holds as long as it has pages on both sides.
        add_pages(
            self._tree,
            np.concatenate([ids, others]),
            np.concatenate([slots, np.full(len(others), -1)]),
        )
        settle_all(self._tree)

    def _check_learned(self, state: StateDict) -> None:
        """`StateError` unless it is the learned state of such a policy."""
        tree = [state[name] for name in (f"htraa.{field}" for field in _TREE) if name in state]
        slots = tree[0].size if tree else 1
        expected = self.state_dict([])
        for name in _TREE:
            expected[f"htraa.{name}"] = np.zeros(slots, np.int32)
        check_state(state, expected)
        whole = int(state["htraa.whole"].item())
        if whole != self._whole:
            raise StateError(
                f"the learned state is of resolution {whole - 1}, this policy of"
                f" {self._whole - 1}; load it into a policy of resolution {whole - 1}"
            )
        shares, credits = (state[f"htraa.{name}"].astype(np.int64) for name in _TREE)
        in_range = (shares >= 0) & (shares <= whole) & (np.abs(credits) <= whole)
        if slots & (slots - 1) or not slots or not in_range.all():
            raise StateError(
                f"the learned tree of {slots} slots is damaged: slots must be a power of two,"
                f" states from 0 to {whole}, credits no larger; go back to a copy of it"
            )

    def _plant(self, nodes: NDArray[Any], occupants: NDArray[np.int64]) -> None:
        """Put another tree, without pages, in the place of one without pages."""
        self._tree = self._tree._replace(nodes=nodes, occupants=occupants)

    def _make_room(self, pages: int) -> None:
        """Double the tree until it has slots for so many pages."""
        while len(self._tree.occupants) < pages:
            self._tree = doubled(self._tree)

    def _grow(self, pages: int) -> None:
        """Make room for page ids below `pages`; the room doubles."""
        old = len(self._tree.pages)
        if pages <= old:
            return
        more = max(pages, 2 * old, 16) - old
        self._tree = self._tree._replace(
            pages=np.append(self._tree.pages, np.zeros(more, PAGE)),
            held=np.append(self._tree.held, np.zeros(more, np.int64)),
        )


def _is_first(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which elements are the first of their value."""
    first = np.zeros(len(values), np.bool_)
    first[np.unique(values, return_index=True)[1]] = True
    return first


def _check_options(
    generator: object, resolution: object, update: object, schedule: object, capacity: object
) -> None:
    """`InputError` for what `HTRAA` cannot use."""
    if not isinstance(generator, np.random.Generator):
        raise InputError(
            f"htraa: generator={generator!r} must be a numpy Generator, such as"
            " numpy.random.default_rng(1)"
        )
    if not (is_whole(resolution) and 2 <= resolution <= _LARGEST_RESOLUTION):
        raise InputError(
            f"htraa: resolution={resolution!r} must be an integer from 2 to {_LARGEST_RESOLUTION}"
            " (states of each automaton)"
        )
    for name, value, kinds in (("update", update, Update), ("schedule", schedule, Schedule)):
        if value not in get_args(kinds):
            raise InputError(f"htraa: {name}={value!r} must be one of {', '.join(get_args(kinds))}")
    if not (is_real(capacity) and 0 < capacity < math.inf):
        raise InputError(f"htraa: capacity={capacity!r} must be a finite number above 0")
