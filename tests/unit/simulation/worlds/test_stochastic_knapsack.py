"""What an offered amount pays, whose page is which, and what is counted of a run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.objectives import Detection
from pollwise.policies.automata.lakg import LAKG
from pollwise.policies.base import Mixture
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.policies.deadline.fixed import Fixed
from pollwise.policies.deadline.uniform import Uniform
from pollwise.simulation.worlds.stochastic_knapsack import StochasticKnapsack, play
from pollwise.types import Observation, Page, Selection

TWO_PAGE_POLICIES = ("ucb1", "ucb1-raw", "ts", "gp-ucb")

NEED_RATES = ("whittle", "optimal", "proportional", "lambdacrawl-known")

probabilities = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=6)


class Constant:
    """Offers the first page a fixed amount, always."""

    def __init__(self, *amounts: float) -> None:
        self._amounts = np.array(amounts)

    def add(self, pages: list[Page]) -> None: ...

    def discard(self, page_ids: list[int]) -> None: ...

    def select(self, now: float, limit: int) -> Selection:
        return Selection(np.array([0]))

    def observe(self, observations: list[Observation]) -> None: ...

    def defer(self, page_ids: list[int], until: float) -> None: ...

    def state_dict(self, page_ids=None):
        return {}

    def load_state_dict(self, state) -> None: ...

    def amounts(self):
        return self._amounts


class Plain:
    """A policy without a state that can be compiled."""

    def __init__(self, policy) -> None:
        self.add, self.discard = policy.add, policy.discard
        self.select, self.observe, self.defer = policy.select, policy.observe, policy.defer
        self.state_dict, self.load_state_dict = policy.state_dict, policy.load_state_dict
        if isinstance(policy, Mixture):
            self.amounts = policy.amounts


@given(unchanged=probabilities, seed=st.integers(0, 2**32))
def test_no_mixture_scores_more_than_the_optimal_one(unchanged, seed):
    knapsack = StochasticKnapsack(unchanged)
    mixture = np.random.default_rng(seed).dirichlet(np.ones(len(unchanged)))
    best = knapsack.score(knapsack.optimal)
    assert knapsack.score(mixture) <= best + 1e-12
    # With all changes independent, the best finds a change whenever there is one in a step.
    assert best == pytest.approx(1.0 - np.prod(unchanged))


def test_the_scores_of_the_classical_mixtures_in_the_papers_world():
    knapsack = StochasticKnapsack.ranked(pages=500, alpha=0.9, beta=1.5)
    assert knapsack.score(knapsack.optimal) == pytest.approx(0.9770, abs=5e-5)
    assert knapsack.score(knapsack.proportional) == pytest.approx(0.9451, abs=5e-5)
    assert knapsack.score(knapsack.uniform) == pytest.approx(0.2336, abs=5e-5)


def test_amounts_are_shares():
    knapsack = StochasticKnapsack([0.4, 0.7])
    assert knapsack.score([3.0, 1.0]) == pytest.approx(knapsack.score([0.75, 0.25]))
    assert knapsack.score([1.0, 0.0]) == pytest.approx(0.6)


@pytest.mark.parametrize(("amount", "chance"), [(1.0, 0.5), (0.5, 0.75), (0.25, 0.9375)])
def test_an_amount_pays_with_its_probability(amount, chance):
    result = play(Constant(amount, 1 - amount), StochasticKnapsack([0.5, 0.9]), polls=4000, seed=1)
    assert result.expected.tolist() == pytest.approx([chance] * 4000)
    assert result.paid.mean() == pytest.approx(chance, abs=4 * np.sqrt(0.25 / 4000))


def test_noise_is_in_what_a_policy_is_told_only():
    """It is told of a pay with p + N(0, σ²), cut off at 0 and 1; what is expected stays p."""
    draws = np.random.default_rng(7).standard_normal(1_000_000)
    for unchanged, noise in ((0.5, 0.1), (0.001, 0.5), (0.9, 2.0)):
        knapsack = StochasticKnapsack([unchanged, 0.5], noise=noise)
        result = play(Constant(1.0, 0.0), knapsack, polls=20_000, seed=2)
        told = np.clip(1.0 - unchanged + noise * draws, 0.0, 1.0).mean()
        assert result.paid.mean() == pytest.approx(told, abs=4 * np.sqrt(0.25 / 20_000))
        assert result.expected.tolist() == pytest.approx([1.0 - unchanged] * 20_000)
        assert knapsack.score([1.0, 0.0]) == pytest.approx(1.0 - unchanged)


HIGH, FALL = np.array([0.9, 0.7, 0.3]), np.array([0.8, 0.4, 0.3])


def falling(amounts):
    """Unit values that are straight lines: p_i(x) = a_i - b_i x."""
    return HIGH - FALL * amounts


def power_law(amounts):
    """p_i(x) = c_i x^(-1/2), but no more than 1."""
    return np.minimum(1.0, [0.4, 0.2, 0.1] / np.sqrt(amounts))


def test_the_optimum_of_straight_lines():
    """Where all are worth the price λ, x_i = (a_i - λ)/b_i; the third is not worth it."""
    knapsack = StochasticKnapsack.of_values(falling, pages=3)
    price = ((HIGH / FALL)[:2].sum() - 1.0) / (1.0 / FALL)[:2].sum()
    assert price > HIGH[2]
    best = [*((HIGH - price) / FALL)[:2], 0.0]
    assert knapsack.optimal == pytest.approx(best, abs=1e-12)
    assert knapsack.score(best) == pytest.approx(knapsack.ideal)
    assert knapsack.ideal == pytest.approx(price)
    assert knapsack.score([2.0, 1.0, 1.0]) == pytest.approx(0.5 * 0.5 + 0.25 * (0.6 + 0.225))


def test_the_optimum_of_a_power_law():
    """x_i in proportion to c_i²."""
    knapsack = StochasticKnapsack.of_values(power_law, pages=3)
    assert knapsack.optimal == pytest.approx(np.array([16, 4, 1]) / 21, abs=1e-4)
    assert knapsack.score([1.0, 1.0, 1.0]) == pytest.approx(0.7 / 3 * np.sqrt(3), rel=1e-6)
    assert knapsack.proportional == pytest.approx(np.array([4, 2, 1]) / 7)


@given(
    high=st.lists(st.floats(0.3, 1.0), min_size=2, max_size=5),
    seed=st.integers(0, 2**32),
)
def test_no_mixture_is_worth_more_than_the_optimal_one(high, seed):
    """The value of a mixture is Σ ∫p_i; of lines, Σ a x - b x²/2."""
    a = np.array(high)
    rng = np.random.default_rng(seed)
    b = a * rng.random(len(a))
    knapsack = StochasticKnapsack.of_values(lambda x: a - b * x, pages=len(a), steps=10)
    best, other = knapsack.optimal, rng.dirichlet(np.ones(len(a)))
    assert best.sum() == pytest.approx(1.0)
    assert a @ other - b @ other**2 / 2 <= a @ best - b @ best**2 / 2 + 1e-9


@pytest.mark.parametrize("amount", [0.0005, 0.001, 0.3, 0.30005, 1.0, 1.5])
def test_a_table_is_read_between_its_entries(amount):
    """Below the first and beyond the last amount, the values are theirs."""
    result = play(
        Constant(amount, 1 - amount),
        StochasticKnapsack.of_values(lambda x: [0.9, 0.9] - 0.8 * x, pages=2),
        polls=4000,
        seed=1,
    )
    chance = 0.9 - 0.8 * min(max(amount, 0.001), 1.0)
    assert result.expected.tolist() == pytest.approx([chance] * 4000)
    assert result.paid.mean() == pytest.approx(chance, abs=4 * np.sqrt(0.25 / 4000))


@pytest.mark.parametrize(("name", "polls"), [("gpoks", 2000), ("htraa", 20_000)])
@pytest.mark.parametrize(
    ("unit_values", "best"),
    [
        # Lines: λ = 0.6, x_i = (a_i - λ)/b_i. Power law: x_i in proportion to c_i².
        (lambda x: [0.9, 0.75] - np.array([0.4, 0.6]) * x, [0.75, 0.25]),
        (lambda x: np.minimum(1.0, [0.4, 0.3, 0.2] / np.sqrt(x)), [16 / 29, 9 / 29, 4 / 29]),
    ],
)
def test_learners_find_the_optimum_of_any_values(name, polls, unit_values, best):
    setting = Setting(Detection(), budget=1.0, pages=len(best), seed=1)
    knapsack = StochasticKnapsack.of_values(unit_values, pages=len(best))
    result = play(WATCHING.choose(name).make(setting), knapsack, polls=polls, seed=1)
    shares = np.bincount(result.page_ids[polls // 2 :], minlength=len(best)) / (polls // 2)
    assert shares == pytest.approx(best, abs=0.05)


def test_the_worth_of_every_poll():
    """That of the mixture it is of, not only of its page; without amounts, what is expected."""
    knapsack = StochasticKnapsack([0.5, 0.9])
    result = play(Constant(0.8, 0.2), knapsack, polls=30, seed=4, worth=True)
    assert result.worth.tolist() == pytest.approx([knapsack.score([0.8, 0.2])] * 30)
    assert result.expected[0] != pytest.approx(result.worth[0])
    result = play(Uniform(), knapsack, polls=30, seed=4, worth=True)
    assert result.worth.tolist() == result.expected.tolist()
    assert play(Uniform(), knapsack, polls=30, seed=4).worth.tolist() == []


def test_without_amounts_the_elapsed_time_is_offered():
    result = play(Uniform(), StochasticKnapsack([0.5, 0.9]), polls=50, seed=3)
    assert result.expected[10:] == pytest.approx(
        np.where(result.page_ids[10:] == 0, 1 - 0.5**2, 1 - 0.9**2)
    )
    assert result.scores == {}


def test_real_polls_pay_for_the_time_since_the_last_one():
    knapsack = StochasticKnapsack([0.5, 0.9])
    result = play(LAKG(resolution=100), knapsack, polls=40, seed=4, elapsed=True)
    last: dict[int, int] = {}
    for n, (page, expected) in enumerate(
        zip(result.page_ids.tolist(), result.expected.tolist(), strict=True)
    ):
        if page in last:
            assert expected == pytest.approx(1 - (0.5, 0.9)[page] ** (n - last[page]))
        last[page] = n
    assert len(last) == 2
    called = play(Plain(LAKG(resolution=100)), knapsack, polls=40, seed=4, elapsed=True)
    assert result.expected == pytest.approx(called.expected)


def test_scores_at_checkpoints():
    knapsack = StochasticKnapsack([0.5, 0.9])
    result = play(Constant(0.8, 0.2), knapsack, polls=30, seed=4, checkpoints=[10, 30, 40])
    assert result.scores == {10: knapsack.score([0.8, 0.2]), 30: knapsack.score([0.8, 0.2])}
    result = play(Uniform(), knapsack, polls=30, seed=4, checkpoints=[30])
    assert result.scores == {30: pytest.approx(result.expected[27:].mean())}


@pytest.mark.parametrize(
    "name", [name for name in WATCHING.names if name not in (*NEED_RATES, "fixed")]
)
def test_compiled_or_not_the_polls_are_the_same(name):
    pages = 2 if name in TWO_PAGE_POLICIES else 20
    setting = Setting(Detection(), budget=1.0, pages=pages)
    results = [
        play(
            each,
            StochasticKnapsack.ranked(pages=pages, alpha=0.5, beta=1.0, swap_every=70, noise=0.1),
            polls=1000,
            seed=5,
            checkpoints=[1, 70, 140, 999, 1000],
            worth=True,
        )
        for each in (
            WATCHING.choose(name).make(setting),
            Plain(WATCHING.choose(name).make(setting)),
        )
    ]
    assert results[0].page_ids.tolist() == results[1].page_ids.tolist()
    assert results[0].paid.tolist() == results[1].paid.tolist()
    assert results[0].worth == pytest.approx(results[1].worth)
    assert results[0].scores == pytest.approx(results[1].scores)
    assert len(results[0].scores) == 5


def test_pages_in_rank_order_and_shuffled():
    for perturbations, seed in ((0, 1), (None, 1), (None, 2)):
        knapsack = StochasticKnapsack.ranked(
            pages=50, alpha=0.5, beta=1.0, perturbations=perturbations
        )
        knapsack.reset(np.random.default_rng(seed))
        falling = bool((np.diff(knapsack.hazards) < 0).all())
        assert falling == (perturbations == 0)
        assert sorted(-np.expm1(-knapsack.hazards)) == pytest.approx(sorted(0.5 / np.arange(1, 51)))


def test_swaps_keep_the_pages():
    knapsack = StochasticKnapsack.ranked(pages=10, alpha=0.5, beta=1.0, swap_every=1)
    rng = np.random.default_rng(6)
    knapsack.reset(rng)
    before = knapsack.hazards.copy()
    by_rank = np.sort(before)[::-1]
    firsts = []
    for _ in range(1000):
        ranks = np.searchsorted(-by_rank, -knapsack.hazards)
        knapsack.swap(rng)
        moved = np.searchsorted(-by_rank, -knapsack.hazards)
        pair = sorted(ranks[ranks != moved].tolist())
        assert pair == [] or pair == [pair[0], pair[0] + 1]
        firsts += pair[:1]
    assert sorted(knapsack.hazards) == sorted(before)
    share = 1.0 / (1.0 / np.arange(1, 11)).sum()
    assert firsts.count(0) / 1000 == pytest.approx(share, abs=0.06)
    knapsack.reset(np.random.default_rng(6))
    assert sorted(knapsack.hazards) == sorted(before)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StochasticKnapsack([0.5, 1.0]), r"unchanged\[1\] = 1.0 must be between 0 and 1"),
        (lambda: StochasticKnapsack([0.0]), r"unchanged\[0\] = 0.0 must be between 0 and 1"),
        (lambda: StochasticKnapsack([np.nan]), r"unchanged\[0\] = nan must be between 0 and 1"),
        (lambda: StochasticKnapsack([]), r"unchanged has shape \(0,\)"),
        (lambda: StochasticKnapsack([0.5], noise=-1.0), "noise=-1.0 must be"),
        (
            lambda: StochasticKnapsack.of_values(lambda x: x[:1], pages=2),
            "unit_values must give 2 numbers, one for each page",
        ),
        (
            lambda: StochasticKnapsack.of_values(lambda x: x / 2, pages=2),
            "unit_values must be between 0 and 1, and never rise",
        ),
        (
            lambda: StochasticKnapsack.of_values(lambda x: 1.1 - x, pages=2),
            "unit_values must be between 0 and 1, and never rise",
        ),
        (
            lambda: StochasticKnapsack.of_values(lambda x: np.nan * x, pages=2),
            "unit_values must be between 0 and 1, and never rise",
        ),
        (lambda: StochasticKnapsack.of_values(falling, pages=0), "pages=0 must be"),
        (lambda: StochasticKnapsack.of_values(falling, pages=3, steps=0), "steps=0 must be"),
        (
            lambda: StochasticKnapsack.of_values(falling, pages=3, noise=-1.0),
            "noise=-1.0 must be",
        ),
        (
            lambda: StochasticKnapsack.of_values(lambda x: 1.0 - x, pages=2).proportional,
            "at the amount 1 no page pays",
        ),
        (lambda: StochasticKnapsack([0.5]).swap(np.random.default_rng()), "make it by `ranked`"),
        (lambda: StochasticKnapsack([0.5, 0.5]).score([1.0]), "must be 2 numbers of at least 0"),
        (lambda: StochasticKnapsack([0.5, 0.5]).score([-1.0, 2.0]), "must be 2 numbers"),
        (lambda: play(Uniform(), StochasticKnapsack([0.5]), polls=0, seed=1), "polls=0 must be"),
        (lambda: play(Uniform(), StochasticKnapsack([0.5]), polls=5, seed=-1), "seed=-1 must be"),
        (
            lambda: play(LAKG(capacity=0.5), StochasticKnapsack([0.5, 0.6]), polls=5, seed=1),
            r"amounts of the policy sum to 0\.5, a knapsack takes 1",
        ),
        (
            lambda: StochasticKnapsack.ranked(pages=1.5, alpha=0.5, beta=1.0),
            "knapsack: pages=1.5 must be at least 1",
        ),
        (
            lambda: StochasticKnapsack.ranked(pages=2, alpha=0.5, beta=-1.0),
            "knapsack: beta=-1.0 must be",
        ),
    ],
)
def test_what_makes_no_knapsack_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("wrap", [lambda policy: policy, Plain])
def test_a_policy_that_waits_cannot_play(wrap):
    with pytest.raises(InputError, match=r"no page to poll after \d polls"):
        play(wrap(Fixed(interval=100.0)), StochasticKnapsack([0.5, 0.6]), polls=10, seed=1)


def test_tiny_change_probabilities():
    knapsack = StochasticKnapsack.ranked(pages=2000, alpha=0.9, beta=5.0)
    assert (knapsack.hazards > 0).all()
    assert knapsack.score(knapsack.optimal) == pytest.approx(knapsack.ideal)
