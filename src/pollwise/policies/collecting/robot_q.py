"""The request controller of the topic-specific robot, as published: Q-values of local states.

T. O'Meara, A. Patel: A topic-specific Web robot model based on restless bandits, IEEE Internet
Computing 5(2), 2001. Every document is a project of a restless bandit, and each request sets the
controls of all: 1 for the document requested, 2 for the others. The index of a document in the
local state x is ν = Q(x, 1) - Q(x, 2) (equation 9), and the highest is requested. Q-values begin at
zero, and are learned by equation 10. For a document i with the control u at time k::

    Q(x, u) := (1 - α) Q(x, u) + α (g + γ (Q(x', u') + Σ Q(y, v)))

x' and u' are the state and the control of i at time k + 1; the sum is over the documents that were
discovered by this request, in their states y and with their controls v at k + 1. The reward g is
that of equation 11: for a request, the relevance of a document retrieved for the first time, the
larger of the two relevances if it was modified, the last one if it was deleted; else 0. The local
state is the identity of the document responsible for the discovery (section "Experimental
Results").

The paper leaves open, and is taken to mean here:

*   whether a document is of the fringe, retrieved or gone belongs to its state (the control set
    has both of the former);
*   the documents that are known from the start have a state of their own;
*   ε-greedy (text after equation 8): a random document of all that could be requested. α and ε
    decrease from traversal to traversal, as 1/√n and as 1/n;
*   of equal indices, as of all documents with one discoverer, the document found first counts as
    the highest: the requests wait in a queue (section "Model Components");
*   γ = .5, α = .3 and ε = .02 at first: chosen on the graph on which the figures are shown, where
    little depends on them (`docs/reproduction.md`).

Each document that goes on waiting turns Q(x, 2) into Q(x, 2) (1 - α (1 - γ)) at each request. A
power of this is taken when the value is needed.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require_share
from pollwise.errors import InputError
from pollwise.policies.base import StateDict
from pollwise.policies.collecting.group_queue import FrontierPolicy
from pollwise.types import Links, Observation, Outcome, Page, Selection

__all__ = ["RobotQ"]

_NOBODY = -1
"""The discoverer of pages that no known link leads to, such as the seeds."""
_GONE = -2
"""The state of documents that were deleted."""
_NEGLIGIBLE = 1e-3
"""While Q(x, 2) is a smaller share of Q(x, 1), its fading is not followed."""


@dataclass(frozen=True, slots=True)
class _Result:
    """What a request brought: from which state, the reward, and the state afterwards."""

    page_id: int
    state: int
    reward: float
    after: int


class _Passive:
    """The documents with the control 2, by state."""

    def __init__(self) -> None:
        self.state: dict[int, int] = {}
        self.count: dict[int, int] = {}
        self._ids: list[int] = []
        self._place: dict[int, int] = {}

    def add(self, page_id: int, state: int) -> None:
        """Take up a document."""
        self.state[page_id] = state
        self.count[state] = self.count.get(state, 0) + 1
        self._place[page_id] = len(self._ids)
        self._ids.append(page_id)

    def remove(self, page_id: int) -> None:
        """Leave out a document that is there."""
        self.count[self.state.pop(page_id)] -= 1
        place, last = self._place.pop(page_id), self._ids.pop()
        if last != page_id:
            self._ids[place] = last
            self._place[last] = place

    def draw(self, generator: np.random.Generator) -> int:
        """Any document, all equally likely; there must be one."""
        return self._ids[generator.integers(len(self._ids))]


class RobotQ(FrontierPolicy):
    """Requests the document with the highest index of its local state.

    `discount` is γ, from 0 to below 1; `step` is α and `exploration` ε in the first traversal, from
    0 to 1. `ties` says which of the documents with the highest index comes first: the one that has
    been waiting longest ("oldest") or not long ("newest"), or "chance". `revisit` False: retrieved
    documents are requested again only if there is no other, longest ago first. `generator` is for
    chance.
    """

    def __init__(
        self,
        *,
        generator: np.random.Generator,
        revisit: bool = True,
        discount: float = 0.5,
        step: float = 0.3,
        exploration: float = 0.02,
        ties: str = "oldest",
    ) -> None:
        super().__init__("robot-q", generator, ties)
        for name, share in (("discount", discount), ("step", step), ("exploration", exploration)):
            require_share("robot-q", name, share)
        if discount == 1.0:
            raise InputError("robot-q: discount=1 makes sums infinite: give one below 1")
        self._generator = generator
        self._revisit = revisit
        self._discount, self._step, self._exploration = discount, step, exploration
        self._set_pace(1)
        self._q: dict[int, list[float]] = {}
        """Q(x, 1) and Q(x, 2), the latter as of the request `_settled_at`."""
        self._begin()

    def _set_pace(self, traversal: int) -> None:
        self._traversal = traversal
        self._alpha = self._step / math.sqrt(traversal)
        self._epsilon = self._exploration / traversal
        self._fading = 1.0 - self._alpha * (1.0 - self._discount)

    def _begin(self) -> None:
        self._requests = 0
        self._settled_at: dict[int, int] = {}
        self._passive = _Passive()
        self._coming: dict[int, None] = {}
        """Documents with the control 2 from the next request on."""
        self._results: list[_Result] = []
        self._found: dict[int, list[int]] = {}
        """The documents discovered since the latest request, by their discoverers."""
        self._relevance: dict[int, float] = {}
        """The last relevance of retrieved documents."""
        self._undiscovered: set[int] = set()
        self._followed: set[int] = set()
        """States whose index changes by itself."""

    def q_values(self, page_id: int, *, retrieved: bool = False) -> tuple[float, float]:
        """Q(x, 1) and Q(x, 2) of documents discovered by this one; 0 if unknown."""
        active, passive = self._settled(_retrieved(page_id) if retrieved else page_id)
        return active, passive

    def _settled(self, state: int) -> list[float]:
        """The Q-values of a state as of now."""
        values = self._q.setdefault(state, [0.0, 0.0])
        if values[1]:
            requests = self._requests - self._settled_at.get(state, 0)
            values[1] *= self._fading ** (requests * self._passive.count.get(state, 0))
        self._settled_at[state] = self._requests
        return values

    def _groups(self, pages: Sequence[Page]) -> Iterable[float]:
        """None yet: `link` will tell the discoverer."""
        self._undiscovered.update(page.id for page in pages)
        self._coming.update(dict.fromkeys(page.id for page in pages))
        return [_NOBODY] * len(pages)

    def link(self, page_id: int, links: Links) -> None:
        """Make the page the discoverer of those that had none before."""
        found = [target for target in links.targets.tolist() if target in self._undiscovered]
        self._undiscovered.difference_update(found)
        for target in found:
            self._frontier.regroup(target, page_id)
            self._wait(target)
        if found:
            self._found.setdefault(page_id, []).extend(found)
            self._prioritise(page_id)

    def select(self, now: float, limit: int) -> Selection:
        """One request after the other, each by the index; they are leased."""
        taken: list[int] = []
        wake_at = math.inf
        while len(taken) < limit:
            selection = self._choose(now)
            wake_at = selection.wake_at
            if not len(selection.page_ids):
                break
            taken += selection.page_ids.tolist()
            self._learn(taken[-1])
        return Selection(np.array(taken, np.int64), wake_at)

    def _choose(self, now: float) -> Selection:
        """The next request by ε-greedy."""
        if self._epsilon > 0 and self._generator.random() < self._epsilon and self._passive.state:
            drawn = self._frontier.take_page(self._passive.draw(self._generator), now)
            if len(drawn.page_ids):
                return drawn
        for state in list(self._followed):
            self._prioritise(state)
        return self._frontier.take(now, 1)

    def _learn(self, chosen: int) -> None:
        """All controls are set, 1 for this document: update the Q-values of those before."""
        self._update_active(chosen)
        state = self._state_of(chosen)
        self._settled(state)
        self._requests += 1
        if chosen in self._passive.state:
            self._passive.remove(chosen)
            active, passive = values = self._settled(state)
            values[1] += self._alpha * (self._discount * active - passive)
            self._prioritise(state)
        self._coming.pop(chosen, None)
        for page_id in self._coming:
            self._settled(self._state_of(page_id))
            self._passive.add(page_id, self._state_of(page_id))
            self._prioritise(self._state_of(page_id))
        self._coming.clear()

    def _update_active(self, chosen: int) -> None:
        """Equation 10 for the requests before this one, by what they brought."""
        for result in self._results:
            target = self._next_value(result.after, result.page_id == chosen)
            for child in self._found.get(result.page_id, ()):
                target += self._next_value(self._state_of(child), child == chosen)
            values = self._settled(result.state)
            goal = result.reward + self._discount * target
            values[0] += self._alpha * (goal - values[0])
            self._prioritise(result.state)
        self._results.clear()
        self._found.clear()

    def _next_value(self, state: int, requested: bool) -> float:
        return self._settled(state)[0 if requested else 1]

    def observe(self, observations: Sequence[Observation]) -> None:
        """Take in what requests brought; Q-values are updated when the next one is chosen."""
        for observation in observations:
            page_id = observation.page_id
            if page_id not in self._frontier.polled_at:
                continue
            self._undiscovered.discard(page_id)
            state = self._state_of(page_id)
            news = not observation.polled_at <= self._frontier.polled_at[page_id]
            reward = self._reward(observation) if news else 0.0
            if observation.relevance is not None and (news or page_id not in self._relevance):
                self._relevance[page_id] = observation.relevance
            self._place(page_id, gone=news and observation.outcome == Outcome.GONE)
            self._frontier.observe(observation)
            if news:
                self._results.append(_Result(page_id, state, reward, self._state_of(page_id)))

    def _reward(self, observation: Observation) -> float:
        """Equation 11."""
        before, relevance = self._relevance.get(observation.page_id), observation.relevance
        if before is None:
            return relevance or 0.0
        if observation.outcome == Outcome.CHANGED:
            return max(before, relevance or 0.0)
        return before if observation.outcome == Outcome.GONE else 0.0

    def _place(self, page_id: int, *, gone: bool) -> None:
        """Put a document that was requested into its state."""
        state = self._state_of(page_id)
        if gone:
            self._relevance.pop(page_id, None)
            self._frontier.release(page_id, _GONE)
        elif page_id in self._relevance and state >= _GONE:
            state = _retrieved(max(state, _NOBODY))
            if self._revisit:
                self._frontier.retain(page_id, state)
            else:
                self._frontier.regroup(page_id, state)
        self._wait(page_id)

    def _wait(self, page_id: int) -> None:
        """From the next request on the document is passive, in its state of now."""
        state = self._state_of(page_id)
        if page_id in self._passive.state:
            self._settled(self._passive.state[page_id])
            self._passive.remove(page_id)
        if state >= _NOBODY or (self._revisit and state != _GONE):
            self._coming[page_id] = None

    def _state_of(self, page_id: int) -> int:
        """The local state of a document."""
        return int(self._frontier.group.get(page_id, _NOBODY))

    def _prioritise(self, state: int) -> None:
        active, passive = self._settled(state)
        self._frontier.prioritise(state, active - passive)
        fades = passive > _NEGLIGIBLE * max(active, _NEGLIGIBLE)
        if fades and self._passive.count.get(state):
            self._followed.add(state)
        else:
            self._followed.discard(state)

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; they are not selected before `until`."""
        super().defer(page_ids, until)
        for page_id in page_ids:
            if page_id in self._frontier.polled_at:
                self._wait(page_id)

    def rescore(self, page_ids: Sequence[int], relevances: Sequence[float]) -> None:
        """Correct the last relevance of retrieved documents."""
        for page_id, relevance in zip(page_ids, relevances, strict=True):
            if page_id in self._relevance:
                self._relevance[page_id] = relevance

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages and what was learned of them as states; unknown ids are ignored."""
        self._undiscovered.difference_update(page_ids)
        for page_id in page_ids:
            if page_id in self._passive.state:
                self._settled(self._passive.state[page_id])
                self._passive.remove(page_id)
            self._coming.pop(page_id, None)
            self._relevance.pop(page_id, None)
        super().discard(page_ids)
        for page_id in page_ids:
            for state in (page_id, _retrieved(page_id)):
                self._q.pop(state, None)
                self._settled_at.pop(state, None)
                self._followed.discard(state)
                self._frontier.prioritise(state, 0.0)

    def begin_traversal(self) -> None:
        """Forget which pages were requested; the Q-values stay."""
        self._update_active(_NOBODY)
        for state in self._q:
            self._settled(state)
        super().begin_traversal()
        self._set_pace(self._traversal + 1)
        self._begin()

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """When pages were polled, the Q-values of their states, and of those without one."""
        state = super().state_dict(page_ids)
        ids = state["page_ids"].tolist()
        return state | {
            "page.fringe_q": self._values_of(ids),
            "page.retrieved_q": self._values_of([_retrieved(page_id) for page_id in ids]),
            "other_q": self._values_of(_OTHERS),
            "traversal": np.array([self._traversal], np.int64),
        }

    def _values_of(self, states: Sequence[int]) -> NDArray[np.float64]:
        values = [self._settled(state) if state in self._q else (0.0, 0.0) for state in states]
        return np.array(values, np.float64).reshape(-1, 2)

    def load_state_dict(self, state: StateDict) -> None:
        """Put what was learned back; `StateError` if it does not fit."""
        super().load_state_dict(state)
        fringe, retrieved = state["page.fringe_q"].tolist(), state["page.retrieved_q"].tolist()
        learned = dict(zip(_OTHERS, state["other_q"].tolist(), strict=True))
        for page_id, *values in zip(state["page_ids"].tolist(), fringe, retrieved, strict=True):
            if page_id in self._frontier.polled_at:
                learned.update(zip((page_id, _retrieved(page_id)), values, strict=True))
        for known, values in learned.items():
            self._settled(known)[:] = values
            self._prioritise(known)
        self._set_pace(int(state["traversal"][0]))


def _retrieved(discoverer: int) -> int:
    """The state of retrieved documents that were discovered by this one."""
    return -4 - discoverer


_OTHERS = (_NOBODY, _GONE, _retrieved(_NOBODY))
"""The states that no page stands for."""
