"""The index policy that learns how often items appear at a source, their worth, and how they fade.

Items appear at a source at rate Λ with mean value ξ, which fades at rate μ: e^(-μ age) of it is
left when an item is fetched. How polls tell these three:

- The number N of items in the time T that polls covered: Λ ~ Gamma(aφ + N, aφ/Λ₀ + T), φ being
  the size of the batches that items come in (the dispersion of the numbers).
- The values v of n items, all but very old ones. If μ were known, each v/f would be a sample of
  the initial value, f being the share that is left: f = e^(-μ age) of an item whose age is told,
  or its mean over the wait τ before the poll, f = (1 - e^(-μτ))/(μτ). For each μ of a lattice a
  source keeps B = Σ v/f and L = -Σ ln f; taking initial values as exponential, and m items of the
  usual value ξ₀ as seen before,

      P(μ) ∝ prior(μ) e^L (mξ₀ + B)^-(1 + m + n),    E[ξ | μ] = (mξ₀ + B)/(m + n)

Ages make decay and value easy to tell apart: one poll of many items shows the whole curve, while
without ages waits of several lengths are needed. How the number of items grows with the wait is not
used: the hour of the day could be mistaken for fading.

The index is the posterior mean of the continuous one, E[Λ] Σ P(μ) (E[ξ|μ]/μ) [1 - e^(-μτ)(1 + μτ)];
the priors are fitted to all sources (empirical Bayes): Λ₀, ξ₀, and a, as 1/a is the variance of Λ
between sources in units of Λ₀².

A source is taken to be better than it looks by what a poll of it may teach: where waits are longer
than items live, no index grows any more, and a source that looked bad once would never be polled
again. Λξ has the relative variance v = 1/(a + N/φ) + 1/(m + n), and the next poll brings b batches;
with s = R v b, if it teaches for R polls, E[Λξ] is raised by the share √v ψ(s), as in the Gittins
index of a normal mean.

Sources: the index is that of Avrachenkov and Borkar, "Whittle index policy for crawling ephemeral
content", 2015, who leave learning to future work; ψ is that of Chick and Gans, "Economic analysis
of simulation selection problems", Management Science 55, 2009; `docs/theory.md` has the derivation.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError
from pollwise.objectives import Detection
from pollwise.policies.arrays import check_state, known_rows, watched
from pollwise.policies.index.source_queue import LATER, SourceQueue
from pollwise.types import Observation, Outcome, Page, Selection, StateDict

__all__ = ["EphemeralIndex", "SourceEstimate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_DECAYS = 2.0 ** (np.arange(-120, 16) / 4)
"""Lattice of decays per second, where nothing is known: from one in 34 years to eleven a second."""
_FIRST_SHAPE = 4.0  # a, of the gamma prior of rates, in batches
_SHAPES = (0.125, 20.0)  # its bounds, where sources are very unlike or alike
_VALUE_ITEMS = 30.0  # m: values are skewed, and few of them say little
_PSEUDO_SOURCES = 8.0  # what the base prior of the decays, and the first a, count as
_LIFETIMES = 4.0  # items older than so many 1/μ are worth nothing, and tell little of μ
_MOST_LOST = 300.0  # -ln f of items that a decay would make worth nothing, so that v/f is finite
_HORIZON = 30.0  # R: sources change; with more, those that stay as they are are tried for too long
_LEAST_SCALED, _MOST_SCALED = 1e-12, 100.0
_REFIT = 1.25  # the priors are fitted again when so many times as many polls were learned from
_SUMS = ("time", "items", "valued", "faded", "worth")
_LEARNED = ("clock", "spread", "rate", "shape", "value", "prior")

_two_or_more = Detection().shape


@dataclass(frozen=True, slots=True)
class SourceEstimate:
    """What is thought of a source: posterior means.

    `arrival_rate` Λ is in items per second, `value` ξ that of an item when it appears, `decay` μ
    per second. `polls` are those that told something.
    """

    arrival_rate: float
    value: float
    decay: float
    polls: int


class EphemeralIndex:
    """Polls the source of the largest expected index; learns from the items that polls bring.

    `decay` is that of the value, per second, if it is known (ln 2 / half-life); None: it is
    learned. `epoch` is the time between two chances to poll, in seconds, if that is not short
    compared with the time in which items fade. `memory` is the number of polls of a source after
    which older ones count a third, as sources change their habits.

    A poll that tells only the number of items is taken to bring items that were worth 1 when they
    appeared; one that tells only that something changed, as many as are to be expected.

    >>> from pollwise.types import Item
    >>> policy = EphemeralIndex(decay=0.05)
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
        self, *, decay: float | None = None, epoch: float = 0.0, memory: float = 300.0
    ) -> None:
        if decay is not None and not 0 < decay < math.inf:
            raise InputError(f"ephemeral-index: decay={decay!r} must be finite and above 0")
        if not 0 <= epoch < math.inf:
            raise InputError(f"ephemeral-index: epoch={epoch!r} must be finite and at least 0")
        if not memory >= 1:
            raise InputError(f"ephemeral-index: memory={memory!r} must be at least 1 poll")
        self._decays = _DECAYS if decay is None else np.array([decay])
        self._base = np.full(len(self._decays), 1 / len(self._decays))
        self._shift = epoch / 2
        self._is_exact = decay is not None and epoch == 0.0
        self._memory = memory
        size = len(self._decays)
        self._source = np.dtype(
            [
                ("where", "i8"),
                ("weight", "f8"),
                ("hope", "f8"),  # by what factor it is taken to be better than it looks
                ("polls", "i8"),
                ("time", "f8"),  # T
                ("items", "f8"),  # N
                ("valued", "f8"),  # n
                ("faded", "f8", (size,)),  # L
                ("worth", "f8", (size,)),  # B
            ]
        )
        self._sources = np.zeros(0, self._source)
        self._common: dict[str, Floats] = {
            "clock": np.zeros(3),  # polls learned from, their waits, polls at the next fit
            "spread": np.ones(2),  # squared errors of the numbers of items, and these numbers
            "rate": np.ones(1),  # Λ₀, the mean Λ of the sources
            "shape": np.full(1, _FIRST_SHAPE),  # a
            "value": np.ones(1),  # ξ₀
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
        if not self._is_exact:
            self._set_indices(ids, elapsed)
        self._queue.put_back(ids, elapsed, self._sources["polls"][ids])
        return self._queue.select(now, limit)

    def observe(self, observations: Sequence[Observation]) -> None:
        """Learn from polls and end the leases of their pages."""
        for seen in observations:
            ids = watched([seen.page_id], self._sources)
            if len(ids):
                elapsed = seen.polled_at - self._queue.state.pages["seen_at"][seen.page_id]
                if elapsed > 0 and seen.outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
                    self._learn(seen, elapsed)
                self._reckon(ids)  # in any case: it may have come first as it had waited for long
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
        chances, values, rates = self._posterior(ids)
        return SourceEstimate(
            arrival_rate=float(rates[0]),
            value=float(chances[0] @ values[0]),
            decay=float(chances[0] @ self._decays),
            polls=int(self._sources[page_id]["polls"]),
        )

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """What was learned; see `Policy`."""
        queued = self._queue.state_dict(page_ids)
        ids = queued["page_ids"]
        learned: StateDict = {_stored_name(name): array for name, array in queued.items()}
        for name in _SUMS:
            learned[f"page.{name}"] = self._sources[name][ids]
        learned["page.learned"] = self._sources["polls"][ids]
        for name in _LEARNED:
            learned[f"sources.{name}"] = self._common[name].copy()
        return learned

    def upgraded(self, state: StateDict) -> StateDict:
        """Learned state of version 0.21, which took a for known; see `Upgrading`."""
        if {*self.state_dict([])} - {*state} != {"sources.shape"}:
            return state
        return {"sources.shape": np.full(1, _FIRST_SHAPE), **state}

    def load_state_dict(self, state: StateDict) -> None:
        """Put learned state back; `StateError` if it does not fit."""
        check_state(state, self.state_dict([]))
        ids, rows = known_rows(state, self._sources)
        for name in _SUMS:
            self._sources[name][ids] = state[f"page.{name}"][rows]
        self._sources["polls"][ids] = state["page.learned"][rows]
        for name in _LEARNED:
            self._common[name][:] = state[f"sources.{name}"]
        self._reckon(np.flatnonzero(self._sources["where"]))
        expected = self._queue.state_dict([])
        self._queue.load_state_dict({name: state[_stored_name(name)] for name in expected})

    def _learn(self, seen: Observation, elapsed: float) -> None:
        """Take in what a poll brought that covered `elapsed` seconds."""
        own = self._sources[seen.page_id]
        for name in _SUMS:
            own[name] *= 1 - 1 / self._memory
        if seen.items is None:
            count = self._count(seen, own, elapsed)
            own["valued"] += count
            own["worth"] += count
        else:
            count = len(seen.items)
            self._learn_values(own, seen, elapsed)
        if own["time"] > 0:
            # Beside what the source brought before, whatever is thought of it, with the variance of
            # that difference: a wrong prior makes no batches.
            whole = own["time"] + elapsed
            expected = (own["items"] + count) * elapsed / whole
            square = (count - expected) ** 2 * whole / own["time"]
            self._common["spread"] += square, expected
        own["time"] += elapsed
        own["items"] += count
        own["polls"] += 1
        self._common["clock"][:2] += 1, elapsed

    def _learn_values(self, own: Any, seen: Observation, elapsed: float) -> None:
        """Take in the values of the items of a poll."""
        items = seen.items or ()
        values = np.array([item.value for item in items])
        born = [math.nan if item.published_at is None else item.published_at for item in items]
        ages = np.clip(seen.polled_at - np.array(born), 0.0, elapsed)
        decay = self.estimate(seen.page_id).decay if own["valued"] > 0 else 0.0
        told = ~(ages * decay > _LIFETIMES)
        values, ages = values[told], ages[told]
        lost = np.multiply.outer(self._decays, ages)  # -ln f
        scaled = self._decays * elapsed
        over_wait = -np.log(-np.expm1(-scaled) / scaled)
        lost = np.minimum(np.where(np.isnan(lost), over_wait[:, None], lost), _MOST_LOST)
        own["valued"] += len(values)
        own["faded"] += lost.sum(axis=1)
        own["worth"] += np.exp(lost) @ values

    @staticmethod
    def _count(seen: Observation, own: Any, elapsed: float) -> float:
        """How many items a poll brought that does not list them."""
        if seen.n_items is not None:
            return float(seen.n_items)
        if seen.outcome == Outcome.UNCHANGED:
            return 0.0
        mean = elapsed * float(own["items"] + 1.0) / (float(own["time"]) + elapsed)
        return float(mean / -np.expm1(-mean))

    def _posterior(self, ids: Ints) -> tuple[Floats, Floats, Floats]:
        """P(μ), E[ξ | μ] and E[Λ], with a row for each source."""
        own, mean = self._sources[ids], self._common["value"][0]
        worth = _VALUE_ITEMS * mean + own["worth"]
        count = (_VALUE_ITEMS + own["valued"])[:, None]
        logs = np.log(self._common["prior"]) + own["faded"] - (1 + count) * np.log(worth)
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        return chances, worth / count, self._rates(ids)

    def _rates(self, ids: Ints) -> Floats:
        """E[Λ]; where items come in batches, each batch says as much as a single item would."""
        batch = self._batch
        time = self._common["shape"][0] * batch / self._common["rate"][0]
        rates = self._batches(ids) * batch / (time + self._sources["time"][ids])
        return np.asarray(rates, np.float64)

    @property
    def _batch(self) -> float:
        """The number of items in a batch."""
        squares, counts = self._common["spread"]
        return max(float(squares / counts), 1.0)

    def _batches(self, ids: Ints) -> Floats:
        """How many batches the rates of sources are known from, those of the prior included."""
        known = self._common["shape"][0] + self._sources["items"][ids] / self._batch
        return np.asarray(known, np.float64)

    def _reckon(self, ids: Ints) -> None:
        """Give the queue the indices of sources, for their mean waits with a usual one beside."""
        polls, waits = self._common["clock"][:2]
        usual = waits / polls if polls > 0 else 1.0
        counted = np.minimum(self._sources["polls"][ids], self._memory)
        times = (self._sources["time"][ids] + usual) / (counted + 1.0)
        variances = 1 / self._batches(ids) + 1 / (_VALUE_ITEMS + self._sources["valued"][ids])
        told = self._rates(ids) * times / self._batch
        bonus = np.sqrt(variances) * _bonus(variances * told * _HORIZON)
        self._sources["hope"][ids] = 1 + bonus
        self._set_indices(ids, times)

    def _set_indices(self, ids: Ints, times: Floats) -> None:
        """Give the queue the indices of sources: exact after `times` and after four times that.

        Of a known decay, always exact.
        """
        if not len(ids):
            return
        chances, values, rates = self._posterior(ids)
        weights = self._sources["weight"][ids] * self._sources["hope"][ids]
        height = (rates * weights)[:, None] * chances * values / self._decays
        if self._is_exact:
            self._queue.set_exactly(ids, height[:, 0], float(self._decays[0]))
            return
        indices = [
            (height * _two_or_more(self._decays * (wait + self._shift)[:, None])).sum(axis=1)
            for wait in (times, LATER * times)
        ]
        self._queue.set_indices(ids, times, *indices)

    def _fit(self) -> None:
        """Fit the prior anew to all sources, and set all indices by it."""
        learned = np.flatnonzero((self._sources["where"] == 1) & (self._sources["polls"] > 0))
        if not len(learned):
            return
        chances, values, rates = self._posterior(learned)
        mean = rates.mean()
        variances = ((rates - mean) ** 2 + rates**2 / self._batches(learned)) / mean**2
        varied = _PSEUDO_SOURCES / _FIRST_SHAPE + variances.sum()
        shape = (_PSEUDO_SOURCES + len(learned)) / varied
        self._common["shape"][:] = np.clip(shape, *_SHAPES)
        self._common["rate"][:] = mean
        self._common["value"][:] = np.average((chances * values).sum(axis=1), weights=rates)
        weights = _PSEUDO_SOURCES * self._base + chances.sum(axis=0)
        self._common["prior"][:] = weights / weights.sum()
        self._reckon(np.flatnonzero(self._sources["where"]))


def _stored_name(name: str) -> str:
    """The name in learned state of an array of the queue."""
    return name if name.startswith("page") else f"queue.{name}"


def _bonus(scaled: Floats) -> Floats:
    """ψ(s), the Gittins index of a normal mean of variance 1; beyond `_MOST_SCALED` it is kept.

    There a single poll tells so much that the index of polls is less than that of their limit, a
    Brownian motion, which is approximated.
    """
    scaled = np.clip(scaled, _LEAST_SCALED, _MOST_SCALED)
    logs = np.log(scaled)
    middle = np.exp(-0.02645 * logs**2 + 0.39106 * logs - 0.4873)
    return np.asarray(np.where(scaled <= 1 / 7, np.sqrt(scaled / 2), middle), np.float64)
