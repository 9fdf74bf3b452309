"""Policies by the names that the command line, the tables and the documents use."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pollwise.errors import InputError
from pollwise.objectives import Objective
from pollwise.policies.automata.htraa import HTRAA
from pollwise.policies.automata.lakg import LAKG
from pollwise.policies.bandits.gp_ucb import GPUCB
from pollwise.policies.bandits.policy import MixturePolicy
from pollwise.policies.bandits.thompson import ThompsonSampling
from pollwise.policies.bandits.ucb1 import UCB1
from pollwise.policies.base import Policy
from pollwise.policies.deadline.fixed import Fixed
from pollwise.policies.deadline.optimal import Optimal
from pollwise.policies.deadline.proportional import Proportional
from pollwise.policies.deadline.uniform import Uniform
from pollwise.policies.estimating.cho import ChoMLE, ChoNaive
from pollwise.policies.estimating.estimator import Estimator
from pollwise.policies.estimating.lambdacrawl import KnownLambdaCrawl, LambdaCrawl
from pollwise.policies.estimating.mirrorsync import MirrorSync
from pollwise.policies.gpoks.gpoks import GPOKS
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.ephemeral import EphemeralIndex
from pollwise.policies.index.whittle import Whittle
from pollwise.policies.rules.miniflux import Miniflux
from pollwise.policies.rules.news_crawl import NewsCrawl
from pollwise.policies.rules.newsblur import NewsBlur
from pollwise.policies.rules.nutch import Nutch
from pollwise.policies.rules.stormcrawler import StormCrawler

__all__ = [
    "DEFAULT_POLICY",
    "POLICY_NAMES",
    "TWO_PAGE_POLICIES",
    "Option",
    "PolicyChoice",
    "Setting",
    "make_policy",
    "parse_policies",
]

DEFAULT_POLICY = "bayes-index"

Option = float | int | str | bool


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


_PHASE_POLLS_PER_PAGE = 10


def _nothing(setting: Setting) -> dict[str, Any]:
    return {}


def _objective(setting: Setting) -> dict[str, Any]:
    return {"objective": setting.objective}


def _decay(setting: Setting) -> dict[str, Any]:
    """That of the value, if the objective says it; of another objective only items count."""
    return {"decay": setting.objective.decay}


def _generator(setting: Setting) -> dict[str, Any]:
    return {"generator": setting.generator}


def _rates(setting: Setting) -> dict[str, Any]:
    if setting.rates is None:
        raise InputError(
            "this policy must be told the true change rates, which is possible in a replay or in"
            f" the world zipf of a simulation only; choose one of {', '.join(_LEARNING_OR_BLIND)}"
        )
    return {"rates": setting.rates}


def _lakg(setting: Setting) -> dict[str, Any]:
    """The first published configuration; a finer one for more pages than it can tell apart.

    That is where its least amount would be more than a quarter of the uniform one.
    """
    resolution = max(1500, math.ceil((4 * setting.pages) ** (1 / 1.3)))
    return {"resolution": resolution, "generator": setting.generator}


def _gpoks(variant: str, setting: Setting) -> dict[str, Any]:
    """With four steps of the knapsack for each page, at least."""
    resolution = max(100, 4 * setting.pages)
    return {"variant": variant, "resolution": resolution, "generator": setting.generator}


_POLICIES: dict[str, tuple[type[Policy], Callable[[Setting], dict[str, Any]]]] = {
    "bayes-index": (BayesianIndex, _objective),
    "ephemeral-index": (EphemeralIndex, _decay),
    "whittle": (Whittle, lambda s: _rates(s) | _objective(s)),
    "optimal": (Optimal, lambda s: _rates(s) | _objective(s) | {"budget": s.budget}),
    "proportional": (Proportional, _rates),
    "fixed": (Fixed, lambda s: {"interval": s.pages / s.budget}),
    "uniform": (Uniform, _nothing),
    "nutch": (Nutch, _nothing),
    "stormcrawler": (StormCrawler, _nothing),
    "news-crawl": (NewsCrawl, _nothing),
    "miniflux": (Miniflux, _nothing),
    "newsblur": (NewsBlur, _nothing),
    "lambdacrawl": (LambdaCrawl, _nothing),
    "lambdacrawl-known": (KnownLambdaCrawl, lambda s: _rates(s) | {"budget": s.budget}),
    "mirrorsync": (MirrorSync, _generator),
    "cho-naive": (ChoNaive, _objective),
    "cho-mle": (ChoMLE, _objective),
    "estimator": (Estimator, lambda s: {"phase_polls": _PHASE_POLLS_PER_PAGE * s.pages}),
    "lakg": (LAKG, _lakg),
    "htraa": (HTRAA, _generator),
    "gpoks": (GPOKS, partial(_gpoks, "gpoks")),
    "gpoks-ts": (GPOKS, partial(_gpoks, "ts")),
    "gpoks-ots": (GPOKS, partial(_gpoks, "ots")),
    "gpoks-mono": (GPOKS, partial(_gpoks, "mono")),
    "gpoks-gpr": (GPOKS, partial(_gpoks, "gpr")),
    "gpoks-ucb": (GPOKS, partial(_gpoks, "ucb")),
    "gpoks-ips": (GPOKS, partial(_gpoks, "ips")),
    "gpoks-ips-ots": (GPOKS, partial(_gpoks, "ips-ots")),
    "ucb1": (UCB1, _generator),
    "ucb1-raw": (UCB1, lambda s: {"raw": True} | _generator(s)),
    "ts": (ThompsonSampling, _generator),
    "gp-ucb": (GPUCB, _generator),
}
"""The class of each, and what it is told of the setting: that makes its arguments.

`fixed` polls every page at the interval that uses up the budget.
"""

_NOT_FOR_PEOPLE = {"generator", "rates", "objective", "budget", "variant", "raw"}

POLICY_NAMES = tuple(_POLICIES)
"""The names, the default first."""

TWO_PAGE_POLICIES = tuple(
    n for n, (kind, _) in _POLICIES.items() if issubclass(kind, MixturePolicy)
)
"""Those that share polls out between two pages and take no more."""


def _parameters(name: str) -> list[str]:
    return list(inspect.signature(_POLICIES[name][0]).parameters)


_LEARNING_OR_BLIND = [name for name in POLICY_NAMES if "rates" not in _parameters(name)]


def make_policy(name: str, setting: Setting, /, **options: Option) -> Policy:
    """The policy of this name; `InputError` lists the names, or says what it would need.

    `options` are further arguments of its class, or others than the usual ones.
    """
    if name not in _POLICIES:
        raise InputError(f"no such policy: {name!r}; choose one of {', '.join(POLICY_NAMES)}")
    known = [each for each in _parameters(name) if each not in _NOT_FOR_PEOPLE]
    for option in options:
        if option not in known:
            has = f"its options are {', '.join(known)}" if known else "it has none"
            raise InputError(f"{name} has no option {option!r}; {has}")
    kind, told = _POLICIES[name]
    return kind(**{**told(setting), **options})


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """A policy as somebody wrote it: `text`, such as lakg:resolution=2500,exponent=1.3."""

    text: str
    name: str
    options: Mapping[str, Option] = field(default_factory=dict)

    @property
    def takes_objective(self) -> bool:
        """Whether the policy serves the objective of the setting; else it has its own."""
        return "objective" in _parameters(self.name)

    @property
    def predicts(self) -> bool:
        """Whether the policy says how likely changes are, and so can be held to it."""
        return issubclass(_POLICIES[self.name][0], BayesianIndex)

    def make(self, setting: Setting) -> Policy:
        """The policy; see `make_policy`."""
        return make_policy(self.name, setting, **self.options)


def parse_policies(texts: Iterable[str]) -> list[PolicyChoice]:
    """Policies by their names, perhaps with options after a colon.

    `InputError` for a name that no policy has (it lists them), and for options that are not
    written OPTION=VALUE or given twice.

    >>> parse_policies(["lakg:resolution=2500,exponent=1.3"])[0].options
    {'resolution': 2500, 'exponent': 1.3}
    """
    choices = []
    for text in texts:
        name, colon, rest = text.partition(":")
        if name not in _POLICIES:
            raise InputError(f"no such policy: {name!r}; choose one of {', '.join(POLICY_NAMES)}")
        pairs = [_option(text, part) for part in rest.split(",")] if colon else []
        options = dict(pairs)
        if len(options) < len(pairs):
            raise InputError(f"policy {text!r} has an option twice; give each once")
        choices.append(PolicyChoice(text, name, options))
    return choices


def _option(text: str, part: str) -> tuple[str, Option]:
    key, equals, value = part.partition("=")
    if not (key and equals and value):
        raise InputError(
            f"policy {text!r}: {part!r} is no option; write NAME:OPTION=VALUE,OPTION=VALUE"
        )
    for kind in (int, float):
        try:
            return key, kind(value)
        except ValueError:
            continue
    return key, {"true": True, "false": False}.get(value, value)
