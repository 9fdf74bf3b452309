"""Request controllers by the names that the command line, the tables and the documents use."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError
from pollwise.policies.collecting.balance import FixedShares
from pollwise.policies.collecting.fringe_greedy import FringeGreedy
from pollwise.policies.collecting.random_order import RandomOrder
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.policies.collecting.robot import Robot
from pollwise.policies.collecting.robot_q import RobotQ
from pollwise.policies.collecting.upper_bound import UpperBound

__all__ = [
    "COLLECTING_POLICY_NAMES",
    "DEFAULT_COLLECTING_POLICIES",
    "DEFAULT_KEEPING_POLICIES",
    "make_controller",
    "require_collecting_policies",
    "requires_known_pages",
    "starts_with_all",
]

Floats = NDArray[np.float64]
Maker = Callable[[Floats, np.random.Generator, bool], RequestController]


_UPPER_BOUND = "upper-bound"
_FRINGE_GREEDY = "fringe-greedy"

_CONTROLLERS: dict[str, Maker] = {
    "robot": lambda relevance, generator, revisit: Robot(generator=generator, revisit=revisit),
    "robot-q": lambda relevance, generator, revisit: RobotQ(generator=generator),
    _FRINGE_GREEDY: lambda relevance, generator, revisit: FringeGreedy(
        relevance=relevance, generator=generator
    ),
    "random": lambda relevance, generator, revisit: RandomOrder(generator=generator),
    _UPPER_BOUND: lambda relevance, generator, revisit: UpperBound(
        relevance=relevance, generator=generator
    ),
    "fixed-shares": lambda relevance, generator, revisit: Robot(
        generator=generator, revisit=revisit, balance=FixedShares
    ),
}

COLLECTING_POLICY_NAMES = tuple(_CONTROLLERS)
"""The names, the default first."""

DEFAULT_KEEPING_POLICIES = ("robot", "fixed-shares", "random")
"""Those that are compared where nobody says which, and pages change."""

DEFAULT_COLLECTING_POLICIES = ("robot", "fringe-greedy", "random")
"""Those that are compared where nobody says which."""


def require_collecting_policies(names: Sequence[str]) -> None:
    """`InputError` lists the names if there is no request controller of one of these."""
    for name in names:
        if name not in _CONTROLLERS:
            raise InputError(
                f"no such policy of collecting: {name!r}; choose one of"
                f" {', '.join(COLLECTING_POLICY_NAMES)}"
            )


def make_controller(
    name: str, relevance: Floats, generator: np.random.Generator, *, revisit: bool = False
) -> RequestController:
    """The controller of this name; `InputError` lists the names if there is none.

    `relevance` by page id is what the oracles among them are told, `generator` what they draw
    random numbers from. `revisit`: the web changes, so that held pages are worth another look.
    """
    require_collecting_policies([name])
    return _CONTROLLERS[name](relevance, generator, revisit)


def requires_known_pages(name: str) -> bool:
    """Whether this controller is told the relevance of all pages that there will be."""
    return name in (_UPPER_BOUND, _FRINGE_GREEDY)


def starts_with_all(name: str) -> bool:
    """Whether this controller is to know all pages before the first request."""
    return name == _UPPER_BOUND
