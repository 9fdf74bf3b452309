"""The hierarchy of priors against a plain EM algorithm, and what it finds in simulated pages."""

import math

import numpy as np
import pytest

from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.evidence import keep_likelihood, make_room
from pollwise.policies.index.line import leave_line
from pollwise.policies.index.prior import base_prior, count_pages, fast_hope, prior_of, steady_model
from pollwise.policies.index.state import NEW
from pollwise.rates.excerpt import excerpts_of, likelihoods_of
from pollwise.rates.lattice import RATE_COUNT, RATES
from pollwise.rates.posterior import changed_table, forget, learn_poll, unchanged_table
from pollwise.types import Observation, Outcome, Page

DAY = 86_400.0
CHANGED, UNCHANGED = changed_table(), unchanged_table()


def polled(rate: float, interval: float, count: int, seed: int) -> np.ndarray:
    """The likelihood after regular polls of a Poisson page."""
    rng = np.random.default_rng(seed)
    likelihood = np.ones(RATE_COUNT, np.float32)
    for changed in rng.random(count) < -math.expm1(-rate * interval):
        forget(likelihood)
        learn_poll(likelihood, interval, CHANGED if changed else UNCHANGED)
    return likelihood


def learned(policy: BayesianIndex, page: int, likelihood: np.ndarray) -> None:
    """Have a policy know this of the rate of a page."""
    if policy.state.pages["where"][page] == NEW:
        leave_line(policy.state, page)
    make_room(policy.state, page, 0)
    keep_likelihood(policy.state, page, likelihood, 0)


def taught(groups: list[tuple[str, str]], likelihoods: np.ndarray, polls: int) -> BayesianIndex:
    """A policy that knows pages of these sites and kinds, of as many polls each."""
    policy = BayesianIndex()
    policy.add([Page(n, site=site, kind=kind) for n, (site, kind) in enumerate(groups)])
    pages, common = policy.state.pages, policy.state.shared[0]
    assert len(pages) == len(groups)
    for page, likelihood in enumerate(likelihoods):
        learned(policy, page, likelihood)
    pages["polls"] = polls
    common["learned"], common["gap"] = polls * len(groups), 100.0
    return policy


def count_all(policy: BayesianIndex, rounds: int = 1) -> None:
    common = policy.state.shared[0]
    last = common["round"] + rounds + (common["round_time"] == 0.0)  # the first one begins
    while common["round"] < last:
        count_pages(policy.state)


def priors(policy: BayesianIndex) -> np.ndarray:
    return np.array([prior_of(policy.state, page) for page in range(len(policy.state.pages))])


def smoothed(posterior: np.ndarray, likelihood: np.ndarray, base: np.ndarray) -> np.ndarray:
    """A step of Metropolis between neighbouring rates that leaves `base` times `likelihood` be."""
    target = base * likelihood.astype(float)
    chain = np.eye(RATE_COUNT)
    for j, k in [(j, j + step) for j in range(RATE_COUNT) for step in (-1, 1)]:
        if 0 <= k < RATE_COUNT:
            moves = 0.2 * min(1.0, target[k] / target[j])
            chain[j, k] += moves
            chain[j, j] -= moves
    assert target @ chain == pytest.approx(target)
    return posterior @ chain


def plain_em(
    groups: list[tuple[str, str]], likelihoods: np.ndarray, polls: int, rounds: int
) -> np.ndarray:
    """The prior of each page after some rounds: mixture weights of three levels, of which each
    lower one has a Dirichlet prior worth three pages around the one above. Those of the highest one
    lose a part at most in a round."""
    top = base = base_prior(100.0 * len(groups))  # as of the first poll
    kept = 1 - max(min(4 / (1 + polls), 1), 0.2)
    at_site = at_kind = np.zeros_like(likelihoods)
    sites = np.array([[a == b for b, _ in groups] for a, _ in groups], float)
    kinds = np.array([[a == b and b[1] != "" for b in groups] for a in groups], float)

    def each(top: np.ndarray) -> np.ndarray:
        level = 3.0 * top + at_site
        level = level / level.sum(axis=1, keepdims=True)
        named = 3.0 * level + at_kind
        return named / named.sum(axis=1, keepdims=True)

    for _ in range(rounds):
        posteriors = likelihoods.astype(float) * each(top)
        posteriors /= posteriors.sum(axis=1, keepdims=True)
        pages = zip(posteriors, likelihoods, strict=True)
        counted = np.array([smoothed(*page, base) for page in pages])
        at_site, at_kind = sites @ counted, kinds @ counted
        found = min(100, len(groups)) / (1 + polls) * base + counted.sum(axis=0)
        top = np.maximum(found / found.sum(), kept * top)
        top /= top.sum()
    return each(top)


@pytest.mark.parametrize("polls", [1, 3, 7, 100])
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_priors_are_fitted_as_by_a_plain_em_algorithm(polls, rounds):
    rng = np.random.default_rng(4)
    groups = [(rng.choice(["a", "b"]), rng.choice(["", "x", "y"])) for _ in range(64)]
    likelihoods = np.ones((64, RATE_COUNT), np.float32)
    for likelihood in likelihoods:
        for _ in range(rng.integers(1, 5)):
            table = CHANGED if rng.random() < 0.5 else UNCHANGED
            learn_poll(likelihood, float(rng.uniform(1.0, 1e6)), table)
    likelihoods = likelihoods_of(*excerpts_of(likelihoods))  # as they are kept
    policy = taught(groups, likelihoods, polls)
    count_all(policy, rounds)
    exact = plain_em(groups, likelihoods, polls, rounds)
    assert priors(policy) == pytest.approx(exact, rel=2e-3, abs=1e-9)


@pytest.mark.parametrize(("polls", "pages"), [(0, 8), (3, 8), (7, 4), (15, 2), (31, 1), (1000, 1)])
def test_the_more_is_known_the_fewer_pages_are_counted_at_a_poll(polls, pages):
    likelihoods = np.array([polled(1 / DAY, DAY, polls, n) for n in range(64)])
    policy = taught([("", "")] * 64, likelihoods, polls)
    count_pages(policy.state)
    assert policy.state.shared[0]["next"] == pages


def test_counting_makes_the_observations_more_likely_at_every_round():
    rates = np.exp(np.random.default_rng(2).normal(np.log(1 / DAY), 0.5, 200))
    likelihoods = np.array([polled(rate, DAY, 30, n) for n, rate in enumerate(rates)])
    policy = taught([("", "")] * 200, likelihoods, 30)
    evidence = []
    for _ in range(4):
        evidence.append(np.log((likelihoods * priors(policy)).sum(axis=1)).sum())
        count_all(policy)
    assert np.all(np.diff(evidence) > 0)


SLOW, FAST = 0.3 / DAY, 5 / DAY


def near(rate: float) -> np.ndarray:
    return np.abs(np.log2(RATES / rate)) < 2


def two_kinds() -> BayesianIndex:
    """Slow and fast pages, an octave wide each, four apart, on one site; 100 polls of each."""
    rng = np.random.default_rng(1)
    groups, likelihoods = [], []
    for n in range(80):
        kind, rate = ("slow", SLOW) if n < 40 else ("fast", FAST)
        groups.append(("site", kind))
        likelihoods.append(polled(rate * 2 ** rng.uniform(-0.5, 0.5), DAY / 2, 100, n))
    policy = taught(groups, np.array(likelihoods), 100)
    count_all(policy, 4)
    return policy


def test_each_kind_has_its_own_prior_and_the_site_has_both():
    policy = two_kinds()
    kinds = [("site", "slow"), ("site", "fast"), ("site", "unheard of"), ("site", ""), ("", "")]
    policy.add([Page(80 + n, site=site, kind=kind) for n, (site, kind) in enumerate(kinds)])
    slow, fast, unheard, plain, elsewhere = (prior_of(policy.state, 80 + n) for n in range(5))
    assert slow[near(SLOW)].sum() > 0.9
    assert fast[near(FAST)].sum() > 0.9
    for prior in (unheard, plain, elsewhere):
        assert prior[near(SLOW)].sum() == pytest.approx(0.5, abs=0.1)
        assert prior[near(FAST)].sum() == pytest.approx(0.5, abs=0.1)


def test_kinds_of_one_name_on_two_sites_have_nothing_in_common():
    policy = two_kinds()
    policy.add([Page(80, site="another", kind="slow"), Page(81, site="another", kind="")])
    assert prior_of(policy.state, 80) == pytest.approx(prior_of(policy.state, 81), rel=1e-5)


def test_a_few_pages_do_not_outweigh_the_record_of_a_page():
    """A page that has changed at each of 20 polls is not slow because its kind is."""
    policy = two_kinds()
    policy.add([Page(80, site="site", kind="slow")])
    learned(policy, 80, polled(FAST, DAY / 2, 20, 99))
    assert steady_model(policy.state, 80)[near(FAST)].sum() > 0.9


def test_pages_that_left_are_no_longer_counted():
    policy = two_kinds()
    policy.discard(range(40))
    count_all(policy, 20)  # in each, a rate loses a fifth at most
    policy.add([Page(80, site="site", kind="slow"), Page(81)])
    for page in (80, 81):
        assert prior_of(policy.state, page)[near(FAST)].sum() > 0.9


def test_after_a_restart_the_groups_are_known_again():
    before = two_kinds()
    after = BayesianIndex()
    after.add([Page(n, site="site", kind="slow" if n < 40 else "fast") for n in range(80)])
    after.load_state_dict(before.state_dict())
    for page, rate in ((0, SLOW), (79, FAST)):
        prior = prior_of(after.state, page)
        assert prior.sum() == pytest.approx(1.0, rel=1e-5)
        assert prior[near(rate)].sum() > 0.9


def test_a_rate_that_no_page_has_for_a_round_stays_possible():
    """As when two of many pages change places, and both are taken for slow meanwhile."""
    slow, fast = polled(SLOW, DAY, 50, 0), polled(FAST, DAY / 5, 50, 1)
    policy = taught([("", "")] * 40, np.array([fast] + 39 * [slow]), 50)
    count_all(policy, 50)
    before = prior_of(policy.state, 1)[near(FAST)].sum()
    learned(policy, 0, slow)
    count_all(policy)
    assert before == pytest.approx(1 / 40, rel=0.2)
    assert prior_of(policy.state, 1)[near(FAST)].sum() == pytest.approx(0.8 * before, rel=0.05)


def test_pages_too_fast_for_their_polls_do_not_become_ever_faster():
    """All that polls say is that they are fast: with every round of counting it is said again."""
    round_time = 100.0 * 64
    likelihoods = np.array([polled(1.0, round_time, 5, n) for n in range(64)])
    policy = taught([("", "")] * 64, likelihoods, 5)
    faster = []
    for rounds in (2_000, 1_000):
        count_all(policy, rounds)
        faster.append(priors(policy)[0][RATES * round_time > 500.0].sum())
    assert faster[1] < 0.1
    assert faster[1] == pytest.approx(faster[0], rel=0.05)


def test_a_few_pages_among_many_ids_have_a_prior_from_the_second_poll_on():
    policy = BayesianIndex()
    policy.add([Page(n) for n in range(2_000)])
    policy.discard(range(3, 2_000))
    for now, page in enumerate((0, 1, 2), start=1):
        assert policy.select(now * DAY, 1).page_ids.tolist() == [page]
        policy.observe([Observation(page, now * DAY, Outcome.CHANGED)])
    expected = base_prior(3 * DAY)
    assert policy.prior_probabilities([0])[0] == pytest.approx(expected, rel=1e-3)


def test_the_base_prior_excludes_nothing_and_favours_none_of_the_possible():
    weights = base_prior(1 / RATES[50])
    assert weights.sum() == pytest.approx(1.0)
    assert weights[:51] == pytest.approx(np.full(51, weights[0]))
    assert weights[51:] == pytest.approx(weights[50] * RATES[50] / RATES[51:])
    assert np.ptp(base_prior(0.0)) == 0.0


def test_how_many_pages_are_bursty_is_counted_as_if_none_were_young():
    odds = []
    for young_odds in (0.0, 5.0):
        policy = taught([("a", "x")] * 64, np.ones((64, RATE_COUNT), np.float32), 1)
        policy.state.pages["young"] = 1
        policy.state.shared["young_odds"] = young_odds
        count_all(policy, rounds=3)
        odds.append(float(policy.state.shared["burst_odds"][0]))
    assert odds[0] == odds[1]


def test_fast_rates_are_hopeful_up_to_some_changes_in_a_round():
    rounds = RATES * 5 * DAY
    tilt = fast_hope(0.5, 5 * DAY)
    for polls in (0, 1, 5):
        expected = np.minimum(rounds, 4.0) ** (0.5 / (1 + polls) ** 2)
        assert tilt[polls] == pytest.approx(expected)
    assert fast_hope(1.0, 0.0)[0] == pytest.approx(RATES)  # no round has passed yet


def test_hope_goes_by_the_time_of_a_round():
    policy = taught([("a", "x")] * 16, np.ones((16, RATE_COUNT), np.float32), 1)
    for gap in (100.0, 1_000.0):
        policy.state.shared["gap"] = gap
        count_all(policy, rounds=2)
        assert policy.state.shared["tilt"][0] == pytest.approx(fast_hope(1.0, 16 * gap), rel=1e-6)
        assert policy.hope([0], 16 * gap)[0] == pytest.approx(fast_hope(1.0, 16 * gap)[1], rel=1e-6)
