"""The square-root staffing rule, in formula and in a simulated closed queueing network."""

import heapq
import math

import numpy as np
import pytest

from pollwise.collecting.fetcher_controller import FetcherController
from pollwise.errors import InputError


def told(latency: float, processing_time: float, **options: float) -> FetcherController:
    controller = FetcherController(**options)
    controller.fetched(latency)
    controller.processed(processing_time)
    return controller


def test_the_rule():
    assert told(1.0, 0.01).staff(10_000) == 100 + 2 * 10 + 1
    assert told(1.0, 0.01, safety=3.0).staff(10_000) == 100 + 3 * 10 + 1
    assert told(1.0, 0.02, workers=2).staff(10_000) == 100 + 2 * 10 + 2


def test_hosts_and_the_bound_cap_it():
    assert told(1.0, 0.01).staff(7) == 7
    assert told(1.0, 0.01).staff(0) == 1
    assert told(1.0, 0.01, most_polls=50).staff(10_000) == 50
    assert told(1e9, 1e-12).staff(10_000) == 1000
    assert told(1.0, 0.01).staff(10_000, slow=30) == 100 + 2 * 10 + 1 + 30
    assert told(1.0, 0.01, most_polls=50).staff(10_000, slow=30) == 50
    assert told(1.0, 0.01).latency == 1.0
    assert FetcherController().latency == 0.0


def test_it_starts_small_and_needs_no_measurement():
    controller = FetcherController()
    assert controller.staff(100) == 8
    controller.fetched(0.5)
    assert controller.staff(100) == 8
    controller.processed(0.0)
    assert controller.staff(2000) == 1000


def test_the_times_are_followed():
    controller = FetcherController(most_polls=100_000)
    controller.fetched(1.0)
    controller.processed(1e-5)
    for _ in range(2000):
        controller.fetched(0.25)
    # m + 2 √m + 1 where m is the latency by the processing time, so both are seen to a thousandth.
    assert controller.staff(100_000) == pytest.approx(25_000 + 2 * 25_000**0.5 + 1, rel=1e-3)


@pytest.mark.parametrize("options", [{"workers": 0}, {"safety": -1.0}, {"most_polls": 0}])
def test_values_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        FetcherController(**options)


def test_idleness_raises_the_safety_and_work_lowers_it():
    controller = told(1.0, 0.01)
    controller.staff(10_000)
    controller.idled(0.3)
    assert controller.staff(10_000) == 100 + 22 + 1
    for _ in range(5):
        controller.idled(0.0)
    assert controller.staff(10_000) < 100 + 20 + 2
    for _ in range(500):
        controller.idled(1.0)
    assert controller.staff(10_000) == 100 + 100 + 1
    for _ in range(500):
        controller.idled(0.0)
    assert controller.staff(10_000) == 100 + 10 + 1


def test_idleness_for_want_of_hosts_tells_nothing():
    controller = told(1.0, 0.01)
    controller.staff(50)
    controller.idled(0.5)
    assert controller.staff(10_000) == 100 + 20 + 1


def simulated(controller: FetcherController, pages: int, seed: int) -> tuple[float, float]:
    """Idle share of one processor, and its mean queue, when the controller staffs the fetchers.

    Fetches take 0.6 s on average, log-normally distributed; processing takes 10 ms, gamma.
    """
    rng = np.random.default_rng(seed)
    arrivals: list[float] = []
    under_way = 0
    now = free_at = busy = waited = 0.0
    for work in rng.gamma(4.0, 0.0025, pages):
        while under_way < controller.staff(10_000):
            fetch = rng.lognormal(math.log(0.6) - 0.5, 1.0)
            controller.fetched(fetch)
            heapq.heappush(arrivals, now + fetch)
            under_way += 1
        arrived = heapq.heappop(arrivals)
        start = max(arrived, free_at)
        waited += start - arrived
        free_at = now = start + work
        busy += work
        controller.processed(work)
        under_way -= 1
    return 1 - busy / now, waited / now


def test_the_processor_is_kept_busy_with_a_short_queue():
    idle, queue = simulated(FetcherController(), 20_000, seed=1)
    assert idle < 0.02
    assert queue < 20
