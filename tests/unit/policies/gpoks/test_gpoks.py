"""GPOKS learns what pays, deals by what it drew, and polls in proportion to what it dealt."""

import itertools
import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats

from pollwise.errors import InputError, StateError
from pollwise.kernel_cache import kernel
from pollwise.knapsack import det_ks
from pollwise.policies.arrays import blank_observation, write_observation
from pollwise.policies.gpoks.gpoks import GPOKS, GPOKS_VARIANTS
from pollwise.policies.gpoks.kernels import amount_gpoks, observe_gpoks, select_gpoks
from pollwise.rates.gaussian_process import SquaredExponential, low_rank_basis
from pollwise.types import Observation, Outcome, Page

every_variant = pytest.mark.parametrize("variant", GPOKS_VARIANTS)

GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0


def new_policy(count: int, variant: str = "gpoks", seed: int = 7, **options) -> GPOKS:
    policy = GPOKS(variant=variant, generator=np.random.default_rng(seed), **options)
    policy.add([Page(n, seen_at=0.0) for n in range(count)])
    return policy


def run(
    policy: GPOKS, polls: int, outcome=lambda page: Outcome.FAILED, begin: int = 1
) -> list[int]:
    """Poll once a second and tell at once."""
    order: list[int] = []
    for now in range(begin, begin + polls):
        (page,) = policy.select(now, 1).page_ids.tolist()
        policy.observe([Observation(page, now, outcome(page))])
        order.append(page)
    return order


def changes(change_rates, policy, rng):
    """Outcomes as in the papers: a poll pays with the probability 1 - e^(-rate/x)."""

    def outcome(page: int) -> Outcome:
        pays = -np.expm1(-change_rates[page] / policy.amounts()[page])
        return Outcome.CHANGED if rng.random() < pays else Outcome.UNCHANGED

    return outcome


def zipf(count: int, alpha: float, beta: float, rng: np.random.Generator):
    """Change rates of pages whose rank is random."""
    return -np.log1p(-alpha / rng.permutation(np.arange(1, count + 1)) ** beta)


@kernel
def play(state, observations, change_rates, generator, polls):
    """The same without events."""
    found = 0
    for now in range(1, polls + 1):
        page = select_gpoks(state, now)
        pays = -np.expm1(-change_rates[page] / amount_gpoks(state, page))
        changed = generator.random() < pays
        found += changed
        write_observation(observations[0], page, now, 1 if changed else 0)
        observe_gpoks(state, observations[0])
    return found


@pytest.mark.parametrize(
    ("variant", "pages", "expected"),
    [
        # Of 720 and 872.5, which is what the best amounts are expected to pay.
        ("gpoks", 2, 714.0),
        ("mono", 2, 714.0),
        ("ts", 2, 690.0),
        ("ots", 2, 707.0),
        ("gpr", 2, 694.0),
        ("ucb", 2, 716.0),
        ("ips", 2, 700.0),
        ("ips-ots", 2, 703.5),
        ("gpoks", 8, 820.5),
        ("ts", 8, 810.0),
        ("ucb", 8, 835.0),
    ],
)
def test_the_reward_of_the_first_1000_polls(variant, pages, expected):
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        policy = new_policy(pages, variant, seed=seed + 1000)
        found += play(policy.state, blank_observation(), zipf(pages, 0.6, 1.0, rng), rng, 1000)
    assert found / 40 == pytest.approx(expected, rel=0.01)


def test_amounts_come_close_to_the_best_ones():
    change_rates = np.array([0.05, 0.1, 0.2, 0.4])
    policy = new_policy(4, "gpoks")
    play(policy.state, blank_observation(), change_rates, np.random.default_rng(1), 20_000)
    amounts = np.zeros(4)
    for now in range(1000):
        amounts += policy.amounts()[:4] / 1000
        run(policy, 1, begin=20_001 + now)
    assert amounts == pytest.approx(change_rates / change_rates.sum(), abs=0.06)


class PlainGPOKS:
    """The same game, computed anew from all observations at every poll.

    `rounded` are the values of a variant without draws as the policy has them: where all are equal
    but for rounding, that decides the printed deal.
    """

    def __init__(self, variant: str, deal: str, count: int, resolution: int, seed: int) -> None:
        self.variant, self.printed, self.resolution = variant, deal == "printed", resolution
        self.generator = np.random.default_rng(seed)
        points = np.arange(1, resolution + 1) / resolution
        self.basis = low_rank_basis(SquaredExponential(), points)
        self.seen = [([], []) for _ in range(count)]
        self.steps = [1] * count
        self.credit = [(page + 1) * GOLDEN_RATIO % 1.0 for page in range(count)]
        self.rounded = np.zeros((count, resolution))

    def posterior(self, page: int):
        at, rewards = self.seen[page]
        features = self.basis[at]
        precision = np.eye(self.basis.shape[1]) + features.T @ features / 0.1
        mean = np.linalg.solve(precision, features.T @ np.array(rewards) / 0.1)
        return mean, linalg.cholesky(precision)

    def select(self) -> int:
        count = len(self.seen)
        posteriors = [self.posterior(page) for page in range(count)]
        means = [self.basis @ mean for mean, _ in posteriors]
        deviations = [
            np.linalg.norm(linalg.solve_triangular(root, self.basis.T, trans=1), axis=0)
            for _, root in posteriors
        ]
        if self.variant == "ts":
            drawn = [
                mean
                + self.basis
                @ linalg.solve_triangular(root, self.generator.standard_normal(len(root)))
                for mean, (_, root) in zip(means, posteriors, strict=True)
            ]

        def value(page: int, steps: int) -> float:
            mean, deviation = means[page][steps - 1], deviations[page][steps - 1]
            if self.variant == "gpr":
                return mean
            if self.variant == "ucb":
                rounded = self.rounded[page, steps - 1]
                assert rounded == pytest.approx(mean + 2.0 * deviation, rel=1e-9)
                return rounded
            if self.variant == "ts":
                return drawn[page][steps - 1]
            above = self.generator.standard_normal()
            return mean + (abs(above) if self.variant == "ips-ots" else above) * deviation

        def offer(page: int, steps: int) -> float:
            if not self.printed:
                return value(page, steps + 1)
            before = value(page, 1) if steps == 1 else self.latest[page]
            self.latest[page] = value(page, steps + 1)
            return (steps + 1) * self.latest[page] - steps * before

        self.steps, self.latest = [1] * count, [math.nan] * count
        offers = [offer(page, 1) for page in range(count)]
        for _ in range(self.resolution - count):
            page = int(np.argmax(offers))
            self.steps[page] += 1
            if self.steps[page] < self.resolution:
                offers[page] = offer(page, self.steps[page])
        self.credit = [
            credit + steps / self.resolution
            for credit, steps in zip(self.credit, self.steps, strict=True)
        ]
        page = min(range(count), key=lambda page: (1 - self.credit[page]) / self.steps[page])
        self.credit[page] -= 1.0
        return page

    def observe(self, page: int, outcome: Outcome) -> None:
        self.seen[page][0].append(self.steps[page] - 1)
        self.seen[page][1].append(float(outcome))


@pytest.mark.parametrize("deal", ["marginal", "printed"])
@pytest.mark.parametrize("variant", ["ts", "ips", "ips-ots", "ucb"])
def test_a_plain_game_makes_the_same_polls(variant, deal):
    rng = np.random.default_rng(5)
    policy = new_policy(3, variant, deal=deal, resolution=20)
    plain = PlainGPOKS(variant, deal, 3, 20, seed=7)
    for now in range(1, 300):
        polled = policy.select(now, 1).page_ids.tolist()
        if variant == "ucb":
            plain.rounded = values_as_drawn(policy, variant, 3)
        page = plain.select()
        assert polled == [page]
        assert policy.state.pages["steps"][:3].tolist() == plain.steps
        outcome = Outcome(int(rng.random() < 0.1 * (page + 1)))
        plain.observe(page, outcome)
        policy.observe([Observation(page, now, outcome)])


def values_as_drawn(policy: GPOKS, variant: str, count: int):
    """The table by which the latest deal was made."""
    state = policy.state
    if variant in ("gpr", "ucb"):
        deviations = 2.0 if variant == "ucb" else 0.0
        return state.mean[:count] + (deviations * state.deviation[:count] if deviations else 0.0)
    return state.weights[:count] @ state.basis.T


@pytest.mark.parametrize("deal", ["marginal", "printed"])
@pytest.mark.parametrize("variant", ["gpoks", "mono", "ts", "ots", "gpr", "ucb"])
def test_the_deal_is_that_of_det_ks(variant, deal):
    rng = np.random.default_rng(2)
    policy = new_policy(5, variant, deal=deal, resolution=40)
    for now in range(1, 200):
        (page,) = policy.select(now, 1).page_ids.tolist()
        table = values_as_drawn(policy, variant, 5)
        units = det_ks(table, 40, printed=deal == "printed")
        assert policy.amounts()[:5] == pytest.approx(units / 40)
        policy.observe([Observation(page, now, Outcome(int(rng.random() < 0.2 * page)))])


@pytest.mark.parametrize(
    "options", [{}, {"capacity": 10.0, "length_scale": 0.3, "signal_variance": 1e-4}]
)
@pytest.mark.parametrize("variant", ["gpoks", "mono", "ots"])
def test_functions_keep_the_criteria_of_their_variant(variant, options):
    policy = new_policy(4, variant, **options)
    rng = np.random.default_rng(3)
    tiny = 1e-12 * math.sqrt(options.get("signal_variance", 1.0))
    for now in range(1, 300):
        policy.select(now, 1)
        drawn = policy.state.weights[:4] @ policy.state.basis.T
        mean = policy.state.moments[:4, :, -1] @ policy.state.basis.T
        if variant != "ots":
            assert (np.diff(drawn, axis=1) <= tiny).all()
        if variant != "mono":
            assert (drawn >= mean - tiny).all()
        page = policy.state.pages["where"][:4].argmax()
        policy.observe([Observation(int(page), now, Outcome(int(rng.random() < 0.5)))])


def test_a_function_that_had_to_follow_the_mean_is_a_draw():
    """As by rejection from the posterior, right after a poll moved it."""
    above = []
    for seed in range(400):
        policy = new_policy(1, "gpoks", seed=seed, resolution=30)
        for now, outcome in enumerate([Outcome.CHANGED, Outcome.UNCHANGED, Outcome.CHANGED], 1):
            policy.select(now, 1)
            policy.state.pages["offered"][0] = 10 * now
            policy.observe([Observation(0, now, outcome)])
        above.append(policy.state.basis[[0, 14, 29]] @ policy.state.weights[0])
    moments = policy.state.moments[0]
    free = np.random.default_rng(1).standard_normal((100_000, len(moments)))
    functions = (moments[:, -1] + free @ moments[:, :-1].T) @ policy.state.basis.T
    mean = policy.state.basis @ moments[:, -1]
    fits = (functions >= mean).all(axis=1) & (np.diff(functions, axis=1) <= 0.0).all(axis=1)
    assert fits.sum() > 300
    for drawn, expected in zip(np.transpose(above), functions[fits][:, [0, 14, 29]].T, strict=True):
        assert stats.ks_2samp(drawn, expected).pvalue > 0.001


@every_variant
def test_compiled_and_one_by_one_it_is_the_same(variant):
    change_rates = zipf(6, 0.9, 1.5, np.random.default_rng(0))
    compiled = new_policy(6, variant, resolution=30)
    play(compiled.state, blank_observation(), change_rates, np.random.default_rng(3), 200)
    policy = new_policy(6, variant, resolution=30)
    run(policy, 200, changes(change_rates, policy, np.random.default_rng(3)))
    for name, learned in policy.state_dict().items():
        assert np.array_equal(learned, compiled.state_dict()[name])
    assert np.array_equal(policy.amounts(), compiled.amounts())


@settings(max_examples=30)
@given(
    variant=st.sampled_from(GPOKS_VARIANTS),
    count=st.integers(1, 12),
    resolution=st.integers(12, 40),
    capacity=st.floats(0.1, 10.0),
    seed=st.integers(0, 2**32),
)
def test_amounts_fill_the_knapsack_and_every_page_has_a_step(
    variant, count, resolution, capacity, seed
):
    policy = new_policy(count, variant, seed, resolution=resolution, capacity=capacity)
    assert policy.amounts()[:count] == pytest.approx(capacity / resolution)
    rng = np.random.default_rng(seed)
    for now in range(1, 20):
        run(policy, 1, lambda page: Outcome(int(rng.random() < 0.5)), begin=now)
        amounts = policy.amounts()
        assert amounts.sum() == pytest.approx(capacity)
        assert (amounts[:count] >= capacity / resolution * (1 - 1e-12)).all()
        assert len(amounts) == count
        offered = [amount_gpoks(policy.state, n) for n in range(-1, count + 17)]
        assert offered == [0.0, *amounts, *[0.0] * 17]


def test_frequencies_are_in_proportion_to_the_amounts():
    # Nothing is drawn and nothing learned, so that the amounts stay.
    policy = new_policy(4, "ucb", resolution=10)
    for page in range(4):
        policy.select(0.0, 4)
        polls = [Observation(page, 1.0 + n, Outcome(page > 1)) for n in range(10 * (page + 1))]
        policy.observe([*polls, *(Observation(n, 0.0, Outcome.FAILED) for n in range(4))])
    counts = np.bincount(run(policy, 1000, begin=100), minlength=4)
    assert len(set(policy.amounts()[:4])) > 1
    assert counts == pytest.approx(1000 * policy.amounts()[:4], abs=2)


def test_pages_without_a_copy_come_first_and_their_first_copy_teaches_nothing():
    policy = GPOKS(generator=np.random.default_rng(1))
    policy.add([Page(3, seen_at=0.0), Page(5), Page(4)])
    prior = policy.state_dict()["page.root"]
    assert run(policy, 2, lambda page: Outcome.CHANGED) == [5, 4]
    assert np.array_equal(policy.state_dict()["page.root"], prior)
    run(policy, 5, lambda page: Outcome.CHANGED, begin=3)
    assert not np.array_equal(policy.state_dict()["page.root"], prior)


def test_a_page_that_was_away_makes_up_for_nothing():
    policy = new_policy(3, "ts")
    (away,) = policy.select(1.0, 1).page_ids.tolist()
    policy.defer([away], until=1000.0)
    polled = run(policy, 200, begin=2)
    assert away not in polled
    assert policy.select(300.0, 0).wake_at == 1000.0
    credit = policy.state_dict()["page.credit"]
    assert np.abs(credit).max() < 3.0
    counts = np.bincount(run(policy, 30, begin=1000), minlength=3)
    assert counts[away] < 25


def test_a_page_given_back_unpolled_keeps_its_turn():
    policy, twin = (new_policy(5, "gpr", resolution=20) for _ in range(2))
    for now in range(1, 300):
        again = policy.select(now, 1).page_ids.tolist()
        policy.defer(again, until=now)
        page = run(policy, 1, lambda page: Outcome(page % 2), begin=now)
        assert page == again == run(twin, 1, lambda page: Outcome(page % 2), begin=now)
    assert np.array_equal(policy.state_dict()["page.credit"], twin.state_dict()["page.credit"])


def test_pages_given_back_unpolled_do_not_put_a_new_page_off():
    policy = new_policy(3, "ts")
    for _ in range(500):
        policy.defer(policy.select(1.0, 1).page_ids.tolist(), until=1.0)
    policy.add([Page(3, seen_at=0.0)])
    assert 3 in run(policy, 100, begin=2)


def test_a_page_without_a_copy_that_is_given_back_still_comes_first():
    policy = new_policy(3)
    policy.add([Page(3)])
    assert policy.select(1.0, 1).page_ids.tolist() == [3]
    policy.defer([3], until=5.0)
    assert 3 not in run(policy, 3, begin=2)
    assert run(policy, 1, begin=5) == [3]


def test_a_page_that_is_polled_for_long_is_not_owed_more_than_a_poll():
    policy = new_policy(3, "ts")
    (slow,) = policy.select(1.0, 1).page_ids.tolist()
    run(policy, 500, begin=2)
    assert policy.state_dict([slow])["page.credit"][0] < 2.0


def test_a_poll_that_nobody_selected_teaches_once_an_amount_was_offered():
    policy = new_policy(2)
    prior = policy.state_dict([0])["page.root"]
    policy.observe([Observation(0, 1.0, Outcome.CHANGED)])
    assert np.array_equal(policy.state_dict([0])["page.root"], prior)
    policy.select(2.0, 2)
    policy.observe([Observation(0, 3.0, Outcome.CHANGED), Observation(0, 4.0, Outcome.UNCHANGED)])
    root = policy.state_dict([0])["page.root"][0]
    offered = policy.state.basis[policy.state.pages["offered"][0] - 1]
    precision = np.eye(len(offered)) + 2 * np.outer(offered, offered) / 0.1
    assert root[:, :-1].T @ root[:, :-1] == pytest.approx(precision)


@pytest.mark.parametrize("length_scale", [1.0, 1e7])
def test_numba_sees_one_type_of_state(length_scale):
    """So that one compilation serves all, which the quick look-up of its type counts on."""
    kinds = set()
    for variant, resolution in itertools.product(GPOKS_VARIANTS, (2, 1000)):
        if length_scale > 1.0 and variant in ("gpoks", "mono"):
            continue
        policy = new_policy(0, variant, resolution=resolution, length_scale=length_scale)
        for page_id in (0, 40):
            kinds.add(numba_type(policy.state))
            assert numba.typeof(policy.state) == numba_type(policy.state)
            policy.add([Page(page_id)])
        kinds.add(numba_type(policy.state))
        assert numba.typeof(policy.state) == numba_type(policy.state)
    assert len(kinds) == 1


def numba_type(state):
    """The type of a state, worked out from all that it holds."""
    return numba.types.NamedTuple(
        [
            numba.types.NamedTuple([numba.typeof(array) for array in value], type(value))
            if isinstance(value, tuple)
            else numba.typeof(value)
            for value in state
        ],
        type(state),
    )


def test_one_page_takes_all_and_as_many_pages_as_steps_take_one_each():
    for variant in GPOKS_VARIANTS:
        alone, crowd = (new_policy(n, variant, resolution=6) for n in (1, 6))
        run(alone, 3)
        run(crowd, 3)
        assert alone.amounts()[:1] == pytest.approx(1.0)
        assert crowd.amounts()[:6] == pytest.approx(1 / 6)


def test_what_was_learned_goes_on_in_another_policy():
    change_rates = np.array([0.05, 0.6])
    first = new_policy(2, "gpr")
    play(first.state, blank_observation(), change_rates, np.random.default_rng(1), 500)
    second = new_policy(2, "gpr")
    second.load_state_dict(first.state_dict())
    assert run(second, 100, begin=501) == run(first, 100, begin=501)
    assert second.amounts() == pytest.approx(first.amounts())


def test_a_discarded_page_leaves_what_it_had_to_the_others():
    policy = new_policy(3)
    policy.select(1.0, 1)
    policy.discard([1])
    assert policy.amounts()[1] == 0.0
    policy.select(2.0, 1)
    assert policy.amounts().sum() == pytest.approx(1.0)
    policy.add([Page(1)])
    assert policy.select(3.0, 1).page_ids.tolist() == [1]


@pytest.mark.parametrize(
    "options", [{"noise_variance": 0.2}, {"signal_variance": 2.0}, {"length_scale": 1.0001}]
)
def test_state_learned_with_other_options_is_refused(options):
    learned = new_policy(2).state_dict()
    with pytest.raises(StateError, match="learned with the options"):
        new_policy(2, **options).load_state_dict(learned)


@pytest.mark.parametrize(
    "damage",
    [
        {"page.offered": np.array([0, 101])},
        {"page.offered": np.array([-1, 1])},
        {"page.root": np.full((2, 8, 9), math.nan)},
        {"page.root": np.full((2, 8, 9), math.inf)},
        {"page.root": np.zeros((2, 8, 9))},
        {"page.credit": np.array([0.5, math.nan])},
        {"page.credit": np.array([-math.inf, 0.5])},
    ],
)
def test_damaged_state_is_refused(damage):
    policy = new_policy(2)
    run(policy, 20)
    before = policy.state_dict()
    with pytest.raises(StateError, match="damaged"):
        policy.load_state_dict({**before, **damage})
    for name, learned in policy.state_dict().items():
        assert np.array_equal(learned, before[name])


def test_state_of_another_resolution_is_refused():
    learned = new_policy(2, resolution=99).state_dict()
    with pytest.raises(StateError, match=r"learned with the options \[99"):
        new_policy(2).load_state_dict(learned)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": "best"}, r"variant='best' must be one of gpoks, mono, ts"),
        ({"variant": ["gpoks"]}, r"variant=\['gpoks'\] must be one of gpoks, mono, ts"),
        ({"deal": "best"}, r"deal='best' must be one of marginal, printed"),
        ({"resolution": 1}, r"resolution=1 must be a whole number from 2 to 100000"),
        ({"resolution": 10**12}, r"resolution=1000000000000 must be a whole number"),
        ({"resolution": 1.5}, r"resolution=1.5 must be a whole number"),
        ({"resolution": "x"}, r"resolution='x' must be a whole number"),
        ({"resolution": True}, r"resolution=True must be a whole number"),
        ({"capacity": 0.0}, r"capacity=0.0 must be a finite number above 0"),
        ({"capacity": True}, r"capacity=True must be a finite number above 0"),
        ({"capacity": math.inf}, r"capacity=inf must be a finite number above 0"),
        ({"length_scale": -1.0}, r"length_scale=-1.0 must be a finite number above 0"),
        ({"signal_variance": math.nan}, r"signal_variance=nan must be a finite number above 0"),
        ({"noise_variance": "x"}, r"noise_variance='x' must be a finite number above 0"),
        ({"generator": None}, r"generator=None must be a numpy Generator"),
        (
            {"length_scale": 1e7, "capacity": 1.5},
            r"length_scale=10000000.0 is so long for capacity=1.5 that no function of 'gpoks'",
        ),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(InputError, match=message) as error:
        GPOKS(**{"generator": np.random.default_rng(1), **options})
    assert "\n" not in str(error.value)


def test_functions_that_cannot_fall_are_a_matter_of_the_monotone_variants_only():
    policy = new_policy(2, "ts", length_scale=1e7)
    run(policy, 10, lambda page: Outcome(page))
    assert policy.amounts() == pytest.approx([0.01, 0.99])


@pytest.mark.parametrize("variant", ["gpoks", "ts"])
def test_page_ids_that_no_memory_holds_are_refused_and_nothing_is_added(variant):
    policy = new_policy(3, variant, resolution=10_000)
    with pytest.raises(InputError, match=r"page ids up to 999999999 at resolution=10000 take more"):
        policy.add([Page(10**9 - 1)])
    assert policy.state_dict()["page_ids"].tolist() == [0, 1, 2]


def test_more_pages_than_steps_are_refused_and_nothing_is_added():
    policy = new_policy(3, resolution=4)
    with pytest.raises(InputError, match=r"5 pages do not fit into the 4 steps"):
        policy.add([Page(3), Page(4)])
    assert policy.state_dict()["page_ids"].tolist() == [0, 1, 2]
    policy.add([Page(3)])
