"""What the index policies learn from a poll: compiled functions on their state."""

import math
from typing import Any

import numpy as np

from pollwise.kernel_cache import kernel
from pollwise.policies.index.belief import form_belief, judge_bursts, note_copy, refresh_models
from pollwise.policies.index.clock import learn_clock, learn_tick, learn_window, ticks_since_change
from pollwise.policies.index.clock_share import count_clock, spoken_for_clock
from pollwise.policies.index.dates import (
    FOUND_LATE,
    LATELY,
    is_doubted,
    is_stamped,
    learn_date,
    learn_first_date,
    note_first_date,
    note_stamp,
)
from pollwise.policies.index.evidence import (
    keep_likelihood,
    keep_spells,
    likelihood_of_page,
    make_room,
    spells_of_page,
)
from pollwise.policies.index.fields import code_of_odds
from pollwise.policies.index.page_index import by_clock, ticks_since_copy
from pollwise.policies.index.prior import count_pages
from pollwise.policies.index.sites import note_change, note_poll
from pollwise.policies.index.state import (
    CHANGED_TABLE,
    LEAST_CLOCK_ODDS,
    MOST_CHANGES,
    MOST_POLLS,
    RATES_TOGETHER,
    SPELL_COUNT,
    UNCHANGED_TABLE,
    IndexState,
)
from pollwise.rates.lattice import RATE_COUNT, lattice_row, put, time_step
from pollwise.rates.posterior import (
    forget,
    learn_doubtful_poll,
    learn_last_change,
    learn_poll,
)
from pollwise.rates.sums import mean_over, normalise
from pollwise.types import Outcome
from pollwise.units import DAY

__all__ = ["learn", "operational_time"]

_CHANGED = int(Outcome.CHANGED)
_MEMORY = 200.0
"""Polls over which the share that finds a change is averaged."""
_LEAST_CHANCE = 1e-9
_STANDSTILL = np.float32(0.001)
"""The chance that a page stood still of which no change was found: its host, or whoever writes it,
was away. Without it a single such poll of a page that changes all the time says that it is slow;
with 0.01 forecasts of the delay of Poisson pages are 18 % too high, as against 14 %."""
_SEEDS_A_SECOND = 1024.0
"""Numbers are rounded by the time of the poll: pages of the same polls have the same rates."""


@kernel(allocates=False)
def operational_time(state: IndexState, page: int, now: float) -> float:
    """The seconds in which a page may have changed since its copy was made.

    The surge of its site is added; a page that changes by the clock has a day for each tick. The
    page is the one looked at last.
    """
    own, common = state.pages[page], state.shared[0]
    if by_clock(own, common):
        return max(ticks_since_copy(own, now) * DAY, 60.0)
    return now - own.seen_at + common.surge


@kernel(forceinline=True, allocates=False)
def _end_spell(state: IndexState, page: int, lasted: float, seed: int) -> None:
    """Count a spell that ended within `lasted` seconds after the copy was made.

    The models at hand are those of the page; its spells are its own ones afterwards.
    """
    common = state.shared[0]
    bursts = common.bursts
    ended = lattice_row(common.tables[CHANGED_TABLE], time_step(max(lasted, 1e-6)))
    for j in range(RATE_COUNT):
        bursts[j] *= ended[j]
    normalise(bursts)
    spells_of_page(state, page, common.own_spells)
    for n in range(SPELL_COUNT):
        own_spells = common.own_spells[n]
        for j in range(n * RATES_TOGETHER, (n + 1) * RATES_TOGETHER):
            own_spells += bursts[j]
            common.spells[j] += bursts[j]
        common.own_spells[n] = own_spells
    common.pseudo = 0.0
    keep_spells(state, page, common.own_spells, seed)


@kernel(forceinline=True)
def _learn_change(
    state: IndexState, page: int, polled_at: float, elapsed: float, dated: bool, told: float
) -> None:
    """Let the likelihood take in a change; `elapsed` is in operational time.

    After a signal its date says nothing: the poll came when it did because of the change.
    """
    own, common = state.pages[page], state.shared[0]
    unchanged = common.tables[UNCHANGED_TABLE]
    if own.signalled:
        # The change may be that of the signal, which says nothing of others.
        learn_doubtful_poll(common.likelihood, elapsed, common.tables[CHANGED_TABLE], common.signal)
    elif not dated:
        learn_poll(common.likelihood, elapsed, common.tables[CHANGED_TABLE])
    elif by_clock(own, common):
        learn_poll(common.likelihood, DAY, common.tables[CHANGED_TABLE])
        ticks = ticks_since_change(own, told, polled_at)
        if ticks > 0:
            learn_poll(common.likelihood, ticks * DAY, unchanged)
    else:
        since = polled_at - told
        untrue = learn_date(
            own, common.belief, since, elapsed, common.tables[CHANGED_TABLE], unchanged
        )
        learn_last_change(common.likelihood, since, unchanged, untrue)


@kernel
def _first_poll(state: IndexState, page: int, polled_at: float, dated: bool, told: float) -> None:
    """Take in the first copy: the page changed, was born or was deployed at the time told.

    A page that was added when others had been polled is young: perhaps it was born then.
    """
    own, common = state.pages[page], state.shared[0]
    own.young = not math.isnan(own.spell)
    note_copy(own, polled_at)
    since = polled_at - told
    if dated and since >= LATELY:
        if since > own.spell + FOUND_LATE:
            own.young = 0
        unchanged = common.tables[UNCHANGED_TABLE]
        if not note_first_date(state, own, since, told):
            learn_first_date(common.likelihood, own.young, since, unchanged)
        elif since > DAY:  # sooner, it may be that of a nightly rebuild
            learn_poll(common.likelihood, since, unchanged)
        learn_tick(own, told)
        own.spell = since
        common.learned += 1


@kernel(allocates=False)
def _count_change(own: Any, reverted: bool) -> None:
    """Count a change that a poll found."""
    if own.changes == MOST_CHANGES:
        own.changes //= 2
        own.reverts //= 2
    own.changes += 1
    own.reverts += reverted


@kernel(forceinline=True, allocates=False)
def learn(state: IndexState, observation: Any) -> None:
    """Take in a poll that tells something of a page, and make it the time of the copy."""
    page, polled_at = observation.page, observation.polled_at
    changed, last_changed_at = observation.outcome == _CHANGED, observation.last_changed_at
    own, common = state.pages[page], state.shared[0]
    first = math.isnan(own.seen_at)
    seed, spoken = int(polled_at * _SEEDS_A_SECOND), spoken_for_clock(own)
    make_room(state, page, seed)
    likelihood_of_page(state, page, common.likelihood)
    dated = (changed or first) and 0.0 <= polled_at - last_changed_at < math.inf
    dated = dated and not last_changed_at <= own.seen_at
    if is_stamped(state, own):
        dated = False
        if own.dates >= 0:
            own.clock_odds = code_of_odds(LEAST_CLOCK_ODDS)
    if first:
        _first_poll(state, page, polled_at, dated, last_changed_at)
    else:
        refresh_models(state, page)
        elapsed = operational_time(state, page, polled_at)
        if changed and by_clock(own, common):
            elapsed = max(elapsed, DAY)  # out of its window no part of a day has passed
        row, table = common.likely, CHANGED_TABLE if changed else UNCHANGED_TABLE
        put(row, lattice_row(common.tables[table], time_step(elapsed)))
        if changed and own.signalled:
            for j in range(RATE_COUNT):
                row[j] += common.signal * (np.float32(1.0) - row[j])
        better = max(mean_over(common.bursts, row), _LEAST_CHANCE)
        better /= max(mean_over(common.steady, row), _LEAST_CHANCE)
        judge_bursts(state, page, math.log(better))
        # What a poll after a signal finds says nothing of how pages change by themselves, together
        # or by the clock.
        unasked = not own.signalled
        if unasked and not by_clock(own, common):
            note_poll(state, page, polled_at - own.seen_at, changed)
        believed = changed and dated and not is_doubted(own)
        if unasked:
            learn_clock(state, page, polled_at, changed, last_changed_at if believed else math.nan)
        forget(common.likelihood)
        if changed:
            spell = last_changed_at - own.seen_at if believed else elapsed
            if unasked:
                _end_spell(state, page, spell, ~seed)
            _learn_change(state, page, polled_at, elapsed, dated, last_changed_at)
            _count_change(own, observation.reverted)
            own.young = 0
            # A change at the usual hour says nothing of others.
            if unasked and not by_clock(own, common):
                begin, end = own.seen_at, polled_at
                if believed:
                    begin = end = last_changed_at
                note_change(state, page, begin, end)
            if believed and unasked:
                learn_tick(own, last_changed_at)
            elif unasked and own.dates <= 0 and common.late:
                learn_window(own, own.seen_at, polled_at)
        else:
            learn_doubtful_poll(
                common.likelihood, elapsed, common.tables[UNCHANGED_TABLE], _STANDSTILL
            )
            note_stamp(state, own, polled_at, last_changed_at)
        note_copy(own, polled_at)
        if changed:
            own.spell = polled_at - last_changed_at if believed else 0.0
        own.polls = min(own.polls + 1, MOST_POLLS)
        common.learned += 1
        common.compared += 1
        common.finding += (changed - common.finding) / min(float(common.compared), _MEMORY)
    count_clock(state, page, spoken, spoken_for_clock(own))
    keep_likelihood(state, page, common.likelihood, seed)
    form_belief(state, page)
    count_pages(state)
