"""Changes come as often as the formula of the world says, and the seed says when."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pollwise.errors import InputError
from pollwise.policies.deadline.uniform import Uniform
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.simulation.loop import simulate
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Outcome

STEPS = 20_000


def reset(seed: int = 1, duration: float = STEPS, **options) -> Zipf:
    world = Zipf(**{"pages": 50, "alpha": 0.9, "beta": 1.5, **options})
    world.reset(seed, duration)
    return world


def probabilities(world: Zipf) -> np.ndarray:
    """Of a change of each page in a step, at the begin."""
    return -np.expm1(-np.array([world.rates[page.id] for page in world.pages]))


def expected(pages: int, alpha: float, beta: float) -> np.ndarray:
    return np.array([alpha / rank**beta for rank in range(1, pages + 1)])


def steps_with_change(world: Zipf, page_id: int) -> int:
    times = world.changes.of_page(page_id)
    return np.unique(np.floor(times[(times >= 0) & (times < STEPS)])).size


@pytest.mark.parametrize(("alpha", "beta"), [(0.9, 1.5), (0.3, 1.5), (0.3, 1.0)])
def test_a_step_sees_a_change_with_the_probability_of_the_rank(alpha, beta):
    world = reset(alpha=alpha, beta=beta)
    p = probabilities(world)
    assert np.sort(p)[::-1] == pytest.approx(expected(50, alpha, beta))
    counts = np.array([steps_with_change(world, page) for page in range(50)])
    chi_square = np.sum((counts - STEPS * p) ** 2 / (STEPS * p * (1 - p)))
    assert stats.chi2(50).ppf(0.001) < chi_square < stats.chi2(50).ppf(0.999)


def test_times_between_changes_are_exponential():
    world = reset(pages=1, alpha=0.5)
    gaps = np.diff(world.changes.of_page(0)) * world.rates[0]
    assert stats.kstest(gaps, "expon").pvalue > 0.001


def test_copies_are_as_old_as_if_pages_had_been_polled_in_turn():
    world = reset(pages=400)
    ages = -np.array([page.seen_at for page in world.pages]) / 400
    assert stats.kstest(ages, "uniform").pvalue > 0.001
    assert all(world.changes.of_page(n).min(initial=0.0) >= -400 for n in range(400))
    assert any(world.changes.of_page(n).min(initial=0.0) < 0 for n in range(400))


def test_the_ideal_is_the_probability_of_any_change():
    world = reset(pages=20, alpha=0.3, beta=1.0)
    assert world.ideal == pytest.approx(1 - math.prod(1 - p for p in expected(20, 0.3, 1.0)))


class TestOrder:
    def test_ranks_are_at_random_at_first(self):
        orders = [tuple(probabilities(reset(seed)).argsort()) for seed in range(4)]
        assert len(set(orders)) == 4

    def test_without_perturbations_they_are_in_order(self):
        p = probabilities(reset(perturbations=0))
        assert p == pytest.approx(expected(50, 0.9, 1.5))

    @settings(max_examples=20)
    @given(seed=st.integers(0, 1000), swaps=st.integers(0, 30))
    def test_each_perturbation_swaps_two_neighbours(self, seed, swaps):
        p = probabilities(reset(seed, duration=10.0, perturbations=swaps))
        order = np.argsort(-p, kind="stable")
        inversions = sum(int((order[:n] > page).sum()) for n, page in enumerate(order))
        assert inversions <= swaps
        # A swap undoes another, or draws the last rank, which has no other to swap with.
        assert np.sort(p)[::-1] == pytest.approx(expected(50, 0.9, 1.5))

    def test_perturbations_swap_all_ranks_equally_often(self):
        """One each; Granmo and Oommen 2011, section 4.3.1: a randomly selected material."""
        pages, seeds = 5, 2000
        counts = np.zeros(pages)
        for seed in range(seeds):
            p = probabilities(reset(seed, 1.0, pages=pages, beta=1.0, perturbations=1))
            moved = np.flatnonzero(~np.isclose(p, expected(pages, 0.9, 1.0)))
            assert moved.tolist() in ([], *([n, n + 1] for n in range(pages - 1)))
            counts[moved[0] if moved.size else pages - 1] += 1
        assert stats.chisquare(counts).pvalue > 0.001


class TestDynamic:
    def rates_at(self, world: Zipf, time: float) -> np.ndarray:
        """From the cumulative hazard within the step that ends at `time`."""
        ids = np.arange(len(world.pages))
        after = world.cumulative_hazard(ids, np.full(ids.size, time))
        return after - world.cumulative_hazard(ids, np.full(ids.size, time - 1.0))

    def test_every_so_many_steps_two_neighbouring_ranks_swap(self):
        """The first of the two is drawn in proportion to its change probability."""
        world = reset(pages=6, beta=1.0, swap_every=10, duration=10_000.0)
        rates = [self.rates_at(world, time) for time in np.arange(10.0, 10_001.0, 10.0)]
        assert rates[0] == pytest.approx(list(world.rates.values()))
        ladder = -np.log1p(-expected(6, 0.9, 1.0))
        swaps = np.zeros(6)
        for before, after in itertools.pairwise(rates):
            assert np.sort(after)[::-1] == pytest.approx(ladder)
            moved = np.flatnonzero(~np.isclose(before, after))
            assert moved.size in (0, 2)
            if moved.size:
                ranks = np.argmin(np.abs(ladder[:, None] - before[moved]), axis=0)
                assert abs(ranks[0] - ranks[1]) == 1
                assert after[moved] == pytest.approx(before[moved][::-1])
            swaps[ranks.min() if moved.size else 5] += 1  # the last rank has no next
        share = expected(6, 1.0, 1.0)
        assert stats.chisquare(swaps, 999 * share / share.sum()).pvalue > 0.001

    def test_between_swaps_nothing_moves(self):
        world = reset(pages=6, beta=1.0, swap_every=100, duration=1000.0)
        for begin in range(0, 1000, 100):
            inside = [self.rates_at(world, begin + step) for step in (1.0, 50.0, 100.0)]
            assert inside[0] == pytest.approx(inside[1])
            assert inside[0] == pytest.approx(inside[2])

    def test_changes_follow_the_hazard(self):
        """Taken as a clock, the cumulative hazard makes the changes of a page a unit process."""
        world = reset(pages=5, beta=1.0, swap_every=50)
        for page in range(5):
            times = world.changes.of_page(page)
            hazards = world.cumulative_hazard(np.full(times.size, page), times)
            assert stats.kstest(np.diff(hazards), "expon").pvalue > 0.001


@pytest.mark.parametrize("swap_every", [None, 70])
def test_the_cumulative_hazard_is_the_expected_number_of_changes(swap_every):
    world = reset(swap_every=swap_every)
    ids = np.arange(50)
    begin = world.cumulative_hazard(ids, np.zeros(50))
    end = world.cumulative_hazard(ids, np.full(50, float(STEPS)))
    counts = np.array([(world.changes.of_page(page) >= 0).sum() for page in ids])
    chi_square = np.sum((counts - (end - begin)) ** 2 / (end - begin))
    assert stats.chi2(50).ppf(0.001) < chi_square < stats.chi2(50).ppf(0.999)
    if swap_every is None:
        assert end - begin == pytest.approx([STEPS * world.rates[page] for page in range(50)])


def test_the_cumulative_hazard_takes_pages_in_any_order():
    world = reset(swap_every=70)
    rng = np.random.default_rng(3)
    ids, times = rng.integers(0, 50, 300), rng.uniform(-50, STEPS, 300)
    one_by_one = [
        world.cumulative_hazard(ids[n : n + 1], times[n : n + 1])[0] for n in range(ids.size)
    ]
    assert world.cumulative_hazard(ids, times).tolist() == one_by_one


def history(world: Zipf) -> tuple:
    return (
        world.changes.times.tolist(),
        world.changes.offsets.tolist(),
        [page.seen_at for page in world.pages],
        dict(world.rates),
    )


@pytest.mark.parametrize("options", [{}, {"swap_every": 100}, {"perturbations": 20}])
def test_the_seed_says_everything(options):
    world = reset(5, **options)
    first = history(world)
    world.reset(6, STEPS)
    assert history(world) != first
    world.reset(5, STEPS)
    assert history(world) == first


def test_different_policies_meet_the_same_world():
    world = Zipf(pages=30, alpha=0.5, beta=1.0, swap_every=50)
    histories = []
    for policy in (Uniform(), BayesianIndex()):
        simulate(policy, world, polls=500, seed=4)
        histories.append(history(world))
    assert histories[0] == histories[1]


def test_polls_compare_with_the_copy_before():
    world = reset(pages=1, alpha=0.1)
    [page] = world.pages
    times = world.changes.of_page(0)
    for now in np.arange(0.0, 300.0, 3.0):
        [observation] = world.poll([0], float(now))
        seen_at = page.seen_at if now == 0 else now - 3.0
        changed = ((times > seen_at) & (times <= now)).any()
        assert observation.outcome == (Outcome.CHANGED if changed else Outcome.UNCHANGED)
        assert observation.polled_at == now


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pages": 0}, r"zipf: pages=0 must be at least 1"),
        ({"alpha": 0.0}, r"zipf: alpha=0.0 must be between 0 and 1"),
        ({"alpha": 1.0}, r"zipf: alpha=1.0 must be between 0 and 1"),
        ({"alpha": math.nan}, r"zipf: alpha=nan must be"),
        ({"beta": -1.0}, r"zipf: beta=-1.0 must be"),
        ({"beta": math.inf}, r"zipf: beta=inf must be"),
        ({"swap_every": 0}, r"zipf: swap-every=0 must be at least 1"),
        ({"perturbations": -1}, r"zipf: perturbations=-1 must not be negative"),
    ],
)
def test_what_makes_no_world_is_named(options, message):
    with pytest.raises(InputError, match=message):
        reset(**options)
