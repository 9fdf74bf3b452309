"""Policies by the names that the command line, the tables and the documents use."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pollwise.errors import InputError
from pollwise.objectives import Objective
from pollwise.policies.base import Policy
from pollwise.policies.bayes_index import BayesianIndex
from pollwise.policies.fixed import Fixed
from pollwise.policies.gpoks import GPOKS
from pollwise.policies.htraa import HTRAA
from pollwise.policies.lakg import LAKG
from pollwise.policies.optimal import Optimal
from pollwise.policies.proportional import Proportional
from pollwise.policies.uniform import Uniform
from pollwise.policies.whittle import Whittle

__all__ = ["DEFAULT_POLICY", "POLICY_NAMES", "Setting", "check_names", "make_policy"]

DEFAULT_POLICY = "bayes-index"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a policy may be told when it is made.

    `rates`: true change rates per second by page id (None: nobody knows them, as on the live web);
    `pages`: how many there are, about; `budget`: cost units per second; `seed`: of the random
    numbers of policies that draw some.
    """

    objective: Objective
    budget: float
    pages: int
    rates: Mapping[int, float] | None = None
    seed: int = 0

    @property
    def generator(self) -> np.random.Generator:
        """A new generator; its stream is none of those that worlds draw from."""
        return np.random.default_rng([self.seed, _POLICY_STREAM])


_POLICY_STREAM = 4


def _known(setting: Setting) -> Mapping[int, float]:
    if setting.rates is None:
        raise InputError(
            "this policy must be told the true change rates, which is possible in a simulation"
            f" or a replay only; choose one of {', '.join(_LEARNING_OR_BLIND)}"
        )
    return setting.rates


def _gpoks(variant: str, setting: Setting, **options: Any) -> Policy:
    """With four steps of the knapsack for each page, at least."""
    resolution = max(100, 4 * setting.pages)
    return GPOKS(
        **{"variant": variant, "resolution": resolution, "generator": setting.generator, **options}
    )


_MAKERS: dict[str, Callable[..., Policy]] = {
    "bayes-index": lambda s, **o: BayesianIndex(objective=s.objective, **o),
    "whittle": lambda s, **o: Whittle(rates=_known(s), objective=s.objective, **o),
    "optimal": lambda s, **o: Optimal(rates=_known(s), budget=s.budget, objective=s.objective, **o),
    "proportional": lambda s, **o: Proportional(rates=_known(s), **o),
    "fixed": lambda s, **o: Fixed(**{"interval": s.pages / s.budget, **o}),
    "uniform": lambda s, **o: Uniform(**o),
    "lakg": lambda s, **o: LAKG(**{"generator": s.generator, **o}),
    "htraa": lambda s, **o: HTRAA(generator=s.generator, **o),
    "gpoks": lambda s, **o: _gpoks("gpoks", s, **o),
    "gpoks-ts": lambda s, **o: _gpoks("ts", s, **o),
    "gpoks-ots": lambda s, **o: _gpoks("ots", s, **o),
    "gpoks-mono": lambda s, **o: _gpoks("mono", s, **o),
    "gpoks-gpr": lambda s, **o: _gpoks("gpr", s, **o),
    "gpoks-ucb": lambda s, **o: _gpoks("ucb", s, **o),
    "gpoks-ips": lambda s, **o: _gpoks("ips", s, **o),
    "gpoks-ips-ots": lambda s, **o: _gpoks("ips-ots", s, **o),
}
_LEARNING_OR_BLIND = ("bayes-index", "fixed", "uniform")

POLICY_NAMES = tuple(_MAKERS)
"""The names, the default first."""


def check_names(names: Iterable[str]) -> None:
    """`InputError`, which lists the policies, unless there is one of each of these names."""
    for name in names:
        if name not in _MAKERS:
            raise InputError(f"no such policy: {name!r}; choose one of {', '.join(POLICY_NAMES)}")


def make_policy(name: str, setting: Setting, **options: float | int | str | bool) -> Policy:
    """The policy of this name; `InputError` lists the names, or says what it would need.

    `options` are further arguments of its class. `fixed` polls every page at the interval that
    uses up the budget.
    """
    check_names([name])
    return _MAKERS[name](setting, **options)
