"""What a scheduler keeps over a restart, as text."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pollwise.checks import read_json
from pollwise.errors import StateError
from pollwise.scheduler.back_offs import BackOff, BackOffs, back_offs_of
from pollwise.scheduler.hosts import Hosts, hosts_of
from pollwise.scheduler.politeness import Host

__all__ = ["SavedState", "read_state", "state_text"]


@dataclass(frozen=True, slots=True)
class SavedState:
    """What `state_text` tells of a scheduler with a budget of `rate` cost units a second.

    `saved_at` is when it was saved and `next_at` from when on the budget allowed the next poll (UTC
    seconds; -inf: no time is known). Until `asked_until` any host may have been asked. `limits` has
    by scope its limit in polls a second, and until when it allows none; `answers_in` the seconds
    that answers take, `back_offs` the failed pages by id, `signalled` when pages were that had no
    answer since. The prices are those of the policy for groups, by tag, and for hosts.
    """

    rate: float
    saved_at: float
    next_at: float
    hosts: dict[str, Host]
    asked_until: float
    limits: dict[str, tuple[float, float]]
    answers_in: dict[str, float]
    back_offs: dict[int, BackOff]
    signalled: dict[int, float]
    group_prices: dict[str, float]
    host_prices: dict[str, float]


def state_text(
    *,
    rate: float,
    saved_at: float,
    next_at: float,
    hosts: Hosts,
    now: float,
    back_offs: BackOffs,
    signalled: Mapping[int, float],
    group_prices: Mapping[str, float],
    host_prices: Mapping[str, float],
) -> str:
    """The text that `read_state` reads, see `SavedState`; of hosts that are busy at `now`, or slow.

    `now` is -inf before the first event.
    """
    text = json.dumps(
        {
            "rate": rate,
            "now": saved_at if math.isfinite(saved_at) else None,
            "next_at": next_at if math.isfinite(next_at) else None,
            "hosts": hosts.state(now),
            "asked_until": hosts.asked_until(now),
            "limits": hosts.limits_state(),
            "back_offs": back_offs.state(),
            "signalled": list(signalled.items()),
            "group_prices": group_prices,
            "host_prices": host_prices,
        }
    )
    return f'{text[:-1]}, "answers_in": {hosts.answers_text(now)}}}'


def read_state(text: str, rate: float) -> SavedState:
    """The state of a text, for a scheduler with a budget of this rate.

    `StateError` if `text` is none.
    """
    try:
        state = read_json(text)
        next_at = _time(state["next_at"])
        return SavedState(
            rate=state["rate"],
            # States of earlier versions do not say when they were saved: after the latest poll.
            saved_at=_time(state.get("now", next_at - 1.0 / rate)),
            next_at=next_at,
            hosts=hosts_of(state["hosts"]),
            asked_until=_time(state.get("asked_until")),
            limits={
                scope: (float(limit), _time(until))
                for scope, (limit, until) in state.get("limits", {}).items()
            },
            answers_in=_numbers(state, "answers_in"),
            back_offs=back_offs_of(state["back_offs"]),
            signalled={int(one): _time(at) for one, at in state.get("signalled", ())},
            group_prices=_numbers(state, "group_prices"),
            host_prices=_numbers(state, "host_prices", least=1.0),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise StateError(
            f"not a scheduler's state: {text[:80]!r} ({error!r});"
            " load what Scheduler.state() gave, or start without it"
        ) from error


def _numbers(state: Any, name: str, least: float = 0.0) -> dict[str, float]:
    """Numbers by name, which earlier versions did not keep: finite, above 0 and at least `least`.

    `ValueError` for others.
    """
    numbers = {str(key): float(number) for key, number in state.get(name, {}).items()}
    if not all(0.0 < number < math.inf and number >= least for number in numbers.values()):
        raise ValueError(f"{name} has a number that is out of its range")
    return numbers


def _time(value: Any) -> float:
    """A time of a saved state; None: there is none yet. `ValueError` for what is no time."""
    time = -math.inf if value is None else float(value)
    if not time < math.inf:
        raise ValueError(f"{value} is no time")
    return time
