"""H-TRAA: the tree, whose turn it is, what a poll moves, and what is kept."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError, StateError
from pollwise.policies.arrays import ABSENT, READY
from pollwise.policies.automata.htraa import HTRAA, Schedule, Update
from pollwise.policies.automata.htraa_kernels import amount_htraa
from pollwise.types import Observation, Outcome, Page

CHANGED, UNCHANGED, FAILED = Outcome.CHANGED, Outcome.UNCHANGED, Outcome.FAILED
UPDATES: list[Update] = ["reward-inaction", "inaction-penalty", "reward-penalty"]


def make(pages: int, seed: int = 1, **options) -> HTRAA:
    policy = HTRAA(generator=np.random.default_rng(seed), **options)
    policy.add([Page(page_id, seen_at=0.0) for page_id in range(pages)])
    return policy


def poll(policy: HTRAA, now: float, outcome: Outcome = FAILED) -> int:
    """Poll one page; a failure teaches nothing."""
    (page_id,) = policy.select(now, 1).page_ids.tolist()
    policy.observe([Observation(page_id, now, outcome)])
    return page_id


def divided(policy: HTRAA) -> list[int]:
    """The nodes that have pages on both sides."""
    counts = policy.state.nodes["pages"]
    slots = range(1, len(policy.state.occupants))
    return [node for node in slots if counts[2 * node] and counts[2 * node + 1]]


def draw_shares(policy: HTRAA, rng: np.random.Generator) -> None:
    """Put every automaton into a state drawn at random."""
    whole = int(policy.state.shared["whole"][0])
    for node in divided(policy):
        policy.state.nodes["state"][node] = rng.integers(1, whole)
        policy.state.nodes["credit"][node] = 0


class Part:
    """The plainest account of a tree: objects, a credit for each part, fractions."""

    def __init__(self, policy: HTRAA, climb: str = "always", node: int = 1) -> None:
        state, slots = policy.state, len(policy.state.occupants)
        self.whole = int(state.nodes["whole"][node])
        self.exponent, self.climb = int(state.shared["exponent"][0]), climb
        self.page = int(state.occupants[node - slots]) if node >= slots else None
        self.parts = (
            [] if node >= slots else [Part(policy, climb, 2 * node + side) for side in (0, 1)]
        )
        self.state, self.credits = int(state.nodes["state"][node]), []
        if self.parts:
            units = self.whole if self.exponent == 1 else 2**30
            credit = Fraction(int(state.nodes["credit"][node]), units)
            self.credits = [credit, -credit]

    def pages(self) -> list[int]:
        below = [page for part in self.parts for page in part.pages()]
        return below or ([] if self.page in (-1, None) else [self.page])

    def shares(self) -> list[Fraction]:
        left, right = self.state**self.exponent, (self.whole - self.state) ** self.exponent
        share = Fraction(left, left + right)
        if self.exponent != 1:
            share = Fraction(math.floor(share * 2**30 + Fraction(1, 2)), 2**30)
        return [share, 1 - share]

    def amount(self, page: int) -> Fraction:
        if not self.parts:
            return Fraction(1)
        side = 0 if page in self.parts[0].pages() else 1
        return self.shares()[side] * self.parts[side].amount(page)

    def select(self) -> int:
        if not self.parts:
            return self.page
        deadlines = [
            (1 - credit) / share if share else math.inf
            for credit, share in zip(self.credits, self.shares(), strict=True)
        ]
        side = 0 if deadlines[0] <= deadlines[1] else 1
        for other in (0, 1):
            self.credits[other] += self.shares()[other] - (other == side)
        return self.parts[side].select()

    def learn(self, page: int, outcome: Outcome, update: str, rng: np.random.Generator) -> bool:
        """Gives whether the part above hears of it."""
        side = next((n for n, part in enumerate(self.parts) if page in part.pages()), None)
        if side is None:
            return True
        if not self.parts[side].learn(page, outcome, update, rng):
            return False
        if update == ("inaction-penalty" if outcome == CHANGED else "reward-inaction"):
            return True
        towards_left = (side == 0) == (outcome == CHANGED)
        moved = self.state + (1 if towards_left else -1)
        moves = 1 <= moved < self.whole and rng.random() < 1 - self.shares()[side]
        if moves:
            self.state = moved
        return moves or self.climb == "always" or not self.parts[1 - side].pages()


@pytest.mark.parametrize(
    "options", [{}, {"climb": "moved"}, {"growth": 2.0}, {"exponent": 2.0, "climb": "moved"}]
)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("pages", [1, 2, 5, 13])
def test_turns_moves_and_amounts_are_those_of_the_plain_account(update, pages, options):
    policy = make(pages, seed=7, update=update, resolution=6, **options)
    account = Part(policy, options.get("climb", "always"))
    rng, world = np.random.default_rng(7), np.random.default_rng(8)
    for now in range(1, 150):
        expected, outcome = account.select(), Outcome(int(world.random() < 0.5))
        assert poll(policy, float(now), outcome) == expected
        account.learn(expected, outcome, update, rng)
        amounts = [float(account.amount(page)) for page in range(pages)]
        assert policy.amounts() == pytest.approx(amounts, rel=1e-12)


def test_every_automaton_has_growth_times_the_resolution_of_its_children():
    policy = make(16, resolution=10, growth=1.5)
    assert policy.state.nodes["whole"][1:16].tolist() == [35] + [23] * 2 + [16] * 4 + [11] * 8
    policy.add([Page(16)])
    assert policy.state.nodes["whole"][1:4].tolist() == [52, 35, 35]
    assert make(9, resolution=10**9, growth=16.0).state.nodes["whole"][1] == 10**9 + 1


def test_larger_exponents_have_finer_steps_near_0():
    steps = []
    for exponent in (1.0, 2.0):
        policy, shares = make(2, resolution=99, exponent=exponent), []
        for state in (1, 2, 49, 50):
            policy.state.nodes["state"][1] = state
            shares.append(policy.amounts()[0])
        steps.append((shares[1] - shares[0], shares[3] - shares[2]))
    assert steps[0] == pytest.approx((0.01, 0.01))
    assert steps[1][0] == pytest.approx(4 / (4 + 98**2) - 1 / (1 + 99**2))
    assert steps[1][1] == pytest.approx(0.02, rel=0.01)


@pytest.mark.parametrize("exponent", [1.0, 2.0])
@pytest.mark.parametrize("pages", [1, 2, 3, 7, 8, 9, 500])
def test_pages_begin_with_equal_amounts_in_the_order_given(pages, exponent):
    policy = make(pages, resolution=10**6, exponent=exponent)
    state = policy.state
    assert len(state.occupants) == 1 << (pages - 1).bit_length()
    assert state.occupants[state.occupants >= 0].tolist() == list(range(pages))
    assert policy.amounts() == pytest.approx(np.full(pages, 1 / pages), rel=1e-3)


def test_amounts_of_ids_without_a_page_are_0_and_the_capacity_is_their_sum():
    policy = HTRAA(generator=np.random.default_rng(1), capacity=3.0)
    assert policy.amounts().tolist() == []
    policy.add([Page(1), Page(4)])
    assert policy.amounts() == pytest.approx([0, 1.5, 0, 0, 1.5], rel=1e-2)
    assert [amount_htraa(policy.state, page) for page in (-1, 0, 10**6)] == [0.0] * 3
    policy.discard([4])
    assert policy.amounts().tolist() == [0.0, 3.0]


def test_new_pages_take_from_the_emptiest_part():
    policy = make(8, resolution=999)
    policy.discard([4, 5, 7])
    policy.add([Page(9, seen_at=0.0)])
    assert policy.state.pages["slot"][9] in (4, 5)
    assert policy.amounts()[[0, 1, 2, 3, 6, 9]] == pytest.approx(np.full(6, 1 / 6), rel=0.01)


def test_pages_that_come_one_by_one_begin_with_equal_amounts():
    policy = HTRAA(generator=np.random.default_rng(1))
    for page_id in range(100):
        policy.add([Page(page_id, seen_at=0.0)])
        count = page_id + 1
        assert policy.amounts() == pytest.approx(np.full(count, 1 / count), rel=0.04)
    for page_id in range(0, 100, 3):
        policy.discard([page_id])
    left = policy.amounts()
    assert left[left > 0] == pytest.approx(np.full(66, 1 / 66), rel=0.04)


@pytest.mark.parametrize("batch", [[3], [3, 4, 5], [3, 4, 5, 6, 7, 8]])
def test_new_pages_take_from_all_in_proportion_to_what_was_learned(batch):
    policy = make(3, resolution=10**6)
    policy.state.nodes["state"][1:3] = 700_000, 200_000
    before = policy.amounts()
    assert before == pytest.approx([0.14, 0.56, 0.3], rel=1e-3)
    policy.add([Page(page_id, seen_at=0.0) for page_id in batch])
    after = policy.amounts()
    assert after[:3] / after[:3].sum() == pytest.approx(before, rel=1e-3)
    policy.discard(batch + batch)
    assert policy.amounts() == pytest.approx(before, rel=1e-3)


def test_a_new_page_begins_with_the_mean_of_its_part():
    policy = make(3, resolution=10**6)
    policy.state.nodes["state"][1:3] = 700_000, 200_000
    policy.add([Page(3, seen_at=0.0)])
    assert policy.amounts() == pytest.approx(np.array([14, 56, 30, 30]) / 130, rel=1e-3)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    steps=st.lists(
        st.tuples(st.booleans(), st.sets(st.integers(0, 60), min_size=1, max_size=30)), max_size=12
    ),
    resolution=st.sampled_from([2, 3, 500, 10**9]),
)
def test_whatever_comes_and_goes_the_untaught_remain_untaught(steps, resolution):
    policy, there = HTRAA(generator=np.random.default_rng(1), resolution=resolution), set()
    for comes, ids in steps:
        if comes:
            policy.add([Page(page_id, seen_at=0.0) for page_id in sorted(ids - there)])
            there |= ids
        else:
            policy.discard(sorted(ids))
            there -= ids
        nodes = policy.state.nodes
        for node in divided(policy):
            left, right = (int(count) for count in nodes["pages"][2 * node : 2 * node + 2])
            nearest = math.floor(Fraction(left * (resolution + 1), left + right) + Fraction(1, 2))
            assert nodes["state"][node] == min(max(nearest, 1), resolution)


def test_a_full_tree_doubles_and_what_was_learned_stays():
    policy = make(4, resolution=99)
    draw_shares(policy, np.random.default_rng(5))
    before = policy.amounts()
    policy.add([Page(page_id, seen_at=0.0) for page_id in (10, 11, 12, 13, 14)])
    assert len(policy.state.occupants) == 16
    after = policy.amounts()[:4]
    assert after.sum() == pytest.approx(4 / 9, abs=0.01)
    assert after / after.sum() == pytest.approx(before)


@pytest.mark.parametrize("pages", [2, 3, 8, 37])
def test_frequencies_keep_to_the_amounts_at_all_times(pages):
    policy = make(pages, resolution=50)
    draw_shares(policy, np.random.default_rng(pages))
    amounts, polls = policy.amounts(), np.zeros(pages)
    depth = math.log2(len(policy.state.occupants))
    for now in range(1, 1500):
        polls[poll(policy, float(now))] += 1
        assert np.abs(polls - now * amounts).max() < min(depth, 3.0)


def test_pages_that_begin_together_do_not_come_in_bursts():
    policy = make(64, resolution=9)
    policy.state.nodes["state"][32:64] = 9
    slow = [poll(policy, float(now)) % 2 for now in range(1, 1000)][-640:]
    assert sum(slow) == pytest.approx(64, abs=2)
    assert max(sum(slow[n : n + 32]) for n in range(len(slow) - 32)) <= 8


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_1_gives_no_page(limit):
    assert make(2).select(1.0, limit).page_ids.tolist() == []


@pytest.mark.parametrize("schedule", ["deadline", "random"])
def test_leased_and_held_pages_are_passed_over(schedule: Schedule):
    policy = make(5, schedule=schedule)
    selected = policy.select(1.0, 9)
    assert sorted(selected.page_ids.tolist()) == [0, 1, 2, 3, 4]
    assert selected.wake_at == math.inf
    policy.defer([1, 2], until=5.0)
    policy.defer([3], until=3.0)
    policy.discard([2])
    assert policy.select(1.0, 9).wake_at == 3.0
    assert policy.select(5.0, 9).page_ids.tolist() in ([1, 3], [3, 1])


def test_a_page_that_was_away_gets_one_poll_and_makes_up_for_none():
    policy = make(2, resolution=9)
    policy.state.nodes["state"][1] = 7
    first = next(now for now in range(1, 9) if poll(policy, float(now)) == 0)
    while policy.select(float(first), 1).page_ids.tolist() != [0]:
        policy.observe([Observation(1, float(first), FAILED)])
    policy.defer([0], until=100.0)
    assert {poll(policy, float(now)) for now in range(10, 100)} == {1}
    polled = [poll(policy, float(now)) for now in range(100, 120)]
    assert polled[0] == 0
    assert polled.count(0) - 14 in (0, 1)


def test_a_page_given_back_unpolled_keeps_its_turn():
    policy, twin = make(7, resolution=20), make(7, resolution=20)
    draw_shares(policy, np.random.default_rng(3))
    draw_shares(twin, np.random.default_rng(3))
    for now in range(1, 300):
        again = policy.select(float(now), 1).page_ids.tolist()
        policy.defer(again, until=float(now))
        assert poll(policy, float(now)) == again[0] == poll(twin, float(now))


@pytest.mark.parametrize("first", list(Outcome))
def test_the_first_poll_without_a_copy_teaches_nothing(first):
    policy = HTRAA(generator=np.random.default_rng(1), resolution=2)
    policy.add([Page(0), Page(1)])
    before = policy.amounts().tolist()
    for _ in range(2):
        policy.observe([Observation(page_id, 5.0, first) for page_id in (0, 1)])
        assert policy.amounts().tolist() == before


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.GONE])
def test_what_says_nothing_of_change_teaches_nothing(outcome):
    policy = make(6, resolution=2)
    before = policy.amounts().tolist()
    for now in range(1, 50):
        poll(policy, float(now), outcome)
    assert policy.amounts().tolist() == before


_CALLS = st.lists(
    st.tuples(
        st.sampled_from(["add", "discard", "select", "observe", "defer", "load"]),
        st.lists(st.integers(0, 30), max_size=9),
    ),
    max_size=25,
)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(calls=_CALLS, resolution=st.sampled_from([2, 3, 40]))
def test_amounts_and_counts_are_right_after_any_calls(calls, resolution):
    policy = HTRAA(generator=np.random.default_rng(1), resolution=resolution, capacity=2.0)
    there: set[int] = set()
    for now, (call, ids) in enumerate(calls):
        if call == "add":
            new = sorted(set(ids) - there)
            policy.add([Page(page_id, seen_at=0.0) for page_id in new])
            there.update(new)
        elif call == "discard":
            policy.discard(ids)
            there.difference_update(ids)
        elif call == "select":
            policy.select(float(now), len(ids))
        elif call == "observe":
            policy.observe([Observation(i, float(now), Outcome(i % 2)) for i in ids])
        elif call == "load":
            before = policy.state.pages["where"].tolist()
            policy.load_state_dict(policy.state_dict())
            assert policy.state.pages["where"].tolist() == before
        else:
            policy.defer(ids, now + 3.0)
        assert_sound(policy, there)


def assert_sound(policy: HTRAA, there: set[int]) -> None:
    state, amounts = policy.state, policy.amounts()
    assert set(np.flatnonzero(amounts).tolist()) == there
    assert amounts.sum() == pytest.approx(2.0 if there else 0.0)
    slots, whole = len(state.occupants), int(state.shared["whole"][0])
    assert set(state.occupants[state.occupants >= 0].tolist()) == there
    assert set(np.flatnonzero(state.pages["where"] != ABSENT).tolist()) == there
    pages, ready = state.nodes["pages"], state.nodes["ready"]
    for slot, page in enumerate(state.occupants.tolist()):
        assert pages[slots + slot] == (page >= 0)
        assert ready[slots + slot] == (page >= 0 and state.pages["where"][page] == READY)
        assert page < 0 or state.pages["slot"][page] == slot
    for node in range(1, slots):
        left, right = 2 * node, 2 * node + 1
        assert pages[node] == pages[left] + pages[right]
        assert ready[node] == ready[left] + ready[right]
        share = state.nodes["state"][node]
        assert 1 <= share < whole if pages[left] and pages[right] else share in (0, whole)
        assert abs(state.nodes["credit"][node]) <= whole


def learned_policy(resolution: int = 20) -> HTRAA:
    """Eleven of fourteen pages are left, in a tree that has grown."""
    policy = make(3, resolution=resolution)
    policy.add([Page(page_id, seen_at=0.0) for page_id in range(3, 14)])
    policy.discard([0, 7, 9])
    for now in range(1, 200):
        poll(policy, float(now), Outcome(now % 3 == 0))
    return policy


def test_restored_amounts_and_turns_are_the_same():
    policy, restored = learned_policy(), make(14, resolution=20)
    restored.discard([0, 7, 9])
    restored.load_state_dict(policy.state_dict())
    assert restored.amounts().tolist() == policy.amounts().tolist()
    for now in range(200, 300):
        assert poll(restored, float(now)) == poll(policy, float(now))


def test_leases_and_deferrals_outlive_a_load():
    policy, learned = make(6), make(6).state_dict()
    leased, deferred = policy.select(1.0, 2).page_ids.tolist()
    policy.defer([deferred], until=50.0)
    for state in (policy.state_dict(), learned):
        policy.load_state_dict(state)
        others = policy.select(2.0, 9)
        assert sorted([*others.page_ids.tolist(), leased, deferred]) == list(range(6))
        assert others.wake_at == 50.0
        policy.observe([Observation(int(page), 2.0, FAILED) for page in others.page_ids])
    policy.discard([leased])
    policy.load_state_dict(learned)
    assert len(policy.select(2.0, 9).page_ids) == 4
    assert policy.select(50.0, 9).page_ids.tolist() == [deferred]


def test_pages_without_learned_rows_take_the_places_that_are_left():
    policy = learned_policy()
    restored = make(40, resolution=20)
    part = policy.state_dict([page for page in range(14) if page != 5])
    restored.load_state_dict(part)
    same = [page for page in range(14) if page not in (0, 5, 7, 9)]
    slots = policy.state.pages["slot"], restored.state.pages["slot"]
    assert slots[0][same].tolist() == slots[1][same].tolist()
    assert set(restored.state.occupants.tolist()) - {-1} == set(range(40))
    assert restored.amounts().sum() == pytest.approx(1.0)


def test_what_was_learned_of_a_node_outlives_a_missing_row():
    policy, restored = make(4, resolution=20), make(4, resolution=20)
    draw_shares(policy, np.random.default_rng(6))
    restored.load_state_dict(policy.state_dict([0, 2, 3]))
    assert restored.amounts().tolist() == policy.amounts().tolist()


def test_rows_that_claim_the_same_slot_are_no_matter():
    policy = learned_policy()
    learned = policy.state_dict()
    learned["page.slot"][:] = learned["page.slot"][0]
    policy.load_state_dict(learned)
    occupied = policy.state.occupants[policy.state.occupants >= 0]
    assert sorted(occupied.tolist()) == learned["page_ids"].tolist()


def test_state_of_another_resolution_is_refused():
    message = "is of resolution 20, growth 1 and exponent 1, this policy of resolution 30, growth 2"
    with pytest.raises(StateError, match=message):
        make(14, resolution=30, growth=2.0).load_state_dict(learned_policy().state_dict())


@pytest.mark.parametrize(
    "damage",
    [
        {"htraa.state": np.full(16, 22, np.int32)},
        {"htraa.state": np.full(16, -1, np.int32)},
        {"htraa.credit": np.full(16, 99, np.int32)},
        {name: np.ones(12, np.int32) for name in ("htraa.state", "htraa.credit")},
        {name: np.ones(0, np.int32) for name in ("htraa.state", "htraa.credit")},
    ],
)
def test_a_damaged_tree_is_refused(damage):
    policy = learned_policy()
    before = policy.amounts().tolist()
    with pytest.raises(StateError, match="damaged"):
        policy.load_state_dict({**policy.state_dict(), **damage})
    assert policy.amounts().tolist() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resolution": 1}, "resolution=1 must be a whole number from 2 to 1000000000"),
        ({"resolution": 10**9 + 1}, "resolution=1000000001 must be"),
        ({"resolution": 2.0}, "resolution=2.0 must be a whole number"),
        ({"resolution": True}, "resolution=True must be a whole number"),
        ({"resolution": "x"}, "resolution='x' must be a whole number"),
        ({"growth": 0.5}, "htraa: growth=0.5 must be a number from 1 to 16"),
        ({"exponent": 0}, "htraa: exponent=0 must be a number from 0.1 to 10"),
        ({"climb": "never"}, "climb='never' must be one of always, moved"),
        ({"update": "linear"}, "update='linear' must be one of reward-inaction, inaction-penalty"),
        ({"schedule": "fair"}, "schedule='fair' must be one of deadline, random"),
        ({"capacity": 0.0}, "capacity=0.0 must be a finite number above 0"),
        ({"capacity": math.nan}, "capacity=nan must be"),
        ({"capacity": math.inf}, "capacity=inf must be"),
        ({"capacity": "1"}, "capacity='1' must be"),
        ({"update": ["x"]}, r"update=\['x'\] must be one of"),
        ({"generator": 7}, "generator=7 must be a numpy Generator"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message) as raised:
        HTRAA(**{"generator": np.random.default_rng(1), **options})
    assert "\n" not in str(raised.value)
