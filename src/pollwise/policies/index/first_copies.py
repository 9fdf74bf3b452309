"""When the first copy of a page is worth a poll, where a first copy by itself brings nothing.

For freshness, delay and age a page without a copy is as stale as can be, and comes first. For
detection its first copy shows no change: it only makes later polls worth something. At the price p
a page of the rate λ and the weight w then brings, by the best polls, wλe^-a a second above what
they cost, where p = w[1 - e^-a(1 + a)] (`objectives.Detection`). How long polling will go on is not
known; it is taken to go on for as long as it has (the usual guess of a lifetime from an age). In
that time h the first copy brings h w E[λ] e^-a, and it is worth its poll if that is at least p. The
mean is over the prior of the page, of rates that the budget can follow.

The price is what the best poll of a page with a copy is worth if the page has one rate for good,
without hope. While nothing is known that is little, so first copies come first; a page that was
dated yesterday gets its second poll before the other pages have their first. A first copy never
waits twice in a row (`queue.head_wins`). The function is compiled.
"""

import math

from pollwise.kernel_cache import kernel
from pollwise.policies.index.page_index import own_price, worth_of
from pollwise.policies.index.prior import prior_of, steady_model
from pollwise.policies.index.state import INDEX_TABLE, SEEN_SURGE, IndexState
from pollwise.rates.lattice import RATE_COUNT, RATES, lattice_row, time_step
from pollwise.rates.sums import mean_over, normalise

__all__ = ["copy_can_wait"]


@kernel
def copy_can_wait(state: IndexState, page: int, rival: int, now: float) -> bool:
    """Whether a poll of `rival`, which has a copy, is worth more than the first copy of a page.

    For objectives other than detection, and where rates are known, it never is.
    """
    common, own, other = state.shared[0], state.pages[page], state.pages[rival]
    if not common.learning or common.surge_kind != SEEN_SURGE or common.gap <= 0.0:
        return False
    elapsed, passed = now - other.seen_at, now - common.began_at
    if not (elapsed > 0.0 and passed > 0.0):
        return False
    rates = steady_model(state, rival)
    worth = mean_over(rates, lattice_row(common.tables[INDEX_TABLE], time_step(elapsed)))
    price = worth * other.weight * worth_of(other, common) / own_price(state, rival)
    weight = own.weight / own_price(state, page)
    prior = prior_of(state, page)
    normalise(prior)
    rate = 0.0
    for j in range(RATE_COUNT):
        rate += prior[j] * min(RATES[j], 1.0 / common.gap)
    brought = passed * weight * rate
    if price <= 0.0 or price >= brought:
        return price > 0.0
    # The largest a at which the copy is worth p, and the price that belongs to it.
    a = math.log(brought / price)
    return weight * (1.0 - math.exp(-a) * (1.0 + a)) < price
