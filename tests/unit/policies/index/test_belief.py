"""The two models of a page against their formulas, and which one is believed."""

import math

import numpy as np
import pytest

from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.belief import form_belief, judge_bursts
from pollwise.policies.index.evidence import keep_spells, make_room
from pollwise.policies.index.prior import FIRST_BURST_ODDS, burst_share, steady_model
from pollwise.policies.index.state import RATES_TOGETHER, SPELL_COUNT, IndexState
from pollwise.rates.lattice import RATES
from pollwise.rates.packed import unpacked
from pollwise.types import Observation, Outcome, Page

DAY = 86_400.0


def poisson_times(rng: np.random.Generator) -> np.ndarray:
    """Changes of a page, about one in eight days."""
    return np.cumsum(rng.exponential(8.0, 600))


def bursty_times(rng: np.random.Generator) -> np.ndarray:
    """As many changes, but in bursts: eight in about four days, then two months of quiet."""
    gaps = [rng.exponential(60.0 if n % 8 == 0 else 0.5) for n in range(600)]
    return np.cumsum(gaps)


def watch(times: list[np.ndarray], days: int) -> BayesianIndex:
    """A policy that has polled pages, that change at these times (in days), every day."""
    policy = BayesianIndex()
    policy.add([Page(page, seen_at=0.0) for page in range(len(times))])
    for day in range(1, days + 1):
        policy.observe(
            [
                Observation(page, day * DAY, Outcome(int(np.any((own > day - 1) & (own <= day)))))
                for page, own in enumerate(times)
            ]
        )
    return policy


def bursts_of(state: IndexState, page: int) -> np.ndarray:
    """The probability of each rate of the present spell of a page."""
    form_belief(state, page)
    return state.shared["bursts"][0].copy()


def test_the_belief_is_the_mixture_of_the_two_models():
    rng = np.random.default_rng(1)
    policy = watch([poisson_times(rng), bursty_times(rng)], 60)
    state = policy.state
    for odds in (-2.0, 0.0, 3.0):
        state.pages["burst_odds"] = odds + 1.5
        state.shared["burst_odds"] = -1.5
        share = 1 / (1 + math.exp(-odds))
        for page in (0, 1):
            form_belief(state, page)
            expected = (1 - share) * steady_model(state, page) + share * bursts_of(state, page)
            belief = state.shared["belief"][0]
            assert belief == pytest.approx(expected, rel=1e-4, abs=1e-8)
            assert belief.sum() == pytest.approx(1.0, rel=1e-5)


def test_a_spell_has_a_rate_of_the_earlier_ones_as_far_as_it_has_lasted():
    policy = BayesianIndex()
    policy.add([Page(0, seen_at=0.0, site="a site")])  # else it would wait in line
    state = policy.state
    own, common = state.pages[0], state.shared[0]
    rng = np.random.default_rng(2)
    earlier, common["spells"] = rng.random(SPELL_COUNT).astype(np.float32), rng.random(len(RATES))
    common["pseudo"] = 0.0  # what was made of the spells before
    make_room(state, 0, 0)
    keep_spells(state, 0, earlier, 0)
    own["spell"], own["seen_at"] = 20 * DAY, 25 * DAY
    own["burst_odds"] = 8.0
    together = common["spells"].reshape(-1, RATES_TOGETHER).sum(axis=1)
    factors = earlier / together + 2 / common["spells"].sum()
    weights = common["spells"] * np.repeat(factors, RATES_TOGETHER)
    weights *= np.exp(-RATES * 20 * DAY)
    assert bursts_of(state, 0) == pytest.approx(weights / weights.sum(), rel=0.02, abs=1e-5)


def test_a_spell_that_ends_is_counted_for_the_rates_it_may_have_had():
    policy = BayesianIndex()
    policy.add([Page(0, seen_at=0.0)])
    expected = bursts_of(policy.state, 0) * -np.expm1(-RATES * 3 * DAY)
    before = policy.state.shared["spells"][0].copy()
    policy.observe([Observation(0, 3 * DAY, Outcome.CHANGED)])
    spells = policy.state.shared["spells"][0] - before
    assert spells.sum() == pytest.approx(1.0, rel=1e-5)
    assert spells == pytest.approx(expected / expected.sum(), rel=0.02, abs=1e-5)
    own = unpacked(policy.state_dict([0])["page.spells"][0])
    together = spells.reshape(-1, RATES_TOGETHER).sum(axis=1)
    assert own == pytest.approx(together, rel=2e-3, abs=1e-5)


def test_bursts_are_believed_of_pages_that_change_in_bursts_alone():
    rngs = [np.random.default_rng(seed) for seed in range(16)]
    times = [poisson_times(rng) for rng in rngs[:8]]
    times += [bursty_times(rng) for rng in rngs[8:]]
    odds = watch(times, 600).state.pages["burst_odds"][:16]
    assert np.all(odds[8:] > 2.0)
    assert np.median(odds[:8]) < -1.0
    assert np.all(odds[:8] < odds[8:].min())


def test_how_many_pages_are_bursty_is_learned_for_the_next_one():
    shares = []
    for kind in (poisson_times, bursty_times):
        policy = watch([kind(np.random.default_rng(seed)) for seed in range(16)], 400)
        policy.add([Page(16, seen_at=0.0)])
        shares.append(burst_share(policy.state, 16))
    first = 1 / (1 + math.exp(-FIRST_BURST_ODDS))
    assert shares[0] < first < shares[1]
    # 16 pages beside five bursty and 13.6 steady ones that count at first.
    assert shares[1] == pytest.approx(21 / 34.6, abs=0.05)


def test_a_page_in_a_burst_is_expected_to_change_soon_and_ever_less_the_longer_it_is_quiet():
    rng = np.random.default_rng(7)
    times = bursty_times(rng)
    policy = watch([times], 400)
    policy.state.shared["recalibration"] = 0.0
    chances = []
    policy.observe([Observation(0, 401 * DAY, Outcome.CHANGED)])
    for day in range(402, 430):
        chances.append(float(policy.chances([0], day * DAY)[0]))
        policy.observe([Observation(0, day * DAY, Outcome.UNCHANGED)])
    assert chances[0] > 0.4
    assert chances[-1] < 0.1
    assert np.all(np.diff(chances[:10]) < 0)


def newcomer(added_at: float, copied_at: float) -> BayesianIndex:
    """A policy with a page from the start, polled daily, and one that was added later."""
    policy = BayesianIndex()
    policy.add([Page(0)])
    for day in range(1, int(added_at / DAY)):
        policy.select(day * DAY, 1)
        policy.observe([Observation(0, day * DAY, Outcome.UNCHANGED)])
    policy.select(added_at, 1)
    policy.observe([Observation(0, added_at, Outcome.CHANGED)])
    policy.add([Page(1)])
    policy.observe([Observation(1, copied_at, Outcome.CHANGED)])
    return policy


def test_a_page_that_is_added_later_is_young_since_then():
    policy = newcomer(5 * DAY, 7 * DAY)
    pages = policy.state.pages
    assert pages["young"][:2].tolist() == [0, 1]
    assert policy.state_dict()["page.spell_at"].tolist() == [5 * DAY, 5 * DAY]


def test_pages_that_are_handed_over_within_the_first_rounds_are_not_young():
    policy = newcomer(2 * DAY, 7 * DAY)
    assert policy.state.pages["young"][:2].tolist() == [0, 0]


def test_a_page_is_young_until_its_first_change():
    policy = newcomer(5 * DAY, 7 * DAY)
    pages = policy.state.pages
    policy.observe([Observation(1, 8 * DAY, Outcome.UNCHANGED)])
    assert pages["young"][1] == 1
    policy.observe([Observation(1, 9 * DAY, Outcome.CHANGED)])
    assert pages["young"][1] == 0
    assert pages["spell"][1] == 0.0
    assert policy.state_dict()["page.spell_at"][1] == 9 * DAY


def test_the_odds_of_young_pages_are_added_for_four_polls():
    policy = newcomer(5 * DAY, 7 * DAY)
    state = policy.state
    for n in range(5):
        state.shared["burst_odds"] = state.pages["burst_odds"] = 0.0
        state.shared["young_odds"] = 2.0
        assert burst_share(state, 0) == 0.5
        assert burst_share(state, 1) == pytest.approx(0.5 if n == 4 else 1 / (1 + math.exp(-2.0)))
        policy.observe([Observation(1, (8 + n) * DAY, Outcome.UNCHANGED)])


def test_how_likely_young_pages_are_to_be_in_a_burst_is_learned_from_them():
    policy = newcomer(5 * DAY, 7 * DAY)
    state = policy.state
    state.pages["burst_odds"] = 0.0
    common = float(state.shared["burst_odds"][0])
    for odds in (-1.0, 0.0, 2.0):
        state.shared["young_odds"] = odds
        shares = [burst_share(state, page) for page in (0, 1)]
        assert math.log(shares[0] / (1 - shares[0])) == pytest.approx(common)
        assert math.log(shares[1] / (1 - shares[1])) == pytest.approx(common + odds)
    state.shared["young_odds"] = 0.0
    judge_bursts(state, 0, 1.0)  # not young
    assert state.shared["young_odds"][0] == 0.0
    judge_bursts(state, 1, 1.0)
    assert state.shared["young_odds"][0] == 0.5
    assert state.pages["burst_odds"][:2].tolist() == [1.0, 1.0]
    for _ in range(20):
        judge_bursts(state, 1, 1.0)
    assert state.shared["young_odds"][0] == 5.0


def test_one_poll_moves_the_odds_by_no_more_than_three():
    policy = BayesianIndex()
    policy.add([Page(0, seen_at=0.0)])
    for better, odds in ((20.0, 3.0), (-1.0, 2.0), (-20.0, -1.0)):
        judge_bursts(policy.state, 0, better)
        assert policy.state.pages["burst_odds"][0] == odds


def test_what_is_known_of_young_pages_is_kept():
    policy = newcomer(5 * DAY, 7 * DAY)
    policy.state.shared["young_odds"] = 1.5
    other = BayesianIndex()
    other.add([Page(0), Page(1)])
    other.load_state_dict(policy.state_dict())
    for name in ("young", "spell"):
        assert other.state.pages[name][:2].tolist() == policy.state.pages[name][:2].tolist()
    for name in ("young_odds", "began_at"):
        assert other.state.shared[name][0] == policy.state.shared[name][0]
    assert burst_share(other.state, 1) == pytest.approx(burst_share(policy.state, 1))


def test_a_page_that_is_added_after_a_restart_is_young():
    """Not one that was there: pages never polled have no learned state, however old they are."""
    learned = newcomer(9 * DAY, 9.5 * DAY).state_dict()
    other = BayesianIndex()
    other.add([Page(0), Page(1), Page(2)])
    other.load_state_dict(learned)
    other.add([Page(3)])
    spell_at = other.state_dict()["page.spell_at"]
    assert math.isnan(spell_at[2])
    assert spell_at[3] == 9 * DAY


def test_a_spell_goes_on_from_copy_to_copy():
    policy = BayesianIndex()
    policy.add([Page(0), Page(1, seen_at=DAY)])
    policy.observe([Observation(n, 2 * DAY, Outcome.UNCHANGED) for n in range(2)])
    policy.copied([0, 1], 3 * DAY)
    policy.observe([Observation(n, 5 * DAY, Outcome.UNCHANGED) for n in range(2)])
    assert policy.state.pages["spell"][:2].tolist() == [3 * DAY, 4 * DAY]
    assert policy.state_dict()["page.spell_at"].tolist() == [2 * DAY, DAY]


@pytest.mark.parametrize("added_at", [9 * DAY, 1_700_000_064.0])
def test_a_copy_of_unknown_outcome_does_not_end_the_spell_of_a_new_page(added_at):
    policy = newcomer(5 * DAY, 7 * DAY)
    policy.state.shared["selected_at"] = added_at
    policy.add([Page(2)])
    policy.copied([2], added_at + DAY)
    assert policy.state.pages["spell"][2] == pytest.approx(DAY, abs=128.0)


def births(policy: BayesianIndex, calms_down: bool) -> BayesianIndex:
    """60 pages, born a day apart and polled daily, change at a rate of 1/age or all alike."""
    rng = np.random.default_rng(4)
    policy.add([Page(0)])
    policy.select(0.0, 1)
    for day in range(1, 100):
        found = []
        for page in range(1, min(day, 60)):
            age = day - page
            rate = 1.0 / age if calms_down else 0.1
            changed = age == 1 or rng.random() < -math.expm1(-rate)
            found.append(Observation(page, day * DAY, Outcome(int(changed))))
        policy.observe(found)
        if day < 60:
            policy.state.shared["selected_at"] = day * DAY
            policy.add([Page(day)])
    return policy


def test_pages_that_calm_down_after_their_birth_are_told_from_those_that_do_not():
    odds = [
        float(births(BayesianIndex(), calms_down).state.shared["young_odds"][0])
        for calms_down in (True, False)
    ]
    assert odds[0] > 3.0
    assert odds[1] < 1.5


def test_a_page_without_a_copy_has_no_belief():
    policy = BayesianIndex()
    policy.add([Page(0)])
    form_belief(policy.state, 0)
    assert not policy.state.shared["belief"].any()
    assert policy.state.shared["believed"][0] == -1
