"""H-TRAA: a hierarchy of learning automata divides the polls among the pages."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import (
    is_real,
    require,
    require_choice,
    require_generator,
    require_positive,
    require_whole,
)
from pollwise.errors import StateError
from pollwise.policies.arrays import all_watched, check_state, seen_at, watched
from pollwise.policies.automata.htraa_kernels import amounts_of
from pollwise.policies.automata.share_tree import (
    FINE_UNITS,
    HTRAA_PAGE,
    HTRAA_SHARED,
    HTRAAState,
    add_pages,
    doubled,
    empty_tree,
    put_back,
    remove_pages,
)
from pollwise.policies.base import StateDict
from pollwise.policies.compiled import CompiledPolicy
from pollwise.policies.structures.heap import HEAP
from pollwise.types import Page

__all__ = ["HTRAA", "Climb", "Schedule", "Update"]

Update = Literal["reward-inaction", "inaction-penalty", "reward-penalty"]
"""Which polls move automata: those that find a change, those that find none, or both."""

Climb = Literal["always", "moved"]
"""Which automata pass a poll on to the one above: all, or those that it has moved."""

Schedule = Literal["deadline", "random"]
"""How frequencies follow the amounts: as evenly as possible, or by drawing each page."""

_LARGEST_RESOLUTION = 10**9
_LARGEST_GROWTH = 16
_EXPONENTS = (0.1, 10.0)
_TREE = ("state", "credit")
_SCALE = ("whole", "growth", "exponent")


class HTRAA(CompiledPolicy):
    """Polls with frequencies that a hierarchy of twofold resource allocation automata learns.

    The automata are the inner nodes of a binary tree with the pages below. Each divides what it
    is given between its two parts, so that a page's amount is `capacity` times the shares on its
    path, and frequencies are in proportion to the amounts. A poll teaches the automata on the path
    of its page; amounts settle where polls of all pages find a change equally often, which is the
    optimum of the stochastic nonlinear fractional knapsack: x_i in proportion to -ln q_i, q_i being
    the probability of no change in a step. With two pages it is a single TRAA.

    `generator` draws the moves. `resolution` is the number N of states of each automaton: the
    higher, the finer and the slower it learns. With `growth` above 1, from 1 to 16, it is that of
    the automata above pages, and every other one has `growth` times the resolution of its children,
    10⁹ states at most. `exponent` λ, from 0.1 to 10, sets how the shares of the two parts go with
    the state: s^λ to (N + 1 - s)^λ, with the finer steps near 0 and 1 the larger λ is.

    `update` says which polls move the automata: those that find a change, those that find none, or
    both (all three lead to the same amounts). `climb` "moved" lets an automaton that was not moved
    keep the poll from those above it, whose amounts then settle elsewhere than at the optimum.
    `schedule` says how frequencies follow: "deadline" divides polls as evenly as possible, "random"
    draws every page by the amounts. `capacity` is the sum of the amounts and only sets their unit.
    Weights and costs play no part.

    Pages added to an empty tree keep their order, so neighbours share automata: if they come in the
    order of change rates, the root learns much about all of them (the final amounts are the same in
    any order). Page j of n has the slot ⌊j 2^k / n⌋ of 2^k. At first all amounts are equal, as
    nearly as N + 1 steps of each automaton allow. Pages added later have slots in the emptiest part
    of the tree, which doubles when it is full. They begin with the mean amount of their part, taken
    from all others in proportion; `pollwise.policies.automata.share_tree` has the rule.

    It never waits: it shares out whatever polls there are.
    `pollwise.policies.automata.htraa_kernels` has the automaton's rules and why they lead to the
    optimum.

    Source: O.-C. Granmo, B. J. Oommen, "Learning automata-based solutions to the optimal web
    polling problem modelled as a nonlinear fractional knapsack problem", Engineering Applications
    of Artificial Intelligence 24, 2011, section 3, and 4.3.2 for the update rules, resolutions that
    vary and amounts that are not linear. It gives no formula for the last; λ is LAKG's, made alike
    for both parts. `climb` "moved" is in S. Glimsdal, "Efficient Gaussian process based
    optimistic knapsack sampling", 2013, section 5.2.

    `InputError` for a `resolution` that is no integer from 2 to 10⁹, a `growth`, an `exponent`, an
    `update`, a `climb` or a `schedule` that is not as above, a `capacity` that is not finite and
    above 0, or no `generator`.

    >>> from pollwise.types import Observation, Outcome
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

    _by_page = ("pages", "held")

    def __init__(
        self,
        *,
        generator: np.random.Generator,
        resolution: int = 500,
        growth: float = 1.0,
        exponent: float = 1.0,
        update: Update = "reward-penalty",
        climb: Climb = "always",
        schedule: Schedule = "deadline",
        capacity: float = 1.0,
    ) -> None:
        require_generator("htraa", generator)
        require_whole("htraa", "resolution", resolution, 2, _LARGEST_RESOLUTION)
        _require_within("growth", growth, 1, _LARGEST_GROWTH)
        _require_within("exponent", exponent, *_EXPONENTS)
        require_choice("htraa", "update", update, get_args(Update))
        require_choice("htraa", "climb", climb, get_args(Climb))
        require_choice("htraa", "schedule", schedule, get_args(Schedule))
        require_positive("htraa", "capacity", capacity)
        shared = np.zeros(1, HTRAA_SHARED)
        shared["whole"] = resolution + 1
        shared["growth"], shared["exponent"] = growth, exponent
        shared["climbs_always"] = climb == "always"
        shared["moves_on_reward"] = update != "inaction-penalty"
        shared["moves_on_penalty"] = update != "reward-inaction"
        shared["by_deadline"] = schedule == "deadline"
        shared["capacity"] = capacity
        nodes, occupants = empty_tree(1, shared)
        self._state = HTRAAState(
            pages=np.zeros(0, HTRAA_PAGE),
            shared=shared,
            nodes=nodes,
            occupants=occupants,
            held=np.zeros(1, HEAP),
            generator=generator,
        )

    def amounts(self) -> NDArray[np.float64]:
        """The amounts by page id up to the largest, 0 for ids that no page has.

        They add up to the capacity, unless there is no page.
        """
        page_ids = all_watched(self._state.pages)
        return amounts_of(self._state)[: page_ids.max(initial=-1) + 1]

    def _enter(self, pages: Sequence[Page], page_ids: NDArray[np.int64]) -> None:
        self._state.pages["polled_at"][page_ids] = seen_at(pages)
        watched_before, count = int(self._state.nodes["pages"][1]), len(page_ids)
        if watched_before == 0:
            room = 1 << (count - 1).bit_length()
            self._plant(*empty_tree(room, self._state.shared))
            slots = np.arange(count) * room // count
        else:
            self._make_room(watched_before + count)
            slots = np.full(count, -1)
        add_pages(self._state, page_ids, slots)

    def _remove(self, page_ids: NDArray[np.int64]) -> None:
        remove_pages(self._state, page_ids)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """The latest polls, the places in the tree, and the tree; see `Policy`."""
        state = self._state
        ids = watched(page_ids, state.pages)
        learned: StateDict = {
            "page_ids": ids,
            "page.polled_at": state.pages["polled_at"][ids],
            "page.slot": state.pages["slot"][ids],
        }
        for name in _SCALE:
            learned[f"htraa.{name}"] = state.shared[name].copy()
        for name in _TREE:
            learned[f"htraa.{name}"] = state.nodes[name][: len(state.occupants)].copy()
        return learned

    def load_state_dict(self, state: StateDict) -> None:
        """Put learned state back; `StateError` if it does not fit.

        Pages that it does not know take the slots that are left, with what the nodes above have
        learned.
        """
        self._check_learned(state)
        nodes, occupants = empty_tree(len(state["htraa.state"]), self._state.shared)
        for name in _TREE:
            nodes[name][: len(occupants)] = state[f"htraa.{name}"]
        pages = self._state.pages
        everyone = all_watched(pages)
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
        put_back(
            self._state,
            np.concatenate([ids, others]),
            np.concatenate([slots, np.full(len(others), -1)]),
        )

    def _check_learned(self, state: StateDict) -> None:
        """`StateError` unless it is the learned state of such a policy."""
        tree = [state[name] for name in (f"htraa.{field}" for field in _TREE) if name in state]
        slots = tree[0].size if tree else 1
        expected = self.state_dict([])
        for name in _TREE:
            expected[f"htraa.{name}"] = np.zeros(slots, np.int32)
        check_state(state, expected)
        theirs, ours = (_scale_in_words(each) for each in (state, expected))
        if theirs != ours:
            raise StateError(
                f"the learned state is of {theirs}, this policy of {ours}; load it into a policy of"
                f" {theirs}"
            )
        if slots & (slots - 1) or not slots or not self._holds(*tree):
            raise StateError(
                f"the learned tree of {slots} slots is damaged: slots must be a power of two,"
                " states from 0 to the resolution and 1, credits no larger than shares can be;"
                " go back to a copy of it"
            )

    def _holds(self, states: NDArray[Any], credits: NDArray[Any]) -> bool:
        """Whether automata can be in such states."""
        shared = self._state.shared
        whole = empty_tree(len(states), shared)[0]["whole"][: len(states)].astype(np.int64)
        most = whole if shared["exponent"][0] == 1.0 else FINE_UNITS
        sound = (states >= 0) & (states <= whole) & (np.abs(credits.astype(np.int64)) <= most)
        return bool(sound.all())

    def _plant(self, nodes: NDArray[Any], occupants: NDArray[np.int64]) -> None:
        """Put another tree, without pages, in the place of the one there is."""
        self._state = self._state._replace(nodes=nodes, occupants=occupants)

    def _make_room(self, pages: int) -> None:
        """Double the tree until it has slots for so many pages."""
        while len(self._state.occupants) < pages:
            self._state = doubled(self._state)


def _scale_in_words(state: StateDict) -> str:
    whole, growth, exponent = (state[f"htraa.{name}"].item() for name in _SCALE)
    return f"resolution {whole - 1:g}, growth {growth:g} and exponent {exponent:g}"


def _require_within(name: str, value: float, least: float, most: float) -> None:
    within = is_real(value) and least <= value <= most
    require(f"htraa: {name}", value, within, f"a number from {least:g} to {most:g}")


def _is_first(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which elements are the first of their value."""
    first = np.zeros(len(values), np.bool_)
    first[np.unique(values, return_index=True)[1]] = True
    return first
