"""The index policy that learns how items appear at each source, what they are worth, how they fade.

Items appear at a source at rate Λ with mean value ξ; a share e^(-κ age) of it is left when they are
fetched. κ is the decay of the value and the rate at which items leave the list, taken together. So
the value V that polls brought is like a Poisson process: of intensity R e^(-κ age) by age, R = Λξ,
in units of φ = ΣV²/ΣV, the size of a typical item. For each κ of a lattice a source keeps

    E = Σ_polls (1 - e^(-κτ))/κ
    F = -κ Σ V age, where ages are told;  Σ_polls V ln[(1 - e^(-κτ))/κ], where they are not

which with R/φ ~ Gamma(a, b) give the posterior of κ and, given κ, that of R::

    P(κ) ∝ prior(κ) e^(F/φ) (b + E)^-(a + V/φ),    E[R | κ] = φ (a + V/φ)/(b + E)

The ages are what makes decay and rate easy to tell apart: one poll of many items shows the whole
curve, while totals say something about κ only after waits of several lengths.

The index is the posterior mean of the continuous one, Σ P(κ) (E[R|κ]/κ) [1 - e^(-κτ)(1 + κτ)]; the
prior, of the κ and of the mean of R, is fitted to all sources (empirical Bayes). A source of which
little is known is taken to be better than it looks: 1/(1 + n)² items more than were seen after n
polls.

Source: the index is that of Avrachenkov and Borkar, "Whittle index policy for crawling ephemeral
content", 2015, who leave learning to future work; `docs/theory.md` has the derivation.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError
from pollwise.objectives import Detection
from pollwise.policies.arrays import check_state, watched
from pollwise.policies.ephemeral_queue import LATER, SourceQueue
from pollwise.types import Observation, Outcome, Page, Selection, StateDict

__all__ = ["EphemeralIndex", "SourceEstimate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_DECAYS = 2.0 ** (np.arange(-60, 8) / 2)
"""Lattice of decays per second, where nothing is known: from one in 34 years to eleven a second."""
_FASTER = 2.0 ** (np.arange(24) / 2)
"""Lattice of decays in units of the known one: items may leave the list before they fade."""
_SHAPE = 0.5  # a, of the gamma prior: rates of sources differ by orders of magnitude
_PSEUDO_SOURCES = 8.0  # what the base prior of the decays counts as
_REFIT = 1.25  # the priors are fitted again when so many times as many polls were learned from
_SUMS = ("time", "items", "value", "square", "shape", "exposure")
_LEARNED = ("clock", "value", "square", "rate", "prior")

_two_or_more = Detection().shape


@dataclass(frozen=True, slots=True)
class SourceEstimate:
    """What is thought of a source: posterior means.

    `arrival_rate` Λ is in items per second, `value` ξ that of an item when it appears, `decay` κ
    per second (the fading, and the leaving of the list; items that left unseen are not among those
    of Λ). `polls` are those that told something.
    """

    arrival_rate: float
    value: float
    decay: float
    polls: int


class EphemeralIndex:
    """Polls the source of the largest expected index; learns from the items that polls bring.

    `decay` is that of the value, per second, if it is known (ln 2 / half-life); None: it is
    learned. `epoch` is the time between two chances to poll, in seconds, if that is not short
    against the time in which items fade. `memory` is the number of polls of a source after which
    what it was like has faded to a third, as sources change their habits.

    A poll that tells only the number of items is taken to bring items that were worth 1 when they
    appeared; one that tells only that something changed, as many as are to be expected.

    >>> from pollwise.types import Item
    >>> policy = EphemeralIndex()
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> for now in (10.0, 20.0, 30.0):
    ...     policy.observe([
    ...         Observation(0, now, Outcome.CHANGED, items=(Item(1.0, now - 2.0),)),
    ...         Observation(1, now, Outcome.CHANGED, items=(Item(5.0, now - 2.0),)),
    ...     ])
    >>> policy.select(now=40.0, limit=1).page_ids
    array([1])
    """

    def __init__(
        self, *, decay: float | None = None, epoch: float = 0.0, memory: float = 1000.0
    ) -> None:
        if decay is not None and not 0 < decay < math.inf:
            raise InputError(f"ephemeral-index: decay={decay!r} must be finite and above 0")
        if not 0 <= epoch < math.inf:
            raise InputError(f"ephemeral-index: epoch={epoch!r} must be finite and at least 0")
        if not memory >= 1:
            raise InputError(f"ephemeral-index: memory={memory!r} must be at least 1 poll")
        self._decays = _DECAYS if decay is None else decay * _FASTER
        base = np.ones(len(self._decays))
        if decay is not None:
            base[0] = base[1:].sum()  # as likely as not, no item leaves before it has faded
        self._base = base / base.sum()
        self._shift = epoch / 2
        self._kept = 1 - 1 / memory
        size = len(self._decays)
        self._source = np.dtype(
            [
                ("where", "i8"),
                ("weight", "f8"),
                ("polls", "i8"),
                ("time", "f8"),  # seconds that polls looked back upon
                ("items", "f8"),
                ("value", "f8"),  # V
                ("square", "f8"),  # ΣV²
                ("shape", "f8", (size,)),  # F
                ("exposure", "f8", (size,)),  # E
            ]
        )
        self._sources = np.zeros(0, self._source)
        self._common: dict[str, Floats] = {
            "clock": np.zeros(3),  # polls learned from, their waits, polls at the next fit
            "value": np.zeros(1),
            "square": np.zeros(1),
            "rate": np.ones(1),  # mean R of the sources
            "prior": self._base.copy(),
        }
        self._queue = SourceQueue()

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages."""
        self._queue.add(pages)
        room = len(self._queue.state.pages)
        if room > len(self._sources):
            more = np.zeros(room - len(self._sources), self._source)
            self._sources = np.append(self._sources, more)
        for page in pages:
            self._sources[page.id] = np.zeros((), self._source)
            self._sources[page.id]["weight"] = page.weight / page.cost
        ids = np.array([page.id for page in pages], np.int64)
        self._sources["where"][ids] = 1
        self._reckon(ids)

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        self._queue.discard(page_ids)
        self._sources["where"][watched(page_ids, self._sources)] = 0

    def select(self, now: float, limit: int) -> Selection:
        """The pages of the largest indices; they are leased."""
        ids, elapsed = self._queue.to_look_at(now)
        self._set_indices(ids, elapsed)
        self._queue.put_back(ids, elapsed)
        return self._queue.select(now, limit)

    def observe(self, observations: Sequence[Observation]) -> None:
        """Learn from polls and end the leases of their pages."""
        for seen in observations:
            ids = watched([seen.page_id], self._sources)
            told = seen.outcome in (Outcome.CHANGED, Outcome.UNCHANGED)
            if len(ids) and told:
                elapsed = seen.polled_at - self._queue.state.pages["seen_at"][seen.page_id]
                if elapsed > 0:
                    self._learn(seen, elapsed)
                    self._reckon(ids)
            self._queue.observe([seen])
        clock = self._common["clock"]
        if clock[0] > clock[2]:
            self._fit()
            clock[2] = _REFIT * clock[0]

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; they are not selected before `until`."""
        self._queue.defer(page_ids, until)

    def estimate(self, page_id: int) -> SourceEstimate:
        """What is thought of a source; `InputError` if it is not watched."""
        ids = watched([page_id], self._sources)
        if not len(ids):
            raise InputError(f"no page with the id {page_id} is watched")
        own = self._sources[page_id]
        (chances,), (rates,) = self._posterior(ids, optimism=0.0)
        worth = float(chances @ rates)
        prior_time = _SHAPE * float(self._size(ids)[0]) / worth
        arrivals = float(own["items"] + _SHAPE) / (float(own["time"]) + prior_time)
        return SourceEstimate(
            arrivals, worth / arrivals, float(chances @ self._decays), int(own["polls"])
        )

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """What was learned; see `Policy`."""
        queued = self._queue.state_dict(page_ids)
        ids = queued["page_ids"]
        learned: StateDict = {
            name if name.startswith("page") else f"queue.{name}": array
            for name, array in queued.items()
        }
        for name in _SUMS:
            learned[f"page.{name}"] = self._sources[name][ids]
        learned["page.learned"] = self._sources["polls"][ids]
        for name in _LEARNED:
            learned[f"sources.{name}"] = self._common[name].copy()
        return learned

    def load_state_dict(self, state: StateDict) -> None:
        """Put learned state back; `StateError` if it does not fit."""
        check_state(state, self.state_dict([]))
        ids, first = np.unique(state["page_ids"].astype(np.int64), return_index=True)
        known = np.isin(ids, watched(ids, self._sources))
        ids, rows = ids[known], first[known]
        for name in _SUMS:
            self._sources[name][ids] = state[f"page.{name}"][rows]
        self._sources["polls"][ids] = state["page.learned"][rows]
        for name in _LEARNED:
            self._common[name][:] = state[f"sources.{name}"]
        self._reckon(np.flatnonzero(self._sources["where"]))
        expected = self._queue.state_dict([])
        self._queue.load_state_dict(
            {name: state[name if name.startswith("page") else f"queue.{name}"] for name in expected}
        )

    def _learn(self, seen: Observation, elapsed: float) -> None:
        """Take in what a poll brought that looked back on `elapsed` seconds."""
        own = self._sources[seen.page_id]
        for name in _SUMS:
            own[name] *= self._kept
        kappa = self._decays
        reach = -np.expm1(-kappa * elapsed) / kappa
        if seen.items is None:
            # Of items that are counted only, nothing is known of what they have lost.
            count = self._count(seen, own, elapsed)
            values, own["exposure"] = np.ones(1), own["exposure"] + elapsed
            total = square = count
        else:
            count = len(seen.items)
            values = np.array([item.value for item in seen.items])
            born = (math.nan if i.published_at is None else i.published_at for i in seen.items)
            ages = np.clip(seen.polled_at - np.array(list(born)), 0.0, elapsed)
            aged = ~np.isnan(ages)
            own["shape"] -= kappa * float(values[aged] @ ages[aged])
            own["shape"] += np.log(reach) * float(values[~aged].sum())
            own["exposure"] += reach
            total, square = float(values.sum()), float(values @ values)
        own["time"] += elapsed
        own["items"] += count
        own["value"] += total
        own["square"] += square
        own["polls"] += 1
        self._common["value"] += total
        self._common["square"] += square
        self._common["clock"][:2] += 1, elapsed

    @staticmethod
    def _count(seen: Observation, own: Any, elapsed: float) -> float:
        """How many items a poll brought that does not tell them apart."""
        if seen.n_items is not None:
            return float(seen.n_items)
        if seen.outcome == Outcome.UNCHANGED:
            return 0.0
        mean = elapsed * float(own["items"] + 1.0) / (float(own["time"]) + elapsed)
        return float(mean / -np.expm1(-mean))

    def _size(self, ids: Ints) -> Floats:
        """φ of sources, that of all counting as one item."""
        value, square = self._common["value"][0], self._common["square"][0]
        common = square / value if value > 0 else 1.0
        own = self._sources[ids]
        return np.asarray((own["square"] + common**2) / (own["value"] + common), np.float64)

    def _posterior(self, ids: Ints, optimism: float = 1.0) -> tuple[Floats, Floats]:
        """P(κ) and E[R | κ] of sources, a row each."""
        own, size = self._sources[ids], self._size(ids)
        exposure = own["exposure"] + (_SHAPE * size / self._common["rate"])[:, None]
        count = _SHAPE + own["value"] / size
        with np.errstate(divide="ignore"):
            logs = np.log(self._common["prior"]) + own["shape"] / size[:, None]
        logs = logs - count[:, None] * np.log(exposure)
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        hoped = count + optimism / (1.0 + own["polls"]) ** 2
        return chances, (size * hoped)[:, None] / exposure

    def _reckon(self, ids: Ints) -> None:
        """Give the queue the indices of sources, for their usual waits."""
        polls, waits = self._common["clock"][:2]
        usual = waits / polls if polls > 0 else 1.0
        own = self._sources[ids]
        counted = np.minimum(own["polls"], 1 / (1 - self._kept))
        self._set_indices(ids, (own["time"] + usual) / (counted + 1.0))

    def _set_indices(self, ids: Ints, times: Floats) -> None:
        """Give the queue the indices of sources: exact after `times` and after four times that."""
        if not len(ids):
            return
        chances, rates = self._posterior(ids)
        height = chances * rates / self._decays * self._sources["weight"][ids][:, None]
        indices = [
            (height * _two_or_more(self._decays * (wait + self._shift)[:, None])).sum(axis=1)
            for wait in (times, LATER * times)
        ]
        self._queue.set_indices(ids, times, *indices)

    def _fit(self) -> None:
        """Fit the prior anew to all sources, and reckon with it."""
        learned = np.flatnonzero((self._sources["where"] == 1) & (self._sources["polls"] > 0))
        if not len(learned):
            return
        chances, rates = self._posterior(learned, optimism=0.0)
        self._common["rate"][:] = (chances * rates).sum(axis=1).mean()
        weights = _PSEUDO_SOURCES * self._base + chances.sum(axis=0)
        self._common["prior"][:] = weights / weights.sum()
        self._reckon(np.flatnonzero(self._sources["where"]))
