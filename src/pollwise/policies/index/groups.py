"""Groups of pages that have a share of the budget: each group has a price of its own.

The *group price* is a factor on the price at which the pages of a group are polled. What a poll
takes from the budget raises the price of its group and lowers those of the others, in proportion to
their shares, so that no price moves on average where each group has its share. That is dual ascent
on the Lagrange multipliers of the shares. The steps are small beside the part of the pages that the
queue puts into their new places meanwhile: with larger ones prices would swing.

A group without a page to offer, as all are paused, held back or being polled, keeps its price, and
the others share what it leaves. The functions are compiled.
"""

import math
from typing import Any

from pollwise.checks import MOST_SHARES
from pollwise.kernel_cache import kernel

__all__ = ["MOST_GROUPS", "charge_group", "count_page", "have_moved", "note_swept", "share_of"]

MOST_GROUPS = MOST_SHARES + 1
"""Groups with a share of the budget, and the rest."""

_LONGEST_STEP = 0.05
_STEP_OF_ALL = 32.0
"""The step of a logarithm of prices times the number of pages."""
_MEMORY = 1000
"""Polls over which their cost is averaged."""
_FARTHEST = 8.0
"""The largest logarithm of a group price: no price runs away while it has no effect."""


@kernel(allocates=False)
def share_of(shared: Any, group: int) -> float:
    """The share of the budget that a group has among those with pages."""
    common = shared[0]
    if common.group_pages[group] == 0:
        return 0.0
    total = 0.0
    for other in range(common.groups):
        if common.group_pages[other] > 0:
            total += common.group_share[other]
    return common.group_share[group] / total if total > 0.0 else 0.0


@kernel(allocates=False)
def count_page(shared: Any, group: int, pages: int, offered: int) -> None:
    """A group has so many pages more, and so many more to offer; below 0: fewer."""
    shared[0].group_pages[group] += pages
    shared[0].group_offered[group] += offered


@kernel(allocates=False)
def charge_group(shared: Any, group: int, cost: float) -> None:
    """A poll of a page of this group took so much of the budget: its price rises, others fall."""
    common = shared[0]
    if common.groups == 0:
        return
    # By the mean before: else dear polls would be charged less than cheap ones.
    relative = cost / common.mean_cost if common.mean_cost > 0.0 else 1.0
    common.charged += 1
    common.mean_cost += (cost - common.mean_cost) / min(common.charged, _MEMORY)
    total = 0.0
    for other in range(common.groups):
        if other == group or common.group_offered[other] > 0:
            total += common.group_share[other]
    if total <= 0.0:
        return
    step = min(_LONGEST_STEP, _STEP_OF_ALL / max(common.pages, 1)) * relative
    for other in range(common.groups):
        if other == group or common.group_offered[other] > 0:
            excess = (1.0 if other == group else 0.0) - common.group_share[other] / total
            price = common.group_price[other] * math.exp(step * excess)
            common.group_price[other] = min(max(price, math.exp(-_FARTHEST)), math.exp(_FARTHEST))


@kernel(allocates=False)
def have_moved(shared: Any, factor: float) -> bool:
    """Whether a group price has moved by this factor since `note_swept`."""
    common = shared[0]
    for group in range(common.groups):
        before, now = common.group_swept[group], common.group_price[group]
        if now > before * factor or now * factor < before:
            return True
    return False


@kernel(allocates=False)
def note_swept(shared: Any) -> None:
    """Note the prices for `have_moved`."""
    common = shared[0]
    for group in range(common.groups):
        common.group_swept[group] = common.group_price[group]
