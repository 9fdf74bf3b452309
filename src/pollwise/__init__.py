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
    from pollwise.policies.base import Mixture, Policy
    from pollwise.policies.bayes_index import BayesianIndex, PageEstimate
    from pollwise.policies.cho import ChoMLE, ChoNaive
    from pollwise.policies.ephemeral_index import EphemeralIndex, SourceEstimate
    from pollwise.policies.estimator import Estimator
    from pollwise.policies.fixed import Fixed
    from pollwise.policies.gp_ucb import GPUCB
    from pollwise.policies.gpoks import GPOKS
    from pollwise.policies.htraa import HTRAA
    from pollwise.policies.lakg import LAKG
    from pollwise.policies.lambdacrawl import KnownLambdaCrawl, LambdaCrawl
    from pollwise.policies.miniflux import Miniflux
    from pollwise.policies.mirrorsync import MirrorSync
    from pollwise.policies.news_crawl import NewsCrawl
    from pollwise.policies.newsblur import NewsBlur
    from pollwise.policies.nutch import Nutch
    from pollwise.policies.optimal import Optimal
    from pollwise.policies.proportional import Proportional
    from pollwise.policies.stormcrawler import StormCrawler
    from pollwise.policies.thompson import ThompsonSampling
    from pollwise.policies.ucb1 import UCB1
    from pollwise.policies.uniform import Uniform
    from pollwise.policies.whittle import Whittle
    from pollwise.scheduler import Scheduler
    from pollwise.simulation.ephemeral import EphemeralSource, EphemeralWorld, play_epochs
    from pollwise.simulation.items import ItemReplay
    from pollwise.simulation.loop import BudgetPerPage, simulate
    from pollwise.simulation.replay import Replay
    from pollwise.simulation.stochastic_knapsack import Play, StochasticKnapsack, play
    from pollwise.simulation.world import World
    from pollwise.simulation.zipf import Zipf
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
    "pollwise.policies.bayes_index",
    "pollwise.policies.cho",
    "pollwise.policies.ephemeral_index",
    "pollwise.policies.estimator",
    "pollwise.policies.fixed",
    "pollwise.policies.gp_ucb",
    "pollwise.policies.gpoks",
    "pollwise.policies.htraa",
    "pollwise.policies.lakg",
    "pollwise.policies.lambdacrawl",
    "pollwise.policies.miniflux",
    "pollwise.policies.mirrorsync",
    "pollwise.policies.news_crawl",
    "pollwise.policies.newsblur",
    "pollwise.policies.nutch",
    "pollwise.policies.optimal",
    "pollwise.policies.proportional",
    "pollwise.policies.stormcrawler",
    "pollwise.policies.thompson",
    "pollwise.policies.ucb1",
    "pollwise.policies.uniform",
    "pollwise.policies.whittle",
    "pollwise.scheduler",
    "pollwise.simulation.ephemeral",
    "pollwise.simulation.items",
    "pollwise.simulation.loop",
    "pollwise.simulation.replay",
    "pollwise.simulation.stochastic_knapsack",
    "pollwise.simulation.world",
    "pollwise.simulation.zipf",
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            module = import_module(home)
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
