"""What the policies of interval rules have in common."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require_positive
from pollwise.errors import InputError
from pollwise.policies.arrays import all_watched
from pollwise.policies.base import StateDict
from pollwise.policies.deadline.adaptive import AdaptivePolicy
from pollwise.policies.rules.kernels import RULE_PAGE, RULE_SHARED, IntervalRuleState
from pollwise.types import Page

__all__ = ["IntervalRule"]


class IntervalRule(AdaptivePolicy):
    """Sets the interval to the next poll of a page by what the latest one found.

    `pollwise.policies.rules.kernels` has the rules. With `scale` None the policy never waits: it
    shares out all polls, as if the times of the rule were multiplied by the scale that uses them
    up. Otherwise its times are multiplied by `scale`; it may leave polls unused, or be late where
    they do not suffice.
    """

    _state_type = IntervalRuleState

    def __init__(
        self,
        kind: int,
        *,
        initial: float,
        minimum: float,
        maximum: float,
        scale: float | None,
        **rule: float,
    ) -> None:
        for name, value in {"minimum": minimum, "maximum": maximum, "scale": scale}.items():
            if value is not None:
                require_positive(self.name, name, value)
        if minimum > maximum:
            raise InputError(
                f"{self.name}: minimum={minimum!r} is above maximum={maximum!r} (seconds between"
                " two polls); give them in order"
            )
        shared = np.zeros(1, RULE_SHARED)
        values = {"kind": kind, "minimum": minimum, "maximum": maximum, **rule}
        for name, value in values.items():
            shared[name] = value
        self._initial = min(max(initial, minimum), maximum)
        shared["scale"] = 1.0 if scale is None else scale
        shared["first_interval"] = self._initial * shared["scale"]
        super().__init__(shared, RULE_PAGE, paced=scale is not None)

    def _new(self, pages: Sequence[Page]) -> NDArray[Any]:
        new = super()._new(pages)
        queue = self._state.shared[0]
        new["interval"] = self._initial
        new["changed_at"] = new["seen_at"]
        clock = new["seen_at"] / self._shared["scale"] if queue["paced"] else queue["clock"]
        new["seen_clock"] = new["changed_clock"] = clock
        new["part"] = np.iinfo(np.int64).min // 2
        return new

    def load_state_dict(self, state: StateDict) -> None:
        """Put what was learned back; `StateError` if it does not fit or cannot be."""
        before = self._state.shared["clock"].copy()
        super().load_state_dict(state)
        others = np.setdiff1d(all_watched(self._state.pages), state["page_ids"])
        if not self._state.shared["paced"]:
            # The clock has changed; for the other pages the time passed stays the same.
            for name in ("seen_clock", "changed_clock"):
                self._pages[name][others] += self._state.shared["clock"] - before
