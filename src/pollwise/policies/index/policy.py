"""What the policies that poll the page of the largest index have in common."""

import math
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.array_growth import enlarged
from pollwise.checks import require_shares, require_weight
from pollwise.numbering import Numbering
from pollwise.objectives import Objective
from pollwise.objectives import objective as objective_of
from pollwise.page_columns import PageColumns, as_columns, coded
from pollwise.policies.arrays import (
    HELD,
    LEASED,
    all_watched,
    check_sound,
    check_state,
    known_rows,
    watched,
)
from pollwise.policies.base import StateDict
from pollwise.policies.compiled import CompiledPolicy
from pollwise.policies.index.dates import FIRST_DATE_ODDS
from pollwise.policies.index.evidence import (
    IN_FULL,
    forget_evidence,
    take_evidence,
    tell_evidence,
)
from pollwise.policies.index.fields import sites_of
from pollwise.policies.index.groups import MOST_GROUPS, charge_group
from pollwise.policies.index.prior import FIRST_BURST_ODDS, base_prior, fast_hope, recount
from pollwise.policies.index.queue import (
    add_pages,
    best_of,
    copy_page,
    remove_pages,
    signal_page,
    weigh_page,
)
from pollwise.policies.index.state import (
    CALENDAR,
    EVIDENCE,
    FIRST_CLOCK_ODDS,
    INDEX_APART,
    INDEX_HOST,
    INDEX_KIND,
    INDEX_PAGE,
    INDEX_SHARED,
    INDEX_SITE,
    MOST_CHANGES,
    MOST_DATES,
    MOST_POLLS,
    ODDS_UNIT,
    SPELL_COUNT,
    SUMMARY,
    TICK_UNIT,
    IndexState,
)
from pollwise.policies.index.worth import clock_table, surge_kind
from pollwise.policies.structures.heap import (
    entries,
    heap_push,
    heap_remove,
    heap_update,
    no_heaps,
    time_of,
)
from pollwise.rates.excerpt import EXCERPT_COUNT, can_be_first, excerpts_of
from pollwise.rates.lattice import RATE_COUNT, TIMES, tabulate
from pollwise.rates.packed import unpacked
from pollwise.rates.posterior import changed_table, unchanged_table
from pollwise.types import Page

__all__ = ["IndexPolicy", "narrowed"]

Key = TypeVar("Key", bound=Hashable)

_FEW = 20
"""Pages that are numbered one by one."""
_PRICE = ("price", "polls")
_SHARED_LEARNED = (
    *_PRICE,
    "began_at",
    "selected_at",
    "gap",
    "gaps",
    "learned",
    "round_time",
    "prior",
    "spells",
    "burst_odds",
    "young_odds",
    "pull_odds",
    "compared",
    "finding",
    "recalibration",
    "signals",
    "true_signals",
)
_PAGE_LEARNED = (
    "changes",
    "reverts",
    "dates",
    "date_odds",
    "tick",
    "clock_odds",
    "burst_odds",
    "young",
)
_COUNTED = {"changes": "f4", "reverts": "f4", "dates": "i4"}
"""Numbers that are saved in another type than they are kept in."""
_UNITS = {"date_odds": ODDS_UNIT, "tick": TICK_UNIT, "clock_odds": ODDS_UNIT}
"""Fields that are kept in units of their own, and saved without."""
_SIGNAL_LEARNED = ("signal", "signalled_at", "signals", "true_signals")
_AT_FIRST: dict[str, Any] = {
    "clock_odds": round(FIRST_CLOCK_ODDS / ODDS_UNIT),
    "date_odds": round(FIRST_DATE_ODDS / ODDS_UNIT),
}
"""What is learned of a page before its first poll; the rest is 0."""
_FIRST_ROUNDS = 2.0
"""Polls of all pages after which pages that are added are later ones. The first are handed over as
their first copies come, which is sooner."""
_FIRST_SPELLS = 10.0
"""Pseudo-spells between changes, of any rate, that all pages begin with."""


@dataclass(frozen=True, slots=True)
class Learning:
    """How rates are learned; see `INDEX_SHARED`."""

    slow_is_hopeful: bool
    patience: float
    revert_worth: float


class IndexPolicy(CompiledPolicy):
    """Polls the page of the largest Whittle index; the subclasses say what is known of rates."""

    _two_heaps = "calendar"

    def __init__(self, *, objective: str | Objective, learning: Learning | None = None) -> None:
        """`learning`: how rates are learned; None: they are known."""
        self.objective = objective_of(objective)
        self._learning = learning is not None
        self._scopes = Numbering[str]()
        self._sites = Numbering[str]()
        self._kinds = Numbering[tuple[str, str]]()
        self._shares: dict[str, int] = {}
        """The numbers of the groups by their tags."""
        self._paused: set[int] = set()
        self._by_page = ("pages",) if self._learning else ("pages", "apart")
        self._state = _empty_state(self.objective, learning)

    def _known_rates(self, page_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The change rates of pages; only asked where rates are known."""
        raise NotImplementedError

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages; of those never polled, larger weights and older copies are tried first."""
        columns = as_columns(pages)
        if len(columns) <= 1:
            super().add(columns)
            return
        oldest_first = np.where(np.isnan(columns.seen_at), -math.inf, columns.seen_at)
        super().add(columns.at(np.lexsort((oldest_first, -columns.weights / columns.costs))))

    def _enter(self, pages: Sequence[Page], page_ids: NDArray[np.int64]) -> None:
        columns = as_columns(pages)
        terms = columns.terms
        scopes = _numbered(self._scopes, terms.numbers, lambda own: terms.distinct[own].scope)
        sites, kinds = self._site_numbers(columns)
        self._make_room()
        state = self._state
        state.pages["weight"][page_ids] = narrowed(columns.weights / columns.costs)
        groups = columns.terms.array(lambda terms: self._group(terms.tags), np.int64)
        state.pages["group"][page_ids] = groups
        state.pages["seen_at"][page_ids] = columns.seen_at
        state.pages["scope"][page_ids] = scopes
        state.pages["polls"][page_ids] = 0
        state.pages["spot"][page_ids] = -1
        state.kinds["site"][kinds[kinds >= 0]] = sites[kinds >= 0]
        state.pages["kind"][page_ids] = np.where(kinds >= 0, kinds, -2 - sites)
        if self._learning:
            for name in _PAGE_LEARNED:
                state.pages[name][page_ids] = _AT_FIRST.get(name, 0.0)
            has_copy = ~np.isnan(columns.seen_at)
            state.pages["spell"][page_ids] = np.where(has_copy, 0.0, self._late_since())
            state.shared["believed"] = -1
            state.pages["signalled"][page_ids] = 0
            state.apart[page_ids[page_ids < len(state.apart)]] = 0
        else:
            state.apart["rate"][page_ids] = self._known_rates(page_ids)
        add_pages(state, page_ids)
        paused = columns.terms.array(lambda terms: terms.paused, np.bool_)
        self.pause(page_ids[paused].tolist())

    def _late_since(self) -> float:
        """Since when pages are there that are added now, as kept; NaN: they are of the first."""
        common = self._state.shared[0]
        selected_at, round_time = common["selected_at"], common["pages"] * common["gap"]
        is_late = selected_at - common["began_at"] > _FIRST_ROUNDS * round_time
        return float(_kept_times(selected_at)) if is_late else math.nan

    def _grow(self, pages: int, most: int = sys.maxsize) -> None:
        super()._grow(pages, most)
        if self._learning:
            count = len(self._state.pages)
            self._state = self._state._replace(
                evidence=_with_room(self._state.evidence, min(count, IN_FULL), holder=-1),
                summaries=_with_room(self._state.summaries, count if count > IN_FULL else 0),
            )

    def _remove(self, page_ids: NDArray[np.int64]) -> None:
        self.resume(page_ids.tolist())  # as all that are counted out are there
        remove_pages(self._state, page_ids)
        if self._learning:
            forget_evidence(self._state, page_ids)

    def pause(self, page_ids: Sequence[int]) -> None:
        """Let pages take no part in rounds; see `Pausing`."""
        for page_id in watched(page_ids, self._state.pages).tolist():
            if page_id not in self._paused:
                self._paused.add(page_id)
                self._count(page_id, -1)

    def resume(self, page_ids: Sequence[int]) -> None:
        """Let pages take part in rounds again; see `Pausing`."""
        for page_id in self._paused.intersection(page_ids):
            self._paused.remove(page_id)
            self._count(page_id, 1)

    def _count(self, page_id: int, more: int) -> None:
        common = self._state.shared[0]
        common["pages"] += more
        common["group_pages"][self._state.pages["group"][page_id]] += more

    def block(self, scope: str, until: float) -> None:
        """Have `best_page` pass over all pages of a politeness scope before `until`."""
        number = self._scopes.take_up(scope)
        self._make_room()
        host = self._state.hosts[number : number + 1]
        host["blocked_until"] = np.maximum(host["blocked_until"], until)

    def host_price(self, scope: str) -> float | None:
        """The factor on the price of the polls of a scope that cannot keep up; None: it can."""
        number = self._scopes.get(scope)
        price = 1.0 if number is None else float(self._state.hosts["price"][number])
        return price if price > 1.0 else None

    def host_prices(self) -> dict[str, float]:
        """The factors on the price of all scopes that cannot keep up."""
        scopes = self._scopes.keys
        prices = self._state.hosts["price"]
        return {scopes[place]: float(prices[place]) for place in np.flatnonzero(prices > 1.0)}

    def load_host_prices(self, prices: Mapping[str, float]) -> None:
        """Put the factors back, before the pages are added: these wait for them."""
        for scope in prices:
            self._scopes.take_up(scope)
        self._make_room()
        for scope, price in prices.items():
            self._state.hosts["price"][self._scopes.take_up(scope)] = price

    def rest(self, page_id: int, until: float) -> None:
        """Keep a page that waits for its turn away until a time, whether its host is free or not.

        A page that is away already comes back no sooner; one that competes now goes on doing so.
        """
        state, own = self._state, self._state.pages[page_id]
        if own["where"] == CALENDAR:
            heap_remove(state.calendar, state.pages, page_id)
            own["where"] = HELD
            state.shared[0]["group_offered"][own["group"]] -= 1
            heap_push(state.calendar[::-1], state.pages, page_id, until)
        elif own["where"] == HELD:
            later = max(until, time_of(state.calendar[::-1], state.pages, page_id))
            heap_update(state.calendar[::-1], state.pages, page_id, later)

    @property
    def next_return(self) -> float:
        """When the first page comes back that is kept away; infinite: none is."""
        held = entries(self._state.calendar[::-1])
        return float(held["time"][0]) if len(held) else math.inf

    def best(self, page_ids: Sequence[int], now: float) -> int:
        """The page of the largest index, of these; see `Chooser`."""
        return int(best_of(self._state, np.array(page_ids, np.int64), float(now)))

    def weigh(self, page_ids: Sequence[int], weights: Sequence[float]) -> None:
        """Give pages other weights (per cost unit); unknown ids are ignored.

        `InputError`, with none of them given, for a weight that `add` refuses.
        """
        for page_id, weight in zip(page_ids, weights, strict=True):
            require_weight(f"weigh: page {page_id}: weight", weight)
        for page_id, weight in zip(page_ids, narrowed(weights), strict=True):
            if 0 <= page_id < len(self._state.pages):
                weigh_page(self._state, page_id, weight)

    def signal(self, page_ids: Sequence[int], at: float) -> None:
        """Somebody knew at a time that these pages had changed; unknown ids are ignored.

        It raises their index by what earlier signals have been worth. Without learning, and for
        the objective ephemeral, it does nothing.
        """
        if self._learning:
            self._make_room_for_signals()
            for page_id in watched(page_ids, self._state.pages).tolist():
                signal_page(self._state, page_id, at)

    def copied(self, page_ids: Sequence[int], at: float) -> None:
        """Copies were made at a time, without telling whether the pages had changed before.

        It teaches nothing and ends no lease. Unknown ids are ignored.
        """
        for page_id in watched(page_ids, self._state.pages).tolist():
            copy_page(self._state, page_id, at)

    def share_out(self, shares: Mapping[str, float], tags: Mapping[int, tuple[str, ...]]) -> None:
        """Give pages with these tags these shares of the budget (0 to 1), and the others the rest.

        `tags` are those of the pages that have any, by page id. A page with several such tags has
        the share of the first, in the order of `shares`. A share holds on average, in cost units,
        and as far as its pages can be polled; what they leave goes to the others. `InputError` for
        shares that `require_shares` refuses.
        """
        require_shares("shares", shares)
        prices = self.group_prices()
        self._shares = {tag: number for number, tag in enumerate(shares, 1)}
        common = self._state.shared[0]
        common["groups"] = len(shares) + 1 if shares else 0
        common["group_share"][: len(shares) + 1] = [
            max(1.0 - sum(shares.values()), 0.0),
            *shares.values(),
        ]
        common["group_price"] = 1.0
        self.load_group_prices(prices)
        self._state.pages["group"] = 0
        self.retag(tags)
        common["sweep_left"] = len(self._state.pages)

    def retag(self, tags: Mapping[int, tuple[str, ...]]) -> None:
        """Tell of other tags of pages, by page id; unknown ids are ignored."""
        pages, common = self._state.pages, self._state.shared[0]
        for page_id in watched(list(tags), pages).tolist():
            pages["group"][page_id] = self._group(tags[page_id])
        everyone = all_watched(pages)
        groups = pages["group"][everyone]
        offered = groups[~np.isin(pages["where"][everyone], (HELD, LEASED))]
        counted = groups[~np.isin(everyone, list(self._paused))]
        common["group_pages"] = np.bincount(counted, minlength=MOST_GROUPS)
        common["group_offered"] = np.bincount(offered, minlength=MOST_GROUPS)

    def spend(self, page_id: int, cost: float) -> None:
        """A poll of a page took so much of the budget; unknown ids are ignored."""
        if self._shares and len(watched([page_id], self._state.pages)):
            charge_group(self._state.shared, self._state.pages[page_id]["group"], float(cost))

    @property
    def price(self) -> float:
        """The price that the index of a page has to reach, but for those of its group and host."""
        return float(self._state.shared[0]["price"])

    def group_prices(self) -> dict[str, float]:
        """The prices of the groups with a share, by tag; that of the rest has an empty one."""
        prices = self._state.shared[0]["group_price"]
        return {tag: float(prices[number]) for tag, number in {"": 0, **self._shares}.items()}

    def load_group_prices(self, prices: Mapping[str, float]) -> None:
        """Put prices back; those of tags without a share are ignored."""
        common = self._state.shared[0]
        for tag, number in {"": 0, **self._shares}.items():
            common["group_price"][number] = prices.get(tag, 1.0)
        common["group_swept"] = common["group_price"]

    def _group(self, tags: Sequence[str]) -> int:
        """The number of the group whose share of the budget a page with these tags has."""
        numbers = (self._shares[tag] for tag in tags if tag in self._shares)
        return min(numbers, default=0)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """What was learned; see `Policy`."""
        state = self._state
        ids = watched(page_ids, state.pages)
        learned: StateDict = {
            "page_ids": ids,
            "page.seen_at": state.pages["seen_at"][ids],
            "page.polls": state.pages["polls"][ids].astype(np.int32),
        }
        for name in _SHARED_LEARNED:
            learned[name] = state.shared[name].copy()
        learned["objective"] = self._objective_identity.copy()
        if self._learning:
            for name in _PAGE_LEARNED:
                saved: NDArray[Any] = state.pages[name][ids]
                if name in _UNITS:
                    saved = (saved * _UNITS[name]).astype(np.float32)
                learned[f"page.{name}"] = saved.astype(_COUNTED.get(name, saved.dtype))
            learned.update(self._evidence(ids))
            seen_at, spell = learned["page.seen_at"], state.pages["spell"][ids]
            learned["page.spell_at"] = np.where(np.isnan(seen_at), spell, seen_at - spell)
            signals = self._signals(ids)
            for name in _SIGNAL_LEARNED:
                learned[f"page.{name}"] = signals[name]
            learned["page.signal"][state.pages["signalled"][ids] == 0] = 0.0
        return learned

    def upgraded(self, state: StateDict) -> StateDict:
        """Learned state of version 0.3, which had the likelihoods of all rates; see `Upgrading`."""
        expected = self.state_dict([])
        likelihoods = state.get("page.likelihood", np.empty(0))
        if {*state, "page.first_rate"} != {*expected} or likelihoods.shape[1:] != (RATE_COUNT,):
            return state
        codes, first = excerpts_of(unpacked(likelihoods))
        state = {**state, "page.likelihood": codes, "page.first_rate": first}
        return {name: array.astype(expected[name].dtype) for name, array in state.items()}

    def load_state_dict(self, state: StateDict) -> None:
        """Put learned state back; `StateError` if it does not fit or cannot be."""
        self._check_learned(state)
        ids, rows = known_rows(state, self._state.pages)
        # Leased and held pages stay so; the others wait at places that depend on what is learned.
        waiting = ids[~np.isin(self._state.pages["where"][ids], (HELD, LEASED))]
        everyone = all_watched(self._state.pages)
        remove_pages(self._state, waiting)
        self._state.pages["seen_at"][ids] = state["page.seen_at"][rows]
        self._state.pages["polls"][ids] = np.minimum(state["page.polls"][rows], MOST_POLLS)
        # Of another objective everything is of use but the price, which is in other units.
        same = np.array_equal(state["objective"], self._objective_identity)
        for name in _SHARED_LEARNED:
            if same or name not in _PRICE:
                self._state.shared[name] = state[name]
        self._state.shared["pseudo"] = 0.0  # what was made of the spells before is void
        if self._learning:
            # Version 0.9 counted further: of more changes than now, the same part were reverts.
            part = MOST_CHANGES / np.maximum(state["page.changes"][rows], MOST_CHANGES)
            for name in _PAGE_LEARNED:
                kept: NDArray[Any] = self._state.pages[name]
                saved: NDArray[Any] = state[f"page.{name}"][rows]
                if name in _COUNTED:
                    saved = np.minimum(saved * part, np.iinfo(kept.dtype).max)
                if name in _UNITS:
                    bounds = np.iinfo(kept.dtype)
                    saved = np.clip(np.rint(saved / _UNITS[name]), bounds.min, bounds.max)
                kept[ids] = saved
            take_evidence(
                self._state,
                ids,
                # As the kernel takes them, copied only if they are not so: they are large.
                np.require(state["page.likelihood"][rows], np.uint16, ["C", "W"]),
                np.require(state["page.first_rate"][rows], np.uint8, ["C", "W"]),
                np.require(state["page.spells"][rows], np.uint16, ["C", "W"]),
            )
            seen_at: NDArray[Any] = state["page.seen_at"][rows]
            spell_at = state["page.spell_at"][rows]
            # Versions 0.10 rounded the time when a page was added up as well: then it was later.
            lasted = np.maximum(seen_at - spell_at, 0.0)
            spell = np.where(np.isnan(seen_at), _kept_times(spell_at), lasted)
            self._state.pages["spell"][ids] = spell
            self._load_signals(ids, {name: state[f"page.{name}"][rows] for name in _SIGNAL_LEARNED})
            self._recount_signals(everyone)
            recount(self._state, everyone)
        add_pages(self._state, waiting)

    def _check_learned(self, state: StateDict) -> None:
        """`StateError` unless it may be what such a policy has learned."""
        check_state(state, self.state_dict([]))
        given: Mapping[str, NDArray[Any]] = state
        sound = {"number of polls": given["page.polls"] >= 0}
        if self._learning:
            sound["first rate"] = can_be_first(given["page.first_rate"])
            for name in _COUNTED:
                least = -MOST_DATES if name == "dates" else 0  # below 0: see INDEX_PAGE
                sound[f"number of {name}"] = given[f"page.{name}"] >= least
            for name in _UNITS:  # a whole number cannot be NaN
                sound[f"value of {name}"] = ~np.isnan(given[f"page.{name}"])
        check_sound("an index policy", sound)

    def _evidence(self, page_ids: NDArray[np.int64]) -> StateDict:
        """What was learned of the rates of pages."""
        count = len(page_ids)
        likelihoods = np.zeros((count, EXCERPT_COUNT), np.uint16)
        first_rates, spells = np.zeros(count, np.uint8), np.zeros((count, SPELL_COUNT), np.uint16)
        if count:  # else no kernel has to be loaded
            tell_evidence(self._state, page_ids, likelihoods, first_rates, spells)
        return {
            "page.likelihood": likelihoods,
            "page.first_rate": first_rates,
            "page.spells": spells,
        }

    def _signals(self, page_ids: NDArray[np.int64]) -> NDArray[Any]:
        """What is kept of the signals of pages."""
        told, signals = np.zeros(len(page_ids), INDEX_APART), self._state.apart
        has_room = page_ids < len(signals)
        told[has_room] = signals[page_ids[has_room]]
        return told

    def _load_signals(self, page_ids: NDArray[np.int64], saved: StateDict) -> None:
        """Put back what was known of the signals of pages."""
        pending: NDArray[Any] = saved["signal"]
        self._state.pages["signalled"][page_ids] = pending > 0.0
        if any(array.any() for array in saved.values()):
            self._make_room_for_signals()
        signals = self._state.apart
        has_room = page_ids < len(signals)
        for name, array in saved.items():
            signals[name][page_ids[has_room]] = array[has_room]

    def _make_room_for_signals(self) -> None:
        """Make room for signals of all pages: most policies are never told of any."""
        apart = _with_room(self._state.apart, len(self._state.pages))
        self._state = self._state._replace(apart=apart)

    def _recount_signals(self, page_ids: NDArray[np.int64]) -> None:
        """Sum the signals of sites up anew."""
        numbers, sites = sites_of(self._state, page_ids), self._state.sites
        signals = self._signals(page_ids[numbers >= 0])
        for name in ("signals", "true_signals"):
            sites[name] = np.bincount(numbers[numbers >= 0], signals[name], len(sites))

    @cached_property
    def _objective_identity(self) -> NDArray[np.float64]:
        """Numbers that tell objectives apart."""
        objective = self.objective
        return np.array([objective.power, objective.decay or 0.0, float(objective.shape(1.0))])

    def _site_numbers(self, pages: PageColumns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of the sites of pages, and of their kinds within these; -1: none."""
        names = coded(terms.site or terms.scope for terms in pages.terms.distinct)
        kinds = pages.kinds.distinct
        named = names.numbers[pages.terms.numbers].astype(np.int64)

        def kind_within(pair: int) -> tuple[str, str] | None:
            name, kind = names.distinct[pair // len(kinds)], kinds[pair % len(kinds)]
            return (name, kind) if name and kind else None

        sites = _numbered(self._sites, named, lambda own: names.distinct[own] or None)
        return sites, _numbered(self._kinds, named * len(kinds) + pages.kinds.numbers, kind_within)

    def _make_room(self) -> None:
        """Make room for all scopes, sites and kinds."""
        self._state = self._state._replace(
            hosts=_with_room(
                self._state.hosts,
                len(self._scopes),
                price=1.0,
                back_at=-math.inf,
                blocked_until=-math.inf,
            ),
            sites=_with_room(self._state.sites, len(self._sites), page=-1, first_date=math.nan),
            kinds=_with_room(self._state.kinds, len(self._kinds)),
        )


def narrowed(weights: ArrayLike) -> NDArray[np.float32]:
    """Weights in 32 bits: those too large or too small for these are the largest or smallest."""
    weights, most = np.asarray(weights, np.float64), np.finfo(np.float32)
    return np.clip(weights, np.where(weights > 0.0, most.tiny, 0.0), most.max).astype(np.float32)


def _kept_times(times: ArrayLike) -> NDArray[np.float32]:
    """Times in 32 bits, which are two minutes apart today: the latest that is no later."""
    exact = np.asarray(times, np.float64)
    nearest = exact.astype(np.float32)
    return np.where(nearest > exact, np.nextafter(nearest, np.float32(-math.inf)), nearest)


def _with_room(array: NDArray[Any], count: int, **fields: float) -> NDArray[Any]:
    """An array of at least `count` elements; new ones are zero but for these fields."""
    more = count - len(array)
    if more <= 0:
        return array
    grown = enlarged(array, more)
    for name, value in fields.items():
        grown[name][-more:] = value
    return grown


def _numbered(
    known: Numbering[Key], own: NDArray[Any], key_of: Callable[[int], Key | None]
) -> NDArray[np.int64]:
    """The numbers of pages by the keys of what each has of its `own`; -1: its key is None.

    New keys get the next numbers, in the order in which they come first.
    """
    if len(own) < _FEW:
        keys = map(key_of, own.tolist())
        told = [-1 if key is None else known.take_up(key) for key in keys]
        return np.array(told, np.int64)
    distinct, first, places = np.unique(own, return_index=True, return_inverse=True)
    numbers = np.full(len(distinct), -1, np.int64)
    for place in np.argsort(first).tolist():
        if (key := key_of(distinct.item(place))) is not None:
            numbers[place] = known.take_up(key)
    return numbers[places]


def _empty_state(objective: Objective, learning: Learning | None) -> IndexState:
    """The state without any page."""
    decay = objective.decay
    if decay is None:
        index_table = tabulate(lambda a: objective.shape(a) / a**objective.power)
        scale = TIMES**objective.power
    else:
        index_table = tabulate(lambda a: a**-objective.power)
        scale = TIMES**objective.power * objective.shape(decay * TIMES)
    shared = np.zeros(1, INDEX_SHARED)
    shared["scale"] = scale
    shared["began_at"] = shared["latest"] = shared["selected_at"] = math.nan
    shared["tables"] = [index_table, changed_table(), unchanged_table()]
    shared["patience"] = math.inf
    shared["believed"] = -1
    shared["prior"] = shared["base"] = base_prior(0.0)
    shared["group_price"] = shared["group_swept"] = 1.0
    if learning is not None:
        shared["learning"] = 1
        shared["tilt"] = 1.0 if learning.slow_is_hopeful else fast_hope(1.0, 0.0)
        shared["hope"] = 1.0
        shared["patience"] = learning.patience
        shared["slow_is_hopeful"] = learning.slow_is_hopeful
        shared["revert_worth"] = learning.revert_worth
        shared["surge_kind"] = surge_kind(objective)
        shared["spells"] = _FIRST_SPELLS * base_prior(0.0)
        shared["clock"], shared["late"] = clock_table(objective)
        shared["burst_odds"] = FIRST_BURST_ODDS
    return IndexState(
        pages=np.zeros(0, INDEX_PAGE),
        shared=shared,
        calendar=no_heaps(),
        hosts=np.zeros(0, INDEX_HOST),
        sites=np.zeros(0, INDEX_SITE),
        kinds=np.zeros(0, INDEX_KIND),
        apart=np.zeros(0, INDEX_APART),
        evidence=np.zeros(0, EVIDENCE),
        summaries=np.zeros(0, SUMMARY),
    )
