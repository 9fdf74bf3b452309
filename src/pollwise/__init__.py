"""Decides which web page to fetch next under a fetch budget, and learns it online.

The same policy object runs in a simulated world, on a replayed history and against the live web:

>>> from pollwise import BayesianIndex, Zipf, simulate
>>> world = Zipf(pages=50, alpha=0.9, beta=1.5)
>>> polls = simulate(BayesianIndex(), world, polls=1000, seed=1)
>>> len(polls)
1000
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pollwise.errors import (
        InputError,
        PollwiseError,
        StateError,
        StoreError,
        StoreVersionError,
        TraceError,
    )
    from pollwise.knapsack import Allocation, allocate, concave_amounts, det_ks, polling_amounts
    from pollwise.metrics import Changes, Polls, Score, score
    from pollwise.objectives import (
        Age,
        Delay,
        Detection,
        Ephemeral,
        Freshness,
        Objective,
        objective,
    )
    from pollwise.policies.automata.htraa import HTRAA
    from pollwise.policies.automata.lakg import LAKG
    from pollwise.policies.bandits.gp_ucb import GPUCB
    from pollwise.policies.bandits.thompson import ThompsonSampling
    from pollwise.policies.bandits.ucb1 import UCB1
    from pollwise.policies.base import Mixture, Policy
    from pollwise.policies.deadline.fixed import Fixed
    from pollwise.policies.deadline.optimal import Optimal
    from pollwise.policies.deadline.proportional import Proportional
    from pollwise.policies.deadline.uniform import Uniform
    from pollwise.policies.estimating.cho import ChoMLE, ChoNaive
    from pollwise.policies.estimating.estimator import Estimator
    from pollwise.policies.estimating.lambdacrawl import KnownLambdaCrawl, LambdaCrawl
    from pollwise.policies.estimating.mirrorsync import MirrorSync
    from pollwise.policies.gpoks.gpoks import GPOKS
    from pollwise.policies.index.bayes_index import BayesianIndex, PageEstimate
    from pollwise.policies.index.ephemeral import EphemeralIndex, SourceEstimate
    from pollwise.policies.index.whittle import Whittle
    from pollwise.policies.rules.miniflux import Miniflux
    from pollwise.policies.rules.news_crawl import NewsCrawl
    from pollwise.policies.rules.newsblur import NewsBlur
    from pollwise.policies.rules.nutch import Nutch
    from pollwise.policies.rules.stormcrawler import StormCrawler
    from pollwise.scheduler.scheduler import Scheduler
    from pollwise.simulation.loop import BudgetPerPage, simulate
    from pollwise.simulation.recorded.items import ItemReplay
    from pollwise.simulation.recorded.replay import Replay
    from pollwise.simulation.worlds.ephemeral import EphemeralSource, EphemeralWorld, play_epochs
    from pollwise.simulation.worlds.stochastic_knapsack import Play, StochasticKnapsack, play
    from pollwise.simulation.worlds.world import World
    from pollwise.simulation.worlds.zipf import Zipf
    from pollwise.types import Budget, Item, Observation, Outcome, Page, Selection

__all__ = [
    "GPOKS",
    "GPUCB",
    "HTRAA",
    "LAKG",
    "UCB1",
    "Age",
    "Allocation",
    "BayesianIndex",
    "Budget",
    "BudgetPerPage",
    "Changes",
    "ChoMLE",
    "ChoNaive",
    "Delay",
    "Detection",
    "Ephemeral",
    "EphemeralIndex",
    "EphemeralSource",
    "EphemeralWorld",
    "Estimator",
    "Fixed",
    "Freshness",
    "InputError",
    "Item",
    "ItemReplay",
    "KnownLambdaCrawl",
    "LambdaCrawl",
    "Miniflux",
    "MirrorSync",
    "Mixture",
    "NewsBlur",
    "NewsCrawl",
    "Nutch",
    "Objective",
    "Observation",
    "Optimal",
    "Outcome",
    "Page",
    "PageEstimate",
    "Play",
    "Policy",
    "Polls",
    "PollwiseError",
    "Proportional",
    "Replay",
    "Scheduler",
    "Score",
    "Selection",
    "SourceEstimate",
    "StateError",
    "StochasticKnapsack",
    "StoreError",
    "StoreVersionError",
    "StormCrawler",
    "ThompsonSampling",
    "TraceError",
    "Uniform",
    "Whittle",
    "World",
    "Zipf",
    "allocate",
    "concave_amounts",
    "det_ks",
    "objective",
    "play",
    "play_epochs",
    "polling_amounts",
    "score",
    "simulate",
]

# Where the names are, the quickly loaded first. They are loaded when they are asked for, so that
# what needs none of the compiled parts (such as `pollwise status`) starts quickly.
_HOMES = (
    "pollwise.types",
    "pollwise.errors",
    "pollwise.knapsack",
    "pollwise.metrics",
    "pollwise.objectives",
    "pollwise.policies.base",
    "pollwise.policies.index.bayes_index",
    "pollwise.policies.estimating.cho",
    "pollwise.policies.index.ephemeral",
    "pollwise.policies.estimating.estimator",
    "pollwise.policies.deadline.fixed",
    "pollwise.policies.bandits.gp_ucb",
    "pollwise.policies.gpoks.gpoks",
    "pollwise.policies.automata.htraa",
    "pollwise.policies.automata.lakg",
    "pollwise.policies.estimating.lambdacrawl",
    "pollwise.policies.rules.miniflux",
    "pollwise.policies.estimating.mirrorsync",
    "pollwise.policies.rules.news_crawl",
    "pollwise.policies.rules.newsblur",
    "pollwise.policies.rules.nutch",
    "pollwise.policies.deadline.optimal",
    "pollwise.policies.deadline.proportional",
    "pollwise.policies.rules.stormcrawler",
    "pollwise.policies.bandits.thompson",
    "pollwise.policies.bandits.ucb1",
    "pollwise.policies.deadline.uniform",
    "pollwise.policies.index.whittle",
    "pollwise.scheduler.scheduler",
    "pollwise.simulation.worlds.ephemeral",
    "pollwise.simulation.recorded.items",
    "pollwise.simulation.loop",
    "pollwise.simulation.recorded.replay",
    "pollwise.simulation.worlds.stochastic_knapsack",
    "pollwise.simulation.worlds.world",
    "pollwise.simulation.worlds.zipf",
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            module = import_module(home)
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
