"""The Learning Automata Knapsack Game: a team of automata that shares out the polls.

The problem is the stochastic nonlinear equality fractional knapsack: page i in the amount x_i pays
1 at a poll with an unknown probability, which falls as x_i grows; the amounts fill a knapsack of
given capacity, and the best mixture is the one at which all pages pay equally often. For web
polling that probability is 1 - q_i^(1/x_i), with q_i the probability of no change in a step, and
the best x_i are in proportion to -ln q_i.

Every page has an automaton with the states s = 1 ... N, and s stands for the amount (s/N)^λ. Pages
are polled at frequencies in proportion to their amounts. Where a poll finds a change while the
knapsack is not full (Σ x < c), the automaton moves up to s + 1; where it finds none while the
knapsack is full (Σ x >= c), down to s - 1; else, and at the ends of the scale, it stays.

Source: O.-C. Granmo, B. J. Oommen, S. A. Myrer, M. G. Olsen, "Determining optimal polling frequency
using a learning automata-based solution to the fractional knapsack problem", IEEE Conferences on
Cybernetics and Intelligent Systems (CIS) and Robotics, Automation and Mechatronics (RAM), 2006,
section II. It has the configurations [N, λ] = [1500, 1.3], [2500, 1.3] and [5000, 1.2]. A larger N
learns more slowly and more exactly.
"""

import math
import sys
from collections.abc import Sequence

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
from pollwise.errors import InputError, StateError
from pollwise.policies.arrays import all_watched, check_state, known_rows, seen_at, watched
from pollwise.policies.automata.lakg_kernels import (
    LAKG_PAGE,
    LAKG_SHARED,
    LAKGState,
    add_pages,
    amount_table,
    remove_pages,
    restore_pages,
)
from pollwise.policies.base import StateDict
from pollwise.policies.compiled import CompiledPolicy
from pollwise.policies.structures.tournament import empty_tournament, grown_tournament
from pollwise.types import Page

__all__ = ["LAKG"]

_SCHEDULES = ("deadline", "period", "random")
_LARGEST_RESOLUTION = 10**7

_TIE = 1e-9
"""The share of the capacity that a full knapsack may lack, since amounts are rounded."""


class LAKG(CompiledPolicy):
    """Polls pages in proportion to the amounts that their learning automata offer.

    `resolution` N, from 2 to 10⁷, is the number of states of an automaton, `exponent` λ >= 0 makes
    the steps between small amounts finer, `capacity` c > 0 is what the amounts are to add up to; no
    page takes more than 1. For n pages the smallest amount, N^-λ, should be well below c/n, because
    all pages have at least that; if it is not below, nothing can be learned.

    A page enters with the amount nearest to c/n, where n counts the pages added so far and the
    batch that it comes with. The first copy of a page teaches nothing. It never waits: it shares
    out all polls that it is asked for; weights and costs of pages play no part.

    `schedule` "deadline" spreads the polls of a page evenly, and makes up for late ones; "period"
    makes up for none: the turn of a page is c/x polls after its latest poll; "random" draws the
    page of every poll with a probability in proportion to its amount, from `generator`. All give
    pages without a copy first, in the order of adding. Each is a way to access pages "with
    frequencies proportional to" the amounts: "random" is the paper's, "deadline" has less variance,
    and "period" gets what S. Glimsdal prints of LAKG ("Efficient Gaussian process based optimistic
    knapsack sampling", 2013).

    `state_dict` has the amounts, not the states, so that they can be put into automata of another
    resolution. The position of `generator` is not part of it.

    `InputError` for arguments that are not as above, and from `add` if the pages, at most 1 each,
    could not fill the knapsack, or if the smallest amounts fill it.

    >>> from pollwise.types import Observation, Outcome
    >>> policy = LAKG(resolution=100)
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> for now in range(1, 201):
    ...     (page_id,) = policy.select(now, limit=1).page_ids.tolist()
    ...     outcome = Outcome.CHANGED if page_id == 1 else Outcome.UNCHANGED
    ...     policy.observe([Observation(page_id, now, outcome)])
    >>> policy.amounts().round(2)
    array([0.08, 0.92])
    """

    def __init__(
        self,
        *,
        resolution: int = 1500,
        exponent: float = 1.3,
        capacity: float = 1.0,
        schedule: str = "deadline",
        generator: np.random.Generator | None = None,
    ) -> None:
        require_whole("lakg", "resolution", resolution, 2, _LARGEST_RESOLUTION)
        holds = is_real(exponent) and 0 <= exponent < math.inf
        require("lakg: exponent", exponent, holds, "a finite number, at least 0")
        require_positive("lakg", "capacity", capacity)
        require_choice("lakg", "schedule", schedule, _SCHEDULES)
        if schedule == "random" or generator is not None:
            require_generator("lakg", generator)
        self._capacity, self._exponent = float(capacity), float(exponent)
        shared = np.zeros(1, LAKG_SHARED)
        shared["full"] = self._capacity * (1.0 - _TIE)
        shared["step"] = 1.0 / self._capacity if schedule == "period" else 0.0
        self._state = LAKGState(
            pages=np.zeros(0, LAKG_PAGE),
            shared=shared,
            amounts=amount_table(int(resolution), self._exponent),
            queue=empty_tournament(1),
            held=empty_tournament(1),
            generator=generator if schedule == "random" else None,
        )

    def amounts(self) -> NDArray[np.float64]:
        """The amounts in the knapsack by page id up to the largest, 0 for ids that no page has."""
        pages = self._state.pages
        return self._state.amounts[pages["state"][: all_watched(pages).max(initial=-1) + 1]]

    def _enter(self, pages: Sequence[Page], page_ids: NDArray[np.int64]) -> None:
        count = int(self._state.shared["pages"][0]) + len(pages)
        self._check_room(count)
        (start,) = self._nearest(np.array([self._capacity / count])).tolist()
        add_pages(self._state, page_ids, seen_at(pages), start)

    def _remove(self, page_ids: NDArray[np.int64]) -> None:
        # What they had is free for the others.
        remove_pages(self._state, page_ids)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """The amounts, the times of the copies and the turns; see `Policy`."""
        pages = self._state.pages
        ids = watched(page_ids, pages)
        deadlines = pages["deadline"][ids]
        return {
            "page_ids": ids,
            "page.amount": self.amounts()[ids],
            "page.seen_at": pages["seen_at"][ids],
            # Before the first turn a deadline says when the page was added, which is not learned.
            "page.deadline": np.where(deadlines < 0.0, math.nan, deadlines),
            "lakg.clock": self._state.shared["clock"].copy(),
        }

    def load_state_dict(self, state: StateDict) -> None:
        """Put the learned amounts and the turns back; `StateError` if they do not fit."""
        self._check_learned(state)
        ids, rows = known_rows(state, self._state.pages)
        restore_pages(
            self._state,
            ids,
            self._nearest(state["page.amount"][rows].astype(np.float64)),
            state["page.seen_at"][rows].astype(np.float64),
            state["page.deadline"][rows].astype(np.float64),
            float(state["lakg.clock"].item()),
        )

    def _check_learned(self, state: StateDict) -> None:
        """`StateError` unless it is the learned state of such a policy."""
        check_state(state, self.state_dict([]))
        amounts = state["page.amount"].astype(np.float64)
        turns = np.append(state["page.deadline"], state["lakg.clock"]).astype(np.float64)
        sound = (turns >= 0) & (turns < math.inf)
        sound[:-1] |= np.isnan(turns[:-1])
        if not (sound.all() and ((amounts > 0) & (amounts <= 1)).all()):
            raise StateError(
                "the learned amounts and turns are damaged: amounts must be above 0 and at most 1,"
                " deadlines and the clock finite and at least 0; go back to a copy of them"
            )

    def _check_room(self, count: int) -> None:
        """`InputError` unless so many pages can share out the knapsack."""
        if self._capacity > count:
            raise InputError(
                f"lakg: capacity={self._capacity!r} is more than {count} page(s) can take, at most"
                " 1 each; add more pages at once, or give a capacity from 0 to their number"
            )
        amounts = self._state.amounts
        if self._exponent > 0 and count * amounts[1] >= self._state.shared["full"][0]:
            # With the smallest amount a quarter of the mean, there is something to be learned.
            power = math.log(4 * count / self._capacity) / self._exponent
            mend = "a larger exponent or capacity"
            if power < math.log(_LARGEST_RESOLUTION):
                mend = f"a higher one, such as {math.ceil(math.exp(power))}"
            raise InputError(
                f"lakg: resolution={len(amounts) - 1} is too low for {count} page(s): the smallest"
                f" amount, {amounts[1]:.3g} each, fills the capacity={self._capacity!r};"
                f" give {mend}"
            )

    def _nearest(self, amounts: NDArray[np.float64]) -> NDArray[np.int64]:
        """The states whose amounts are nearest to these."""
        table = self._state.amounts
        above = np.clip(np.searchsorted(table, amounts), 2, len(table) - 1)
        return above - (amounts - table[above - 1] <= table[above] - amounts)

    def _grow(self, pages: int, most: int = sys.maxsize) -> None:
        super()._grow(pages, most)
        queue, held, room = self._state.queue, self._state.held, len(self._state.pages)
        if room > len(queue) // 2:
            queue, held = grown_tournament(queue, room), grown_tournament(held, room)
            self._state = self._state._replace(queue=queue, held=held)
