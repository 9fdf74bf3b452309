"""All policy names that a user can give, and how a policy is made from one.

`WATCHING` has the policies that poll given pages, `COLLECTING` the request controllers, which
discover pages. `choose` takes a name, perhaps with options; the choice makes the policy for a
setting:

>>> from pollwise import Detection
>>> choice = WATCHING.choose("htraa:resolution=30")
>>> type(choice.make(Setting(Detection(), budget=1.0, pages=4))).__name__
'HTRAA'

A name imports only the module of its own policy, and only when the policy is needed.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from pollwise.errors import InputError
from pollwise.policies.base import Policy
from pollwise.policies.collecting.request_controller import RequestController

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pollwise.objectives import Objective

__all__ = [
    "COLLECTING",
    "WATCHING",
    "Catalogue",
    "Choice",
    "CollectingSetting",
    "ControllerChoice",
    "Option",
    "PolicyChoice",
    "Setting",
    "read_options",
]

Option = float | int | str | bool

_POLICY_STREAM = 4
_PHASE_POLLS_PER_PAGE = 10


@dataclass(frozen=True, slots=True)
class Setting:
    """What a policy of watching may be told when it is made.

    `rates`: true change rates per second by page id (None: nobody knows them, as on the live web);
    `pages`: how many there are, about; `budget`: cost units per second; `seed`: for policies that
    draw random numbers.
    """

    objective: "Objective"
    budget: float
    pages: int
    rates: Mapping[int, float] | None = None
    seed: int = 0

    @property
    def generator(self) -> np.random.Generator:
        """A new generator; its stream is none of those that worlds draw from."""
        return np.random.default_rng([self.seed, _POLICY_STREAM])


@dataclass(frozen=True, slots=True)
class CollectingSetting:
    """What a request controller may be told when it is made.

    `relevance`: of all pages, by page id (None: nobody knows it, as on the live web); `revisit`:
    whether pages change, so that held ones are worth another look; `seed`: for random numbers;
    `topic`: the weights of its terms (None: nobody tells it).
    """

    relevance: "ArrayLike | None" = None
    revisit: bool = True
    seed: int = 0
    topic: Mapping[str, float] | None = None

    @property
    def generator(self) -> np.random.Generator:
        """A new generator."""
        return np.random.default_rng(self.seed)


_Told = TypeVar("_Told")
_Made = TypeVar("_Made", bound=Policy)
_Entry = tuple[str, Callable[[_Told], dict[str, Any]]]
"""Where the class is below `pollwise.policies`, and which arguments the setting gives it."""

_NO_OPTIONS = {
    *(field.name for setting in (Setting, CollectingSetting) for field in fields(setting)),
    *("generator", "variant", "balance"),
}
"""Arguments that are no options: the setting or the name determines them."""


@dataclass(frozen=True, slots=True)
class Choice(Generic[_Told, _Made]):
    """A policy as somebody wrote it: `text`, such as lakg:resolution=2500,exponent=1.3."""

    text: str
    name: str
    options: Mapping[str, Option]
    _entry: _Entry[_Told]

    @property
    def kind(self) -> type[_Made]:
        """The class of the policy; this imports it."""
        module, _, name = self._entry[0].partition(":")
        kind: type[_Made] = getattr(import_module(f"pollwise.policies.{module}"), name)
        return kind

    @property
    def known_options(self) -> tuple[str, ...]:
        """The names of the options that may be written after a colon."""
        arguments = inspect.signature(self.kind).parameters
        return tuple(each for each in arguments if each not in _NO_OPTIONS)

    def takes(self, argument: str) -> bool:
        """Whether the policy takes this argument, such as `objective`."""
        return argument in inspect.signature(self.kind).parameters

    def make(self, setting: _Told) -> _Made:
        """A new policy; `InputError` for a wrong option, or if the setting lacks something."""
        known, told = self.known_options, self._entry[1]
        for option in self.options:
            if option not in known:
                has = f"its options are {', '.join(known)}" if known else "it has none"
                raise InputError(f"{self.name} has no option {option!r}; {has}")
        return self.kind(**{**told(setting), **self.options})


class Catalogue(Generic[_Told, _Made]):
    """Policies by their names; the first is the default. Messages call each of them a `word`."""

    def __init__(self, word: str, entries: Mapping[str, _Entry[_Told]]) -> None:
        self._word = word
        self._entries = entries
        self.names = tuple(entries)
        self.default = self.names[0]

    def choose(self, text: str, /, **options: Option) -> Choice[_Told, _Made]:
        """The policy of this name, perhaps with options after a colon; `options` are further ones.

        `InputError` for a name that no policy has (it lists them), and for options that are not
        written OPTION=VALUE or given twice.

        >>> WATCHING.choose("lakg:resolution=2500,exponent=1.3").options
        {'resolution': 2500, 'exponent': 1.3}
        """
        name, colon, rest = text.partition(":")
        if name not in self._entries:
            raise InputError(
                f"no such {self._word}: {name!r}; choose one of {', '.join(self.names)}"
            )
        written = read_options(text, rest if colon else None)
        return Choice(text, name, written | options, self._entries[name])


def read_options(text: str, told: str | None) -> dict[str, Option]:
    """The options of a policy that somebody wrote as `text`, from its part that has them, if any.

    `InputError` for what is not written OPTION=VALUE, or given twice.
    """
    pairs = [] if told is None else [_option(text, part) for part in told.split(",")]
    written = dict(pairs)
    if len(written) < len(pairs):
        raise InputError(f"policy {text!r} has an option twice; give each once")
    return written


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


def _others(catalogue: Catalogue[Any, Any], argument: str) -> str:
    """The names of the policies that need not be told this."""
    names = catalogue.names
    return ", ".join(name for name in names if not catalogue.choose(name).takes(argument))


def _nothing(setting: Setting) -> dict[str, Any]:
    return {}


def _objective(setting: Setting) -> dict[str, Any]:
    return {"objective": setting.objective}


def _decay(setting: Setting) -> dict[str, Any]:
    """That of the objective's value; None, for other objectives: it is learned."""
    return {"decay": setting.objective.decay}


def _generator(setting: Setting | CollectingSetting) -> dict[str, Any]:
    return {"generator": setting.generator}


def _rates(setting: Setting) -> dict[str, Any]:
    if setting.rates is None:
        raise InputError(
            "this policy must be told the true change rates, which is possible in a replay or in"
            f" the world zipf of a simulation only; choose one of {_others(WATCHING, 'rates')}"
        )
    return {"rates": setting.rates}


def _lakg(setting: Setting) -> dict[str, Any]:
    """The first published configuration; a finer one for more pages than it can tell apart.

    These are so many that its least amount would exceed a quarter of the mean amount.
    """
    resolution = max(1500, math.ceil((4 * setting.pages) ** (1 / 1.3)))
    return {"resolution": resolution, "generator": setting.generator}


def _gpoks(variant: str, setting: Setting) -> dict[str, Any]:
    """With four steps of the knapsack for each page, at least."""
    resolution = max(100, 4 * setting.pages)
    return {"variant": variant, "resolution": resolution, "generator": setting.generator}


def _robot(setting: CollectingSetting) -> dict[str, Any]:
    return {"generator": setting.generator, "revisit": setting.revisit}


def _told_robot(setting: CollectingSetting) -> dict[str, Any]:
    return _robot(setting) | {"topic": setting.topic}


def _fixed_shares(setting: CollectingSetting) -> dict[str, Any]:
    from pollwise.policies.collecting.balance import FixedShares

    return _told_robot(setting) | {"balance": FixedShares}


def _relevance(setting: CollectingSetting) -> dict[str, Any]:
    if setting.relevance is None:
        raise InputError(
            "this policy must be told how relevant all pages are, which is possible on a recorded"
            f" graph only; choose one of {_others(COLLECTING, 'relevance')}"
        )
    return {"relevance": setting.relevance, "generator": setting.generator}


PolicyChoice = Choice[Setting, Policy]
ControllerChoice = Choice[CollectingSetting, RequestController]

WATCHING: Catalogue[Setting, Policy] = Catalogue(
    "policy",
    {
        "bayes-index": ("index.bayes_index:BayesianIndex", _objective),
        "ephemeral-index": ("index.ephemeral:EphemeralIndex", _decay),
        "whittle": ("index.whittle:Whittle", lambda s: _rates(s) | _objective(s)),
        "optimal": (
            "deadline.optimal:Optimal",
            lambda s: _rates(s) | _objective(s) | {"budget": s.budget},
        ),
        "proportional": ("deadline.proportional:Proportional", _rates),
        # Every page at the interval that uses up the budget.
        "fixed": ("deadline.fixed:Fixed", lambda s: {"interval": s.pages / s.budget}),
        "uniform": ("deadline.uniform:Uniform", _nothing),
        "nutch": ("rules.nutch:Nutch", _nothing),
        "stormcrawler": ("rules.stormcrawler:StormCrawler", _nothing),
        "news-crawl": ("rules.news_crawl:NewsCrawl", _nothing),
        "miniflux": ("rules.miniflux:Miniflux", _nothing),
        "newsblur": ("rules.newsblur:NewsBlur", _nothing),
        "lambdacrawl": ("estimating.lambdacrawl:LambdaCrawl", _nothing),
        "lambdacrawl-known": (
            "estimating.lambdacrawl:KnownLambdaCrawl",
            lambda s: _rates(s) | {"budget": s.budget},
        ),
        "mirrorsync": ("estimating.mirrorsync:MirrorSync", _generator),
        "cho-naive": ("estimating.cho:ChoNaive", _objective),
        "cho-mle": ("estimating.cho:ChoMLE", _objective),
        "estimator": (
            "estimating.estimator:Estimator",
            lambda s: {"phase_polls": _PHASE_POLLS_PER_PAGE * s.pages},
        ),
        "lakg": ("automata.lakg:LAKG", _lakg),
        "htraa": ("automata.htraa:HTRAA", _generator),
        "gpoks": ("gpoks.gpoks:GPOKS", partial(_gpoks, "gpoks")),
        **{
            f"gpoks-{variant}": ("gpoks.gpoks:GPOKS", partial(_gpoks, variant))
            for variant in ("ts", "ots", "mono", "gpr", "ucb", "ips", "ips-ots")
        },
        "ucb1": ("bandits.ucb1:UCB1", _generator),
        "ucb1-raw": ("bandits.ucb1:RawUCB1", _nothing),
        "ts": ("bandits.thompson:ThompsonSampling", _generator),
        "gp-ucb": ("bandits.gp_ucb:GPUCB", _generator),
    },
)

COLLECTING: Catalogue[CollectingSetting, RequestController] = Catalogue(
    "policy of collecting",
    {
        "robot": ("collecting.robot:Robot", _told_robot),
        "robot-q": ("collecting.robot_q:RobotQ", _robot),
        "fringe-greedy": ("collecting.oracles:FringeGreedy", _relevance),
        "random": ("collecting.oracles:RandomOrder", _generator),
        "upper-bound": ("collecting.oracles:UpperBound", _relevance),
        "fixed-shares": ("collecting.robot:Robot", _fixed_shares),
    },
)
