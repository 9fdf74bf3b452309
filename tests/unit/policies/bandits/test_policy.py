"""What all bandits on mixtures share: two pages, leases, what teaches and what does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError, StateError
from pollwise.policies.arrays import blank_observation, write_observation
from pollwise.policies.bandits.gp_ucb import GPUCB
from pollwise.policies.bandits.kernels import (
    amount_bandit,
    observe_bandit,
    select_bandit,
    wake_bandit,
)
from pollwise.policies.bandits.policy import BanditPolicy
from pollwise.policies.bandits.thompson import ThompsonSampling
from pollwise.policies.bandits.ucb1 import UCB1, RawUCB1
from pollwise.policies.base import Mixture
from pollwise.types import Observation, Outcome, Page

KINDS = {
    "ucb1": UCB1,
    "ucb1-raw": lambda **_: RawUCB1(),
    "ts": ThompsonSampling,
    "gp-ucb": GPUCB,
}
every_bandit = pytest.mark.parametrize("kind", KINDS)
of_mixtures = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ucb1-raw"])


def bandit(kind: str, *page_ids: int, resolution: int = 4, seed: int = 5) -> BanditPolicy:
    policy = KINDS[kind](generator=np.random.default_rng(seed), resolution=resolution)
    policy.add([Page(page_id, seen_at=0.0) for page_id in page_ids])
    return policy


def select(policy: BanditPolicy, now: float, limit: int = 1) -> list[int]:
    return policy.select(now, limit).page_ids.tolist()


def tell(policy: BanditPolicy, page_id: int, now: float, outcome: Outcome) -> None:
    policy.observe([Observation(page_id, now, outcome)])


def pulls(policy: BanditPolicy) -> int:
    return int(policy.state.arms["pulls"].sum())


@every_bandit
def test_the_name_is_that_of_the_policy(kind):
    assert bandit(kind).name == kind


@every_bandit
def test_calls_and_kernels_give_the_same_polls(kind):
    called, compiled = bandit(kind, 3, 1), bandit(kind, 3, 1)
    outcomes, observations = np.random.default_rng(6).integers(0, 2, 160), blank_observation()
    for now, outcome in enumerate(outcomes.tolist(), start=1):
        (page_id,) = select(called, float(now))
        assert select_bandit(compiled.state, float(now)) == page_id
        amount = called.amounts()[page_id] if isinstance(called, Mixture) else np.nan
        assert amount_bandit(compiled.state, page_id) == pytest.approx(amount, nan_ok=True)
        tell(called, page_id, float(now), Outcome(outcome))
        write_observation(observations[0], page_id, float(now), outcome)
        observe_bandit(compiled.state, observations[0])
    assert pulls(called) == pulls(compiled) == 160
    assert called.state.arms.tobytes() == compiled.state.arms.tobytes()


@every_bandit
def test_a_third_page_is_refused_and_changes_nothing(kind):
    policy = bandit(kind, 0)
    with pytest.raises(InputError, match=rf"^{kind}: page 7 is a third one"):
        policy.add([Page(5), Page(7)])
    policy.add([Page(5)])
    with pytest.raises(InputError, match=rf"^{kind}: page 8 is a third one"):
        policy.add([Page(8)])
    assert sorted(select(policy, 1.0, limit=5)) == [0, 5]


@of_mixtures
@pytest.mark.parametrize("resolution", [1, 0, -3, 1001, 1.5, "x", True])
def test_refuses_a_resolution_that_is_none(kind, resolution):
    with pytest.raises(InputError, match=rf"^{kind}: resolution={resolution!r} must be a whole"):
        KINDS[kind](generator=np.random.default_rng(1), resolution=resolution)


@of_mixtures
def test_refuses_what_is_no_generator(kind):
    with pytest.raises(InputError, match=rf"^{kind}: generator=7 must be a numpy"):
        KINDS[kind](generator=7)


@of_mixtures
def test_amounts_are_those_of_the_arm_that_is_played(kind):
    policy = bandit(kind)
    assert policy.amounts().tolist() == []
    policy.add([Page(2)])
    assert policy.amounts().tolist() == [0.0, 0.0, 1.0]
    policy.add([Page(0)])
    assert policy.amounts().tolist() == [0.5, 0.0, 0.5]
    assert [amount_bandit(policy.state, page_id) for page_id in (-1, 1, 3)] == [0.0, 0.0, 0.0]
    seen = set()
    for now in range(1, 100):
        (page_id,) = select(policy, float(now))
        amounts = policy.amounts()
        seen.add(tuple(amounts.tolist()))
        tell(policy, page_id, float(now), Outcome.UNCHANGED)
    assert seen == {(0.25, 0.0, 0.75), (0.5, 0.0, 0.5), (0.75, 0.0, 0.25)}


@of_mixtures
def test_with_one_arm_only_pages_are_polled_equally_often(kind):
    policy = bandit(kind, 0, 1, resolution=2)
    polled = []
    for now in range(1, 201):
        (page_id,) = select(policy, float(now))
        polled.append(page_id)
        tell(policy, page_id, float(now), Outcome.UNCHANGED)
    assert polled.count(0) == pytest.approx(100, abs=30)


@every_bandit
def test_a_page_that_is_alone_is_polled_always_and_teaches_nothing(kind):
    policy = bandit(kind, 4)
    for now in range(1, 30):
        assert select(policy, float(now), limit=2) == [4]
        assert select(policy, float(now), limit=2) == []
        tell(policy, 4, float(now), Outcome.CHANGED)
    assert pulls(policy) == 0


@every_bandit
def test_the_other_page_is_given_while_one_is_held(kind):
    policy = bandit(kind, 0, 1)
    (away,) = select(policy, 1.0)
    policy.defer([away], until=100.0)
    for now in range(2, 100):
        assert select(policy, float(now), limit=2) == [1 - away]
        assert wake_bandit(policy.state) == 100.0
        tell(policy, 1 - away, float(now), Outcome.CHANGED)
    assert pulls(policy) == 0
    assert sorted(select(policy, 100.0, limit=2)) == [0, 1]
    assert wake_bandit(policy.state) == np.inf


@every_bandit
def test_a_poll_of_what_was_left_over_teaches_nothing(kind):
    policy = bandit(kind, 0, 1)
    drawn, left = select(policy, 1.0, limit=2)
    tell(policy, left, 1.5, Outcome.CHANGED)
    assert pulls(policy) == 0
    tell(policy, drawn, 1.5, Outcome.CHANGED)
    assert pulls(policy) == 1


@every_bandit
@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.GONE])
def test_polls_that_fail_teach_nothing(kind, outcome):
    policy = bandit(kind, 0, 1)
    for now in range(1, 50):
        (page_id,) = select(policy, float(now))
        tell(policy, page_id, float(now), outcome)
    assert pulls(policy) == 0


@every_bandit
def test_first_copies_and_old_news_and_polls_by_others_teach_nothing(kind):
    policy = bandit(kind)
    policy.add([Page(0), Page(1, seen_at=10.0)])
    for page_id in select(policy, 11.0, limit=2):
        tell(policy, page_id, 11.0 if page_id == 0 else 9.0, Outcome.CHANGED)
    tell(policy, 0, 12.0, Outcome.CHANGED)
    assert pulls(policy) == 0


@every_bandit
def test_what_was_learned_goes_with_a_page(kind):
    policy, fresh = bandit(kind, 0, 1), bandit(kind, 1, 2)
    for now in range(1, 60):
        (page_id,) = select(policy, float(now))
        tell(policy, page_id, float(now), Outcome.CHANGED)
    under_way = select(policy, 60.0, limit=2)
    policy.discard([0])
    assert select(policy, 60.5, limit=2) == []
    policy.add([Page(2, seen_at=0.0)])
    tell(policy, 1, 61.0, Outcome.CHANGED)
    assert sorted(under_way) == [0, 1]
    assert pulls(policy) == 0
    assert policy.state.arms.tobytes() == fresh.state.arms.tobytes()
    assert policy.state.covariance.tobytes() == fresh.state.covariance.tobytes()


@every_bandit
def test_learned_state_is_put_back(kind):
    policy, restored = bandit(kind, 0, 1, seed=7), bandit(kind, 0, 1, seed=8)
    for now in range(1, 58):
        (page_id,) = select(policy, float(now))
        tell(policy, page_id, float(now), Outcome(now % 2))
    select(policy, 58.0, limit=2)
    learned = policy.state_dict()
    select(restored, 1.0)
    restored.load_state_dict(learned)
    assert restored.state.shared.tobytes() == policy.state.shared.tobytes()
    assert restored.state.arms.tobytes() == policy.state.arms.tobytes()
    assert restored.state.covariance.tobytes() == policy.state.covariance.tobytes()
    tell(restored, 0, 60.0, Outcome.CHANGED)
    tell(restored, 1, 60.0, Outcome.CHANGED)
    assert pulls(restored) == pulls(policy)


@every_bandit
def test_learned_state_of_other_mixtures_leaves_the_arms_alone(kind):
    policy, other = bandit(kind, 0, 1), bandit(kind, 1, 2)
    for now in range(1, 60):
        (page_id,) = select(policy, float(now))
        tell(policy, page_id, float(now), Outcome.CHANGED)
    other.load_state_dict(policy.state_dict())
    assert pulls(other) == 0
    assert other.state.pages["polled_at"][1] == policy.state.pages["polled_at"][1]


@of_mixtures
def test_learned_state_of_another_resolution_is_refused(kind):
    with pytest.raises(StateError, match="the learned array"):
        bandit(kind, 0, 1).load_state_dict(bandit(kind, 0, 1, resolution=5).state_dict())


@every_bandit
@pytest.mark.parametrize(
    ("key", "place", "value", "what"),
    [
        ("arm", 0, -1, "arm"),
        ("arm", 0, 3, "arm"),
        ("pulls", 1, -1, "count"),
        ("paid", 0, np.nan, "reward"),
        ("mean", 1, np.inf, "reward"),
    ],
)
def test_damaged_state_is_refused_and_changes_nothing(kind, key, place, value, what):
    policy = bandit(kind, 0, 1)
    for now in range(1, 30):
        (page_id,) = select(policy, float(now))
        tell(policy, page_id, float(now), Outcome.CHANGED)
    learned, before = policy.state_dict(), policy.state_dict()
    learned["page.polled_at"][:] = 1000.0
    learned[f"{kind}.{key}"][place] = value
    with pytest.raises(StateError, match=f"state of {kind} is damaged: a {what} is"):
        policy.load_state_dict(learned)
    after = policy.state_dict()
    assert all(after[name].tobytes() == before[name].tobytes() for name in before)


@pytest.mark.parametrize("kind", ["ts", "gp-ucb"])
@pytest.mark.parametrize(("value", "what"), [(-1.0, "variance"), (np.nan, "reward")])
def test_covariances_that_cannot_be_are_refused(kind, value, what):
    policy = bandit(kind, 0, 1)
    learned = policy.state_dict()
    learned[f"{kind}.covariance"][1, 1] = value
    with pytest.raises(StateError, match=f"damaged: a {what}"):
        policy.load_state_dict(learned)


@every_bandit
def test_a_page_that_always_fails_makes_all_arms_alike(kind):
    """What a pull pays is what its polls told, and those of one page tell nothing."""
    policy = bandit(kind, 0, 1)
    for now in range(1, 400):
        (page_id,) = select(policy, float(now))
        tell(policy, page_id, float(now), Outcome.FAILED if page_id == 0 else Outcome.CHANGED)
    arms = policy.state.arms[policy.state.arms["pulls"] > 0]
    assert (arms["paid"] == arms["pulls"]).all()


calls = st.lists(
    st.tuples(st.sampled_from(["select", "observe", "defer"]), st.integers(0, 1), st.booleans()),
    max_size=60,
)


@every_bandit
@settings(max_examples=40)
@given(calls=calls)
def test_a_pull_is_one_poll_whatever_happens_to_it(kind, calls):
    """It begins when both pages can be polled, and only its end teaches."""
    policy = bandit(kind, 0, 1)
    leased: list[int] = []
    for now, (call, pick, changed) in enumerate(calls, start=1):
        before = pulls(policy)
        under_way = np.flatnonzero(policy.state.pages["of_pull"]).tolist()
        taught = 0
        if call == "select":
            leased += select(policy, float(now))
        elif leased:
            page_id = leased.pop(pick % len(leased))
            if call == "observe":
                tell(policy, page_id, float(now), Outcome(int(changed)))
                taught = int(page_id in under_way)
            else:
                policy.defer([page_id], now + 2.0)
        assert pulls(policy) == before + taught
        now_under_way = np.flatnonzero(policy.state.pages["of_pull"]).tolist()
        assert len(now_under_way) <= 1
        assert set(now_under_way) <= set(leased)
