"""LAKG shares the polls out in the proportions that its automata learn."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError, StateError
from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import blank_observation, write_observation
from pollwise.policies.automata.lakg import LAKG
from pollwise.policies.automata.lakg_kernels import amount_lakg, observe_lakg, select_lakg
from pollwise.types import Observation, Outcome, Page

steady = settings(derandomize=True, deadline=None, max_examples=50)

GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0


def with_copies(count: int) -> list[Page]:
    return [Page(n, seen_at=0.0) for n in range(count)]


def new_policy(count: int, schedule: str = "deadline", seed: int = 7, **options) -> LAKG:
    policy = LAKG(schedule=schedule, generator=np.random.default_rng(seed), **options)
    policy.add(with_copies(count))
    return policy


def with_amounts(amounts, **options) -> LAKG:
    """A policy whose mixture is as near to these amounts as its resolution allows."""
    policy = new_policy(len(amounts), resolution=1000, exponent=1.0, **options)
    learned = policy.state_dict()
    learned["page.amount"] = np.asarray(amounts, np.float64)
    policy.load_state_dict(learned)
    return policy


def run(policy: LAKG, polls: int, outcome=lambda page: Outcome.FAILED, begin: int = 1) -> list[int]:
    """Poll once a second and tell at once."""
    order: list[int] = []
    for now in range(begin, begin + polls):
        (page,) = policy.select(now, 1).page_ids.tolist()
        policy.observe([Observation(page, now, outcome(page))])
        order.append(page)
    return order


def zipf(count: int, alpha: float, beta: float, rng: np.random.Generator):
    """ln q of pages whose rank is random."""
    return np.log1p(-alpha / rng.permutation(np.arange(1, count + 1)) ** beta)


@kernel
def play(state, observations, log_q, generator, begin, polls):
    """The game of the papers: a poll pays with the probability 1 - q^(1/x), independently."""
    found = 0
    for now in range(begin, begin + polls):
        page = select_lakg(state, now)
        pays = -np.expm1(log_q[page] / amount_lakg(state, page))
        changed = generator.random() < pays
        found += changed
        write_observation(observations[0], page, now, 1 if changed else 0)
        observe_lakg(state, observations[0])
    return found


def expected_reward(policy: LAKG, log_q) -> float:
    """Of a poll of the mixture."""
    x = policy.amounts()[: len(log_q)]
    return float(x @ -np.expm1(log_q / x))


@pytest.mark.parametrize("schedule", ["deadline", "random"])
@pytest.mark.parametrize(
    ("resolution", "exponent", "expected"),
    [
        (1500, 1.3, (0.41, 0.92, 0.972)),
        (2500, 1.3, (0.33, 0.79, 0.953)),
        (5000, 1.2, (0.29, 0.61, 0.87)),
    ],
)
def test_the_mixture_of_500_pages_comes_close_to_the_best(schedule, resolution, exponent, expected):
    rewards = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        log_q = zipf(500, 0.9, 1.5, rng)
        policy = new_policy(500, schedule, seed + 100, resolution=resolution, exponent=exponent)
        begin = 1
        for until in (10_000, 50_000, 100_000):
            play(policy.state, blank_observation(), log_q, rng, begin, until + 1 - begin)
            rewards.append(expected_reward(policy, log_q))
            begin = until + 1
    assert np.reshape(rewards, (3, 3)).mean(axis=0) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    ("alpha", "beta", "expected"), [(0.3, 1.0, 571.0), (0.6, 1.0, 824.0), (0.9, 1.5, 836.0)]
)
def test_the_reward_of_the_first_1000_polls_of_8_pages(alpha, beta, expected):
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        policy = new_policy(8, resolution=100, exponent=1.3)
        found += play(policy.state, blank_observation(), zipf(8, alpha, beta, rng), rng, 1, 1000)
    assert found / 200 == pytest.approx(expected, rel=0.01)


class PlainLAKG:
    """The same game without anything clever: exact amounts, and a scan of all deadlines."""

    def __init__(
        self, count: int, resolution: int, exponent: int, capacity: Fraction, schedule: str
    ) -> None:
        self.capacity, self.schedule = capacity, schedule
        self.amount = [Fraction(s, resolution) ** exponent for s in range(resolution + 1)]
        states = range(1, resolution + 1)
        start = min(states, key=lambda s: (abs(self.amount[s] - capacity / count), s))
        self.state = [start] * count
        self.clock = 0.0
        self.deadline = [
            (page + 1) * GOLDEN_RATIO % 1.0 / float(self.amount[start]) for page in range(count)
        ]
        self.lease: dict[int, float] = {}

    def select(self) -> int:
        free = [page for page in range(len(self.state)) if page not in self.lease]
        page = min(free, key=lambda page: self.deadline[page])
        if self.schedule == "period":
            self.clock += 1.0 / float(self.capacity)
        else:
            self.clock = max(self.clock, self.deadline[page])
        self.lease[page] = self.clock
        return page

    def observe(self, page: int, outcome: Outcome) -> None:
        full = sum(self.amount[state] for state in self.state) >= self.capacity
        if outcome == Outcome.CHANGED and not full:
            self.state[page] = min(self.state[page] + 1, len(self.amount) - 1)
        elif outcome == Outcome.UNCHANGED and full:
            self.state[page] = max(self.state[page] - 1, 1)
        self.deadline[page] = self.lease.pop(page) + 1.0 / float(self.amount[self.state[page]])


@pytest.mark.parametrize("schedule", ["deadline", "period"])
@pytest.mark.parametrize("under_way", [1, 3])
@pytest.mark.parametrize(("exponent", "capacity"), [(1, Fraction(1)), (2, Fraction(5, 3))])
def test_a_plain_game_makes_the_same_polls(exponent, capacity, under_way, schedule):
    rng = np.random.default_rng(5)
    # Floats hold such amounts exactly, for the ties.
    plain = PlainLAKG(8, 32, exponent, capacity, schedule)
    policy = new_policy(8, schedule, resolution=32, exponent=exponent, capacity=float(capacity))
    chances = rng.uniform(0.0, 0.8, 8)
    leased: list[int] = []
    for now in range(1, 1500):
        while len(leased) < under_way:
            leased.append(plain.select())
            assert policy.select(now, 1).page_ids.tolist() == leased[-1:]
        page = leased.pop(int(rng.integers(under_way)))
        outcome = Outcome.CHANGED if rng.random() < chances[page] else Outcome.UNCHANGED
        if rng.random() < 0.1:
            outcome = Outcome.FAILED if page % 2 else Outcome.GONE
        plain.observe(page, outcome)
        policy.observe([Observation(page, now, outcome)])
        assert policy.state.pages["state"][:8].tolist() == plain.state


@pytest.mark.parametrize("schedule", ["deadline", "random"])
def test_compiled_and_one_by_one_it_is_the_same(schedule):
    log_q = zipf(20, 0.9, 1.5, np.random.default_rng(0))
    compiled = new_policy(20, schedule, resolution=100)
    play(compiled.state, blank_observation(), log_q, np.random.default_rng(3), 1, 1000)
    policy, rng = new_policy(20, schedule, resolution=100), np.random.default_rng(3)

    def outcome(page: int) -> Outcome:
        pays = -np.expm1(log_q[page] / policy.amounts()[page])
        return Outcome.CHANGED if rng.random() < pays else Outcome.UNCHANGED

    run(policy, 1000, outcome)
    for name, learned in policy.state_dict().items():
        assert np.array_equal(learned, compiled.state_dict()[name])


@kernel
def worth_of_real_polls(state, observations, hazards, last, generator, polls):
    """The sum over `polls` polls of Σ x d(x), a poll paying if the page changed since its last."""
    worth = 0.0
    for now in range(polls):
        for page in range(len(hazards)):
            x = amount_lakg(state, page)
            worth -= x * np.expm1(-hazards[page] / x)
        page = select_lakg(state, now)
        changed = generator.random() < -np.expm1(-hazards[page] * (now - last[page]))
        write_observation(observations[0], page, now, 1 if changed else 0)
        observe_lakg(state, observations[0])
        last[page] = now
    return worth


@pytest.mark.parametrize(
    ("probabilities", "printed"),
    [
        # Glimsdal 2013, appendix, table 1.
        ([0.90, 0.10], 874.9),
        ([0.75, 0.25], 793.1),
        ([0.55, 0.45], 749.8),
        # Table 8.8, where it stands for the three settings above.
        ([0.60, 0.30], 709.8),
        # Table 8.10, cut off after a decimal.
        (0.3 / np.arange(1, 9), 571.85),
        (0.6 / np.arange(1, 9), 828.95),
        (0.9 / np.arange(1, 9) ** 1.5, 855.95),
    ],
)
def test_real_polls_at_periods_are_worth_what_is_printed(probabilities, printed):
    hazards = -np.log1p(-np.asarray(probabilities))
    count, worth = len(hazards), []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        last = -count * rng.random(count)
        policy = LAKG(resolution=100, exponent=1.0, schedule="period")
        policy.add([Page(page, seen_at=seen) for page, seen in enumerate(last.tolist())])
        order = rng.permutation(hazards)
        blank = blank_observation()
        worth.append(worth_of_real_polls(policy.state, blank, order, last, rng, 1000))
    error = np.std(worth) * math.sqrt(1 / len(worth) + 1 / 1000)  # theirs are means of 1,000
    assert np.mean(worth) == pytest.approx(printed, abs=0.05 + 3 * error)


def test_frequencies_are_in_proportion_to_the_amounts():
    amounts = np.array([1, 2, 3, 4, 40, 150, 300, 500]) / 1000
    policy = with_amounts(amounts)
    counts = np.bincount(run(policy, 10_000), minlength=8)
    assert counts == pytest.approx(10_000 * amounts, abs=2)
    assert policy.amounts() == pytest.approx(amounts)  # failed polls teach nothing


def test_random_frequencies_are_in_proportion_to_the_amounts_that_can_be_chosen():
    amounts = np.array([0.05, 0.1, 0.15, 0.2, 0.5])
    policy = with_amounts(amounts, schedule="random")
    counts = np.bincount(run(policy, 1000), minlength=5)
    assert counts == pytest.approx(1000 * amounts, abs=4 * math.sqrt(250))
    while policy.select(1001.0, 1).page_ids.tolist() != [4]:  # the others stay leased, too
        pass
    policy.observe([Observation(page, 1001.0, Outcome.FAILED) for page in range(4)])
    counts = np.bincount(run(policy, 1000, begin=1001), minlength=5)
    assert counts == pytest.approx(1000 * np.array([0.1, 0.2, 0.3, 0.4, 0.0]), abs=60)


@steady
@given(
    resolution=st.integers(2, 9),
    exponent=st.sampled_from([0.0, 0.5, 1.0, 1.3]),
    capacity=st.sampled_from([0.5, 1.0, 3.0]),
    outcomes=st.lists(st.sampled_from(Outcome), max_size=100),
    discarded=st.sets(st.integers(0, 4)),
)
def test_every_automaton_stays_in_its_states(resolution, exponent, capacity, outcomes, discarded):
    assume(exponent == 0.0 or 5 * resolution**-exponent < 0.99 * capacity)
    policy = new_policy(5, resolution=resolution, exponent=exponent, capacity=capacity)
    for now, outcome in enumerate(outcomes, start=1):
        run(policy, 1, lambda page, outcome=outcome: outcome, begin=now)
        states = policy.state.pages["state"][:5]
        assert ((states >= 1) & (states <= resolution)).all()
        assert policy.state.shared["load"][0] == policy.amounts().sum()
    policy.discard(list(discarded))
    assert policy.state.shared["load"][0] == policy.amounts().sum()


def test_only_news_of_a_copy_at_hand_teaches():
    policy = new_policy(2, resolution=10, exponent=1.0, capacity=1.0)
    policy.add([Page(2)])
    before = policy.amounts()[:3].tolist()
    assert before == pytest.approx([0.5, 0.5, 0.3])  # too much: polls without a change teach
    policy.observe([Observation(2, 5.0, Outcome.UNCHANGED)])  # the first copy
    policy.observe([Observation(2, 4.0, Outcome.UNCHANGED)])
    policy.observe([Observation(0, 0.0, Outcome.UNCHANGED)])
    policy.observe([Observation(0, 9.0, outcome) for outcome in (Outcome.FAILED, Outcome.GONE)])
    assert policy.amounts()[:3].tolist() == before
    policy.observe([Observation(0, 9.0, Outcome.UNCHANGED), Observation(0, 9.0, Outcome.UNCHANGED)])
    policy.observe([Observation(2, 6.0, Outcome.UNCHANGED)])
    assert policy.amounts()[:3] == pytest.approx([0.4, 0.5, 0.2])


def test_a_knapsack_filled_to_the_brim_is_full():
    policy = new_policy(3, resolution=6, exponent=1.0)
    assert policy.amounts()[:3] == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    policy.observe([Observation(0, 1.0, Outcome.CHANGED), Observation(1, 1.0, Outcome.UNCHANGED)])
    assert policy.amounts()[:3] == pytest.approx([1 / 3, 1 / 6, 1 / 3])


def test_what_discarded_pages_had_goes_to_the_others():
    policy = with_amounts([0.6, 0.2, 0.2])
    policy.discard([0, 0, 7])
    assert policy.amounts()[:3] == pytest.approx([0.0, 0.2, 0.2])
    run(policy, 1000, lambda page: Outcome.CHANGED)
    assert policy.amounts().sum() == pytest.approx(1.0, abs=0.002)


@pytest.mark.parametrize(("count", "capacity"), [(3, 1.0), (500, 1.0), (4, 3.9), (4, 4.0)])
def test_pages_start_as_near_to_uniform_as_can_be(count, capacity):
    policy = new_policy(count, capacity=capacity)
    started = policy.amounts()[:count]
    table = (np.arange(1, 1501) / 1500) ** 1.3
    nearest = table[np.abs(table - capacity / count).argmin()]
    assert started == pytest.approx(np.full(count, nearest))


def test_amounts_end_at_the_largest_id():
    policy = LAKG()
    assert policy.amounts().tolist() == []
    policy.add([Page(1), Page(4)])
    assert policy.amounts() == pytest.approx([0, 0.5, 0, 0, 0.5], abs=1e-3)
    policy.discard([4])
    assert policy.amounts() == pytest.approx([0, 0.5], abs=1e-3)


def test_pages_without_a_copy_come_first_in_the_order_of_adding():
    policy = new_policy(3)
    policy.add([Page(9), Page(4), Page(7)])
    assert run(policy, 3) == [9, 4, 7]


def test_it_waits_only_for_deferred_pages():
    policy = new_policy(2)
    assert len(policy.select(1.0, 5).page_ids) == 2
    assert policy.select(1.0, 5).wake_at == math.inf
    policy.defer([0, 1], 8.0)
    assert policy.select(1.0, 5).wake_at == 8.0


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_1_gives_no_page(limit):
    assert new_policy(2).select(1.0, limit).page_ids.tolist() == []


@pytest.mark.parametrize("schedule", ["deadline", "period", "random"])
def test_a_page_given_back_unpolled_keeps_its_turn(schedule):
    policy, twin = (with_amounts([0.1, 0.15, 0.35, 0.4], schedule=schedule) for _ in range(2))
    for now in range(1, 300):
        again = policy.select(now, 1).page_ids.tolist()
        policy.defer(again, until=now)
        assert run(policy, 1, begin=now) == again == run(twin, 1, begin=now)


def test_leases_and_deferrals_outlive_a_load():
    policy = new_policy(4)
    leased, deferred = policy.select(1.0, 2).page_ids.tolist()
    policy.defer([deferred], until=50.0)
    policy.load_state_dict(policy.state_dict())
    others = policy.select(2.0, 9)
    assert sorted([*others.page_ids.tolist(), leased, deferred]) == [0, 1, 2, 3]
    assert others.wake_at == 50.0
    assert policy.select(50.0, 9).page_ids.tolist() == [deferred]
    policy.observe([Observation(leased, 51.0, Outcome.FAILED)])
    assert policy.select(51.0, 9).page_ids.tolist() == [leased]


def test_the_turn_of_a_leased_page_goes_by_the_clock_that_was_loaded():
    policy = with_amounts([0.25, 0.75])
    (page,) = policy.select(1.0, 1).page_ids.tolist()
    far = {**policy.state_dict(), "lakg.clock": np.array([1000.0])}
    policy.load_state_dict(far)
    policy.observe([Observation(page, 1.0, Outcome.FAILED)])
    deadline = policy.state_dict([page])["page.deadline"].item()
    assert deadline == pytest.approx(1000.0 + 1.0 / policy.amounts()[page])


def test_a_mixture_outlives_a_restart():
    policy = new_policy(20, resolution=200)
    run(policy, 500, lambda page: Outcome.CHANGED if page < 5 else Outcome.UNCHANGED)
    same, finer = (new_policy(20, resolution=resolution) for resolution in (200, 4000))
    for restored in (same, finer):
        restored.load_state_dict(policy.state_dict())
    assert finer.amounts() == pytest.approx(policy.amounts(), abs=2e-4)
    assert run(same, 300, begin=501) == run(policy, 300, begin=501)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("page.amount", [0.0, -0.5, 1.5, math.nan, math.inf]),
        ("page.deadline", [-1.0, math.inf, -math.inf]),
        ("lakg.clock", [-1.0, math.nan, math.inf]),
    ],
)
def test_damaged_state_is_refused(name, values):
    policy = new_policy(3)
    run(policy, 50, lambda page: Outcome(page % 2))
    before = policy.state_dict()
    for value in values:
        damaged = policy.state_dict()
        damaged[name][-1] = value
        with pytest.raises(StateError, match="damaged"):
            policy.load_state_dict(damaged)
        for key, learned in policy.state_dict().items():
            assert np.array_equal(learned, before[key], equal_nan=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resolution": 1}, "resolution=1 must be a whole number from 2 to 10000000"),
        ({"resolution": 10**12}, "resolution=1000000000000 must be a whole number"),
        ({"resolution": 1.5}, "resolution=1.5 must be a whole number"),
        ({"resolution": "x"}, "resolution='x' must be a whole number"),
        ({"resolution": True}, "resolution=True must be a whole number"),
        ({"exponent": -0.1}, "exponent=-0.1 must be a finite number, at least 0"),
        ({"exponent": math.nan}, "exponent=nan must be"),
        ({"exponent": "1"}, "exponent='1' must be"),
        ({"capacity": 0.0}, "capacity=0.0 must be a finite number above 0"),
        ({"capacity": math.inf}, "capacity=inf must be"),
        ({"schedule": "fair"}, "schedule='fair' must be one of deadline, period, random"),
        ({"schedule": "random"}, "generator=None must be a numpy Generator"),
        ({"schedule": "random", "generator": 7}, "generator=7 must be a numpy Generator"),
        ({"generator": 7}, "generator=7 must be a numpy Generator"),
    ],
)
def test_arguments_out_of_range(options, message):
    with pytest.raises(InputError, match=message):
        LAKG(**options)


def test_the_pages_must_be_able_to_fill_the_knapsack():
    policy = LAKG(capacity=2.5)
    with pytest.raises(InputError, match=r"capacity=2.5 is more than 2 page\(s\) can take"):
        policy.add(with_copies(2))
    assert policy.select(0.0, 1).page_ids.size == 0
    policy.add(with_copies(3))


def test_the_smallest_amounts_must_not_fill_the_knapsack():
    policy = LAKG(resolution=10, exponent=1.0)
    message = r"resolution=10 is too low for 10 page\(s\): .* such as 40"
    with pytest.raises(InputError, match=message):
        policy.add(with_copies(10))
    assert policy.amounts().tolist() == []
    policy.add(with_copies(9))
    with pytest.raises(InputError, match="too low for 10 page"):
        policy.add([Page(9)])
    assert len(policy.amounts()) == 9


@pytest.mark.parametrize("exponent", [0.9, 1.3, 2.0])
@pytest.mark.parametrize("capacity", [0.3, 1.0, 1.7])
def test_the_resolution_it_advises_will_do(exponent, capacity):
    pages = with_copies(10_000)
    with pytest.raises(InputError) as raised:
        LAKG(resolution=10, exponent=exponent, capacity=capacity).add(pages)
    advised = int(str(raised.value).rsplit(" ", 1)[1])
    LAKG(resolution=advised, exponent=exponent, capacity=capacity).add(pages)
    assert advised**-exponent == pytest.approx(capacity / len(pages) / 4, rel=0.05)


@pytest.mark.parametrize(("exponent", "capacity"), [(1e-3, 1.0), (1.3, 1e-310)])
def test_where_no_resolution_will_do_it_asks_for_none(exponent, capacity):
    policy = LAKG(exponent=exponent, capacity=capacity)
    with pytest.raises(InputError, match="give a larger exponent or capacity"):
        policy.add(with_copies(9))


def test_with_an_exponent_of_0_all_amounts_are_1():
    policy = new_policy(5, exponent=0.0)
    assert policy.amounts().tolist() == [1.0] * 5
