"""Bandits whose arms are mixtures of two pages: compiled kernels.

Of K - 1 arms, arm k = 1 ... K - 1 gives the first page (that of the lower id) k/K of the polls and
the second the rest. A pull of an arm is a number of polls (`BANDIT_SHARED.length`), and what it
pays is the mean of what they found: 1 a change, 0 none. The arm of the next pull is one of the
highest score (of equals: the first), which is one of three:

*   UCB1: the mean reward of the arm plus √(2 ln n / n_k), after n pulls in all and n_k of this arm;
    each arm is pulled once first (Auer, Cesa-Bianchi and Fischer 2002).
*   Thompson sampling: a draw from what is believed of the arm's mean reward.
*   Optimism: the mean of what is believed plus two standard deviations.

What is believed of the arms' mean rewards θ is a normal distribution with means m and covariances
C; a pull of arm a that paid r, with noise of variance σ², is taken in by one step of Kalman's
filter, in a time that does not grow with the number of pulls::

    m <- m + C_a (r - m_a)/(C_aa + σ²)        C <- C - C_a C_a^T/(C_aa + σ²)

A pull begins when both pages can be polled. While one cannot be (it is leased, held or not there)
the other is still given, but such a poll is no fair sample of a mixture and counts for no arm. Nor
does the first poll of a page without a copy.

Polls that fail are left out of the mean, and a pull all of whose polls fail is not counted. If one
page always fails, all arms are judged by the other page alone, and none is better than another.
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
    "forget_pull",
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
        ("of_pull", "i8"),  # 1: leased for the pull under way
        ("where", "i8"),
    ]
)
"""What is kept of each page."""

BANDIT_SHARED = np.dtype(
    [
        ("score", "i8"),
        ("noise", "f8"),  # the variance of what a pull pays, about the mean of its arm
        ("length", "i8"),  # polls of a pull
        ("page", "i8", (2,)),  # ids of the first page and the second; NOBODY
        ("arm", "i8"),  # the one that is played
        ("dealt", "i8", (2,)),  # polls of this pull, by page
        ("told", "i8"),  # those that told something
        ("changed", "i8"),  # those that found a change
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
        if own.pulls == 0:
            return math.inf
        return own.mean + math.sqrt(2.0 * math.log(pulls) / own.pulls)
    # Rounding may leave less than nothing of a variance.
    deviation = math.sqrt(max(state.covariance[arm, arm], 0.0))
    optimism = state.generator.standard_normal() if score == THOMPSON else 2.0
    return own.mean + optimism * deviation


@kernel
def _best_arm(state: BanditState) -> int:
    pulls = 0
    for arm in range(len(state.arms)):
        pulls += state.arms[arm].pulls
    best, highest = 0, -math.inf
    for arm in range(len(state.arms)):
        score = _score(state, arm, pulls)
        if score > highest:
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
def _polls_left(state: BanditState, side: int) -> int:
    """How many polls of a page this pull has left."""
    common = state.shared[0]
    if common.length == 1:
        return 1 - common.dealt[0] - common.dealt[1]
    share = common.arm + 1 if side == 0 else common.length - common.arm - 1
    return share - common.dealt[side]


@kernel
def _next_side(state: BanditState) -> int:
    """Which page (0 or 1) has the next poll of this pull, if both can be polled.

    The page of a single poll is drawn. If a page has n of several polls, they are due at
    (i + 1/2)/n of the pull, i = 0 ... n - 1.
    """
    common = state.shared[0]
    if common.length == 1:
        return 0 if state.generator.random() * (len(state.arms) + 1) < common.arm + 1 else 1
    dealt = common.dealt
    left = (_polls_left(state, 0), _polls_left(state, 1))
    if left[0] == 0 or left[1] == 0:
        return 0 if left[0] > 0 else 1
    first = (dealt[0] + 0.5) * (dealt[1] + left[1])
    return 0 if first <= (dealt[1] + 0.5) * (dealt[0] + left[0]) else 1


@kernel
def select_bandit(state: BanditState, now: float) -> int:
    """Lease a page of the mixture that is played and give its id; -1: there is none to poll."""
    common = state.shared[0]
    first, second = _has_turn(state, 0, now), _has_turn(state, 1, now)
    if not (first or second):
        return NOBODY
    begun = common.dealt[0] + common.dealt[1] > 0
    if first and second:
        if not begun:
            common.arm = _best_arm(state)
            begun = True
        side = _next_side(state)
    else:
        side = 0 if first else 1
    of_pull = begun and _polls_left(state, side) > 0
    common.dealt[side] += of_pull
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
def _end_pull(state: BanditState) -> None:
    """Learn from a pull all of whose polls have ended."""
    common = state.shared[0]
    if common.dealt[0] + common.dealt[1] < common.length:
        return
    for page in common.page:
        if page != NOBODY and state.pages[page].of_pull:
            return
    if common.told > 0:
        _learn(state, common.arm, common.changed / common.told)
    forget_pull(state)


@kernel
def forget_pull(state: BanditState) -> None:
    """Begin a new pull; what the polls of the one under way will find tells nothing."""
    common = state.shared[0]
    common.dealt[:] = 0
    common.told = 0
    common.changed = 0
    for page in common.page:
        if page != NOBODY:
            state.pages[page].of_pull = 0


@kernel
def observe_bandit(state: BanditState, observation: Any) -> None:
    """Take in one observation: it may end a pull, and it ends the lease."""
    own, common = state.pages[observation.page], state.shared[0]
    told = False
    if tells(observation, own.polled_at):
        told = not math.isnan(own.polled_at)
        own.polled_at = observation.polled_at
    if own.where != LEASED:
        return
    own.where = READY
    if own.of_pull:
        own.of_pull = 0
        if told:
            common.told += 1
            common.changed += observation.outcome == _CHANGED
        _end_pull(state)


@kernel
def _defer(state: BanditState, page: int, until: float) -> None:
    """The pull gets its poll back."""
    own, common = state.pages[page], state.shared[0]
    own.back_at = until
    if own.of_pull:
        own.of_pull = 0
        common.dealt[0 if common.page[0] == page else 1] -= 1


@kernel
def amount_bandit(state: BanditState, page: int) -> float:
    """The share of polls of a page in the arm that is played: all of them if it is alone."""
    common = state.shared[0]
    there = 0 <= page < len(state.pages)
    if not there or state.pages[page].where == ABSENT:
        return 0.0
    if common.page[1] == NOBODY:
        return 1.0
    share = (common.arm + 1) / (len(state.arms) + 1)
    return share if common.page[0] == page else 1.0 - share


register(BanditState, Kernels(select_bandit, observe_bandit, wake_bandit, _defer, amount_bandit))
