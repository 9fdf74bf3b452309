"""Bandits that share the polls of two pages out: compiled kernels.

Of K - 1 arms, arm k = 1 ... K - 1 is a mixture, which gives the first page (that of the lower id)
k/K of the polls and the second the rest; or there are two arms, which are the pages themselves
(`BANDIT_SHARED.raw`). A pull of an arm is one poll, of the page of that arm or, with mixtures, of
one that is drawn by its share, and pays 1 for a change, 0 for none. The arm of the next pull is one
of the highest score (of equals: the last), which is one of three:

*   UCB1: the mean reward of the arm plus √(2 ln n / n_k), after n pulls in all and n_k of this arm;
    each arm is pulled once first, in order (Auer, Cesa-Bianchi and Fischer 2002).
*   Thompson sampling: a draw from what is believed of the arm's mean reward.
*   Optimism: the mean of what is believed plus two standard deviations.

What is believed of the arms' mean rewards θ is a normal distribution with means m and covariances
C; a pull of arm a that paid r, with noise of variance σ², is taken in by one step of Kalman's
filter, in a time that does not grow with the number of pulls::

    m <- m + C_a (r - m_a)/(C_aa + σ²)        C <- C - C_a C_a^T/(C_aa + σ²)

A pull begins when both pages can be polled. While one cannot be (it is leased, held or not there)
the other is still given, but such a poll is no fair sample of a choice and counts for no arm. Nor
does the first poll of a page without a copy.

A pull whose poll fails is not counted. If one page always fails, all mixtures are judged by the
other page alone, and none is better than another.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import ABSENT, HELD, LEASED, READY, tells, typed_once
from pollwise.policies.compiled import Kernels, register
from pollwise.types import Outcome

__all__ = [
    "ARM",
    "BANDIT_PAGE",
    "BANDIT_SHARED",
    "BOUND",
    "NOBODY",
    "OPTIMISM",
    "THOMPSON",
    "BanditState",
    "amount_bandit",
    "observe_bandit",
    "select_bandit",
    "wake_bandit",
]

NOBODY = -1
"""Instead of the id of a page: there is none."""

BOUND, THOMPSON, OPTIMISM = range(3)
"""How arms are scored."""

BANDIT_PAGE = np.dtype(
    [
        ("polled_at", "f8"),  # time of the latest poll that told something, or of the copy; or NaN
        ("back_at", "f8"),  # when it is held no longer
        ("of_pull", "i8"),  # 1: leased for the pull of the arm that is played
        ("where", "i8"),
    ]
)
"""What is kept of each page."""

BANDIT_SHARED = np.dtype(
    [
        ("score", "i8"),
        ("raw", "i8"),  # 1: the arms are the pages, not mixtures
        ("noise", "f8"),  # the variance of what a pull pays, about the mean of its arm
        ("page", "i8", (2,)),  # ids of the first page and the second; NOBODY
        ("arm", "i8"),  # the one that is played
    ]
)
"""What the pages share."""

ARM = np.dtype(
    [
        ("pulls", "i8"),
        ("paid", "f8"),  # by all of them
        ("mean", "f8"),  # what is believed to be paid by a pull
    ]
)
"""What is kept of each arm, besides the covariances."""

_CHANGED = int(Outcome.CHANGED)


@typed_once
class BanditState(NamedTuple):
    """The state of a bandit. Ids of pages are indices of `pages`."""

    pages: NDArray[Any]  # of BANDIT_PAGE
    shared: NDArray[Any]  # of BANDIT_SHARED, one element
    arms: NDArray[Any]  # of ARM
    covariance: NDArray[np.float64]  # of the arms' means; without rows: nothing is believed
    generator: np.random.Generator


@kernel
def _score(state: BanditState, arm: int, pulls: int) -> float:
    own, score = state.arms[arm], state.shared[0].score
    if score == BOUND:
        return own.mean + math.sqrt(2.0 * math.log(pulls) / own.pulls)
    # Rounding may leave less than nothing of a variance.
    deviation = math.sqrt(max(state.covariance[arm, arm], 0.0))
    optimism = state.generator.standard_normal() if score == THOMPSON else 2.0
    return own.mean + optimism * deviation


@kernel
def _best_arm(state: BanditState) -> int:
    pulls = 0
    for arm in range(len(state.arms)):
        if state.shared[0].score == BOUND and state.arms[arm].pulls == 0:
            return arm
        pulls += state.arms[arm].pulls
    best, highest = 0, -math.inf
    for arm in range(len(state.arms)):
        score = _score(state, arm, pulls)
        if score >= highest:
            best, highest = arm, score
    return best


@kernel
def _learn(state: BanditState, arm: int, reward: float) -> None:
    """Take in what a pull paid."""
    own, count = state.arms[arm], len(state.covariance)
    own.pulls += 1
    own.paid += reward
    if count == 0:
        own.mean = own.paid / own.pulls
        return
    surprise = reward - own.mean
    column = state.covariance[arm].copy()
    total = column[arm] + state.shared[0].noise
    for i in range(count):
        state.arms[i].mean += column[i] / total * surprise
        for j in range(count):
            state.covariance[i, j] -= column[i] * column[j] / total


@kernel
def _has_turn(state: BanditState, side: int, now: float) -> bool:
    """Whether the first (0) or second (1) page is there and neither leased nor held."""
    page = state.shared[0].page[side]
    if page == NOBODY:
        return False
    own = state.pages[page]
    if own.where == HELD and own.back_at <= now:
        own.where = READY
    return own.where == READY


@kernel
def _side_of_arm(state: BanditState) -> int:
    """Which page (0 or 1) a pull of the arm polls: that of the arm, or one drawn by its share."""
    common = state.shared[0]
    if common.raw:
        return int(common.arm)
    return 0 if state.generator.random() * (len(state.arms) + 1) < common.arm + 1 else 1


@kernel
def select_bandit(state: BanditState, now: float) -> int:
    """Lease a page of the arm that is played and give its id; -1: there is none to poll."""
    common = state.shared[0]
    first, second = _has_turn(state, 0, now), _has_turn(state, 1, now)
    if not (first or second):
        return NOBODY
    of_pull = first and second
    if of_pull:
        common.arm = _best_arm(state)
        side = _side_of_arm(state)
    else:
        side = 0 if first else 1
    page = common.page[side]
    state.pages[page].where = LEASED
    state.pages[page].of_pull = of_pull
    return int(page)


@kernel
def wake_bandit(state: BanditState) -> float:
    """When a page can be selected again, if there is none now; infinite: not by time alone."""
    time = math.inf
    for page in state.shared[0].page:
        if page != NOBODY and state.pages[page].where == HELD:
            time = min(time, state.pages[page].back_at)
    return time


@kernel
def observe_bandit(state: BanditState, observation: Any) -> None:
    """Take in one observation: the arm may learn of it, and the lease ends."""
    own, told = state.pages[observation.page], False
    if tells(observation, own.polled_at):
        told = not math.isnan(own.polled_at)
        own.polled_at = observation.polled_at
    if own.where != LEASED:
        return
    own.where = READY
    if own.of_pull and told:
        _learn(state, state.shared[0].arm, 1.0 if observation.outcome == _CHANGED else 0.0)
    own.of_pull = 0


@kernel
def _defer(state: BanditState, page: int, until: float) -> None:
    """The pull is off."""
    state.pages[page].back_at = until
    state.pages[page].of_pull = 0


@kernel
def amount_bandit(state: BanditState, page: int) -> float:
    """The share of polls of a page in the mixture that is played: all of them if it is alone.

    NaN: the arms are no mixtures.
    """
    common = state.shared[0]
    if common.raw:
        return math.nan
    there = 0 <= page < len(state.pages)
    if not there or state.pages[page].where == ABSENT:
        return 0.0
    if common.page[1] == NOBODY:
        return 1.0
    share = (common.arm + 1) / (len(state.arms) + 1)
    return share if common.page[0] == page else 1.0 - share


register(BanditState, Kernels(select_bandit, observe_bandit, wake_bandit, _defer, amount_bandit))
