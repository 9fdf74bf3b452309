"""Pages by rank: how often they change, and who swaps with whom."""

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.simulation.worlds.ranks import RankedPages


def ranked(**options) -> RankedPages:
    return RankedPages("world", **{"pages": 50, "alpha": 0.5, "beta": 1.0, **options})


def test_probabilities_and_rates():
    ranks = ranked(pages=3)
    assert ranks.probabilities == pytest.approx([0.5, 0.25, 1 / 6])
    assert -np.expm1(-ranks.rates) == pytest.approx(ranks.probabilities)


def test_without_perturbations_in_the_order_of_ranks():
    rng = np.random.default_rng(1)
    assert ranked(perturbations=0).first_order(rng).tolist() == list(range(50))
    assert sorted(ranked().first_order(rng)) == list(range(50))
    assert ranked().first_order(rng).tolist() != list(range(50))


def test_one_perturbation_swaps_neighbours():
    for seed in range(50):
        order = ranked(perturbations=1).first_order(np.random.default_rng(seed))
        moved = np.flatnonzero(order != np.arange(50))
        assert len(moved) in (0, 2)
        if len(moved):
            assert moved[1] == moved[0] + 1


def test_more_perturbations_are_less_order():
    """Until there is none left: the mean displacement of a random order is a third of the pages."""
    far = [
        np.abs(ranked(perturbations=n).first_order(np.random.default_rng(2)) - np.arange(50)).mean()
        for n in (10, 1_000, 1_000_000)
    ]
    assert far[0] < far[1] < far[2]
    assert far[2] == pytest.approx(50 / 3, abs=4.0)


def test_perturbations_swap_all_pages_equally_often():
    """Also those that hardly ever change; the last page has none after it."""
    ranks = ranked(pages=4, beta=3.0, perturbations=1)
    orders = [ranks.first_order(np.random.default_rng(seed)).tolist() for seed in range(4000)]
    swapped = [orders.count(order) / 4000 for order in ([1, 0, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2])]
    assert swapped == pytest.approx([0.25] * 3, abs=4 * np.sqrt(0.25 * 0.75 / 4000))


def test_swaps_every_r_steps_draw_ranks_by_their_change_probability():
    ranks = ranked(pages=4)
    drawn = np.bincount(ranks.draw_ranks(np.random.default_rng(3), 100_000), minlength=4) / 1e5
    assert drawn == pytest.approx(ranks.probabilities / ranks.probabilities.sum(), abs=0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pages": 0}, "world: pages=0 must be at least 1"),
        ({"pages": True}, "world: pages=True must be"),
        ({"alpha": "x"}, "world: alpha='x' must be between 0 and 1"),
        ({"alpha": 1.0}, "world: alpha=1.0 must be between 0 and 1"),
        ({"beta": float("nan")}, "world: beta=nan must be"),
        ({"beta": 1000.0}, "beta=1000.0 and pages=50 the last pages would never change"),
        ({"swap_every": 1.5}, "world: swap-every=1.5 must be at least 1"),
        ({"perturbations": -1}, "world: perturbations=-1 must not be negative"),
    ],
)
def test_what_makes_no_pages(options, message):
    with pytest.raises(InputError, match=message):
        ranked(**options)
