"""What the bandits that share out the polls of two pages have in common."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require_generator, require_whole
from pollwise.errors import InputError
from pollwise.policies.arrays import (
    ABSENT,
    READY,
    all_watched,
    check_sound,
    check_state,
    known_rows,
    seen_at,
    watched,
)
from pollwise.policies.bandits.kernels import (
    ARM,
    BANDIT_PAGE,
    BANDIT_SHARED,
    NOBODY,
    BanditState,
    amount_bandit,
)
from pollwise.policies.base import StateDict
from pollwise.policies.compiled import CompiledPolicy
from pollwise.types import Page

__all__ = ["BanditPolicy", "MixturePolicy", "shares"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FINEST_RESOLUTION = 1000
_LEARNED = ("pulls", "paid", "mean")


def shares(name: str, resolution: int) -> Floats:
    """The first page's share of polls in each arm, k/K for k = 1 ... K - 1.

    `InputError`, in the name of policy `name`, unless K is a whole number from 2 to 1000.
    """
    require_whole(name, "resolution", resolution, least=2, most=_FINEST_RESOLUTION)
    return np.arange(1, resolution) / resolution


class BanditPolicy(CompiledPolicy):
    """Polls two pages by the arm of the best score; subclasses say which score it is.

    `pollwise.policies.bandits.kernels` has the arms, pulls and scores. What was learned belongs to
    both pages together: it is forgotten when one of them is discarded. A single page is always
    polled; a third one is refused with `InputError`. The first page is the one of lower id. The
    policy never waits; weights and costs play no part.
    """

    name: str
    """The name of the policy."""

    def __init__(
        self,
        *,
        generator: np.random.Generator,
        score: int,
        mean: Floats,
        raw: bool = False,
        covariance: Floats | None = None,
        noise: float = 0.0,
    ) -> None:
        """`score`, `raw`, `noise`: see `BANDIT_SHARED`; `mean`, `covariance`: what is believed of
        the arms before the first pull (None: they are averaged, nothing is believed).
        """
        require_generator(self.name, generator)
        shared = np.zeros(1, BANDIT_SHARED)
        shared["score"] = score
        shared["raw"] = raw
        shared["noise"] = noise
        shared["page"] = NOBODY
        self._mean = mean
        self._covariance = np.zeros((0, 0)) if covariance is None else covariance
        arms = np.zeros(len(mean), ARM)
        pages = np.zeros(0, BANDIT_PAGE)
        self._state = BanditState(pages, shared, arms, self._covariance.copy(), generator)
        self._forget()

    def _enter(self, pages: Sequence[Page], page_ids: Ints) -> None:
        both = np.concatenate([all_watched(self._state.pages), page_ids])
        if len(both) > 2:
            raise InputError(
                f"{self.name}: page {both[2]} is a third one, and the arms share out two; for more"
                " pages take another policy, such as lakg, htraa or gpoks"
            )
        own = self._state.pages
        own["polled_at"][page_ids] = seen_at(pages)
        own["of_pull"][page_ids] = 0
        own["where"][page_ids] = READY
        self._set_pair(both)

    def _remove(self, page_ids: Ints) -> None:
        if len(page_ids):
            self._forget()
            self._state.pages["where"][page_ids] = ABSENT
            self._set_pair(all_watched(self._state.pages))

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """The latest polls, and what is known of the arms; see `Policy`."""
        state, common = self._state, self._state.shared[0]
        ids = watched(page_ids, state.pages)
        shared = {
            "pair": common["page"].copy(),
            "arm": np.array([common["arm"]]),
            **{name: state.arms[name].copy() for name in _LEARNED},
            "covariance": state.covariance.copy(),
        }
        return {
            "page_ids": ids,
            "page.polled_at": state.pages["polled_at"][ids],
            **{f"{self.name}.{key}": array for key, array in shared.items()},
        }

    def load_state_dict(self, state: StateDict) -> None:
        """Put learned state back; `StateError` if it does not fit or cannot be.

        The arms stay as they are if the state is of another pair of pages.
        """
        self._check_learned(state)
        own, common = self._state, self._state.shared[0]
        ids, rows = known_rows(state, own.pages)
        own.pages["polled_at"][ids] = state["page.polled_at"][rows]
        if not np.array_equal(common["page"], state[f"{self.name}.pair"]):
            return
        own.pages["of_pull"] = 0
        common["arm"] = state[f"{self.name}.arm"][0]
        for key in _LEARNED:
            own.arms[key] = state[f"{self.name}.{key}"]
        own.covariance[:] = state[f"{self.name}.covariance"]

    def _check_learned(self, state: StateDict) -> None:
        """`StateError` unless it may be what such a policy has learned."""
        check_state(state, self.state_dict([]))
        given: Mapping[str, NDArray[Any]] = state
        keys = ("arm", *_LEARNED, "covariance")
        arm, pulls, paid, mean, covariance = (given[f"{self.name}.{key}"] for key in keys)
        numbers = np.concatenate([paid, mean, covariance.ravel()])
        sound = {
            "arm": (arm >= 0) & (arm < len(mean)),
            "count": pulls >= 0,
            "reward": np.isfinite(numbers),
            "variance": np.diag(covariance) + self._state.shared["noise"][0] > 0.0,
        }
        check_sound(self.name, sound)

    def _set_pair(self, page_ids: Ints) -> None:
        pair = self._state.shared["page"][0]
        pair[:] = NOBODY
        pair[: len(page_ids)] = np.sort(page_ids)

    def _forget(self) -> None:
        """Back to what is believed before the first pull."""
        state = self._state
        state.arms[:] = np.zeros(1, ARM)
        state.arms["mean"] = self._mean
        state.covariance[:] = self._covariance
        state.shared["arm"] = math.ceil(len(state.arms) / 2) - 1
        state.pages["of_pull"] = 0


class MixturePolicy(BanditPolicy):
    """A bandit whose arms are mixtures of the two pages."""

    def amounts(self) -> Floats:
        """The shares of polls in the arm that is played, by page id; 0 for ids that no page has.

        Before the first selection that is the middle one.
        """
        page_ids = all_watched(self._state.pages)
        amounts = np.zeros(page_ids.max(initial=-1) + 1)
        for page_id in page_ids:
            amounts[page_id] = amount_bandit(self._state, page_id)
        return amounts
