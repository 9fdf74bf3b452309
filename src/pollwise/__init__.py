"""Decides which web page to fetch next under a fetch budget, and learns it online.

The same policy object runs in a simulated world, on a replayed history and against the live web:

>>> from pollwise import BayesianIndex, Zipf, simulate
>>> world = Zipf(pages=50, alpha=0.9, beta=1.5)
>>> polls = simulate(BayesianIndex(), world, polls=1000, seed=1)
>>> len(polls)
1000
"""

TYPE_CHECKING = False  # as in `typing`, whose import would take longer than all the rest

if TYPE_CHECKING:
    from pollwise.errors import InputError as InputError
    from pollwise.errors import PollwiseError as PollwiseError
    from pollwise.errors import StateError as StateError
    from pollwise.errors import StoreBusyError as StoreBusyError
    from pollwise.errors import StoreDiskError as StoreDiskError
    from pollwise.errors import StoreError as StoreError
    from pollwise.errors import StoreInUseError as StoreInUseError
    from pollwise.errors import StoreVersionError as StoreVersionError
    from pollwise.errors import TraceError as TraceError
    from pollwise.events import Added as Added
    from pollwise.events import Aimed as Aimed
    from pollwise.events import Budgeted as Budgeted
    from pollwise.events import Command as Command
    from pollwise.events import Event as Event
    from pollwise.events import HostBlocked as HostBlocked
    from pollwise.events import HostFreed as HostFreed
    from pollwise.events import HostPaced as HostPaced
    from pollwise.events import Linked as Linked
    from pollwise.events import PolicyReady as PolicyReady
    from pollwise.events import Poll as Poll
    from pollwise.events import Polled as Polled
    from pollwise.events import Removed as Removed
    from pollwise.events import Rescored as Rescored
    from pollwise.events import SavedUp as SavedUp
    from pollwise.events import Signalled as Signalled
    from pollwise.events import Staffed as Staffed
    from pollwise.events import Tick as Tick
    from pollwise.events import Together as Together
    from pollwise.events import Unanswered as Unanswered
    from pollwise.events import Updated as Updated
    from pollwise.events import WakeAt as WakeAt
    from pollwise.knapsack import Allocation as Allocation
    from pollwise.knapsack import allocate as allocate
    from pollwise.knapsack import concave_amounts as concave_amounts
    from pollwise.knapsack import det_ks as det_ks
    from pollwise.knapsack import polling_amounts as polling_amounts
    from pollwise.metrics import Changes as Changes
    from pollwise.metrics import Polls as Polls
    from pollwise.metrics import Score as Score
    from pollwise.metrics import score as score
    from pollwise.objectives import Age as Age
    from pollwise.objectives import Delay as Delay
    from pollwise.objectives import Detection as Detection
    from pollwise.objectives import Ephemeral as Ephemeral
    from pollwise.objectives import Freshness as Freshness
    from pollwise.objectives import Objective as Objective
    from pollwise.objectives import objective as objective
    from pollwise.policies.automata.htraa import HTRAA as HTRAA
    from pollwise.policies.automata.lakg import LAKG as LAKG
    from pollwise.policies.bandits.gp_ucb import GPUCB as GPUCB
    from pollwise.policies.bandits.thompson import ThompsonSampling as ThompsonSampling
    from pollwise.policies.bandits.ucb1 import UCB1 as UCB1
    from pollwise.policies.bandits.ucb1 import RawUCB1 as RawUCB1
    from pollwise.policies.base import Mixture as Mixture
    from pollwise.policies.base import Policy as Policy
    from pollwise.policies.collecting.request_controller import (
        RequestController as RequestController,
    )
    from pollwise.policies.collecting.robot import Robot as Robot
    from pollwise.policies.deadline.fixed import Fixed as Fixed
    from pollwise.policies.deadline.optimal import Optimal as Optimal
    from pollwise.policies.deadline.proportional import Proportional as Proportional
    from pollwise.policies.deadline.uniform import Uniform as Uniform
    from pollwise.policies.estimating.cho import ChoMLE as ChoMLE
    from pollwise.policies.estimating.cho import ChoNaive as ChoNaive
    from pollwise.policies.estimating.estimator import Estimator as Estimator
    from pollwise.policies.estimating.lambdacrawl import KnownLambdaCrawl as KnownLambdaCrawl
    from pollwise.policies.estimating.lambdacrawl import LambdaCrawl as LambdaCrawl
    from pollwise.policies.estimating.mirrorsync import MirrorSync as MirrorSync
    from pollwise.policies.gpoks.gpoks import GPOKS as GPOKS
    from pollwise.policies.index.bayes_index import BayesianIndex as BayesianIndex
    from pollwise.policies.index.bayes_index import PageEstimate as PageEstimate
    from pollwise.policies.index.ephemeral import EphemeralIndex as EphemeralIndex
    from pollwise.policies.index.ephemeral import SourceEstimate as SourceEstimate
    from pollwise.policies.index.whittle import Whittle as Whittle
    from pollwise.policies.rules.miniflux import Miniflux as Miniflux
    from pollwise.policies.rules.news_crawl import NewsCrawl as NewsCrawl
    from pollwise.policies.rules.newsblur import NewsBlur as NewsBlur
    from pollwise.policies.rules.nutch import Nutch as Nutch
    from pollwise.policies.rules.stormcrawler import StormCrawler as StormCrawler
    from pollwise.schedule import Schedule as Schedule
    from pollwise.scheduler.scheduler import Scheduler as Scheduler
    from pollwise.simulation.loop import BudgetPerPage as BudgetPerPage
    from pollwise.simulation.loop import SimulatedPolls as SimulatedPolls
    from pollwise.simulation.loop import simulate as simulate
    from pollwise.simulation.recorded.items import ItemReplay as ItemReplay
    from pollwise.simulation.recorded.replay import Replay as Replay
    from pollwise.simulation.worlds.ephemeral import EphemeralSource as EphemeralSource
    from pollwise.simulation.worlds.ephemeral import EphemeralWorld as EphemeralWorld
    from pollwise.simulation.worlds.ephemeral import play_epochs as play_epochs
    from pollwise.simulation.worlds.stochastic_knapsack import Play as Play
    from pollwise.simulation.worlds.stochastic_knapsack import (
        StochasticKnapsack as StochasticKnapsack,
    )
    from pollwise.simulation.worlds.stochastic_knapsack import play as play
    from pollwise.simulation.worlds.world import World as World
    from pollwise.simulation.worlds.zipf import Zipf as Zipf
    from pollwise.types import Budget as Budget
    from pollwise.types import Item as Item
    from pollwise.types import Links as Links
    from pollwise.types import Observation as Observation
    from pollwise.types import Outcome as Outcome
    from pollwise.types import Page as Page
    from pollwise.types import Selection as Selection
    from pollwise.types import StateDict as StateDict
    from pollwise.version import __version__ as __version__

_NAMES = {
    "pollwise.errors": (
        "InputError PollwiseError StateError StoreBusyError StoreDiskError StoreError"
        " StoreInUseError StoreVersionError TraceError"
    ),
    "pollwise.events": (
        "Added Aimed Budgeted Command Event HostBlocked HostFreed HostPaced Linked PolicyReady"
        " Poll Polled Removed Rescored SavedUp Signalled Staffed Tick Together Unanswered Updated"
        " WakeAt"
    ),
    "pollwise.knapsack": "Allocation allocate concave_amounts det_ks polling_amounts",
    "pollwise.metrics": "Changes Polls Score score",
    "pollwise.objectives": "Age Delay Detection Ephemeral Freshness Objective objective",
    "pollwise.policies.automata.htraa": "HTRAA",
    "pollwise.policies.automata.lakg": "LAKG",
    "pollwise.policies.bandits.gp_ucb": "GPUCB",
    "pollwise.policies.bandits.thompson": "ThompsonSampling",
    "pollwise.policies.bandits.ucb1": "RawUCB1 UCB1",
    "pollwise.policies.base": "Mixture Policy",
    "pollwise.policies.collecting.request_controller": "RequestController",
    "pollwise.policies.collecting.robot": "Robot",
    "pollwise.policies.deadline.fixed": "Fixed",
    "pollwise.policies.deadline.optimal": "Optimal",
    "pollwise.policies.deadline.proportional": "Proportional",
    "pollwise.policies.deadline.uniform": "Uniform",
    "pollwise.policies.estimating.cho": "ChoMLE ChoNaive",
    "pollwise.policies.estimating.estimator": "Estimator",
    "pollwise.policies.estimating.lambdacrawl": "KnownLambdaCrawl LambdaCrawl",
    "pollwise.policies.estimating.mirrorsync": "MirrorSync",
    "pollwise.policies.gpoks.gpoks": "GPOKS",
    "pollwise.policies.index.bayes_index": "BayesianIndex PageEstimate",
    "pollwise.policies.index.ephemeral": "EphemeralIndex SourceEstimate",
    "pollwise.policies.index.whittle": "Whittle",
    "pollwise.policies.rules.miniflux": "Miniflux",
    "pollwise.policies.rules.news_crawl": "NewsCrawl",
    "pollwise.policies.rules.newsblur": "NewsBlur",
    "pollwise.policies.rules.nutch": "Nutch",
    "pollwise.policies.rules.stormcrawler": "StormCrawler",
    "pollwise.schedule": "Schedule",
    "pollwise.scheduler.scheduler": "Scheduler",
    "pollwise.simulation.loop": "BudgetPerPage SimulatedPolls simulate",
    "pollwise.simulation.recorded.items": "ItemReplay",
    "pollwise.simulation.recorded.replay": "Replay",
    "pollwise.simulation.worlds.ephemeral": "EphemeralSource EphemeralWorld play_epochs",
    "pollwise.simulation.worlds.stochastic_knapsack": "Play StochasticKnapsack play",
    "pollwise.simulation.worlds.world": "World",
    "pollwise.simulation.worlds.zipf": "Zipf",
    "pollwise.types": "Budget Item Links Observation Outcome Page Selection StateDict",
    "pollwise.version": "__version__",
}
"""The public names by the modules that they are in. A module is imported when one of its names is
first asked for: what needs no compiled parts, such as `pollwise status`, starts quickly."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOMES)


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a type checker would take any name to be there

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        globals()[name] = value = getattr(import_module(_HOMES[name]), name)
        return value
