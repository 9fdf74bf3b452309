"""Tests that hold a policy to the rules of `pollwise.policies.base`; for implementers to inherit.

::

    from pollwise.testing.policy_contract import PolicyContract

    class TestMine(PolicyContract):
        def make_policy(self, pages):
            return Mine(...)

pytest then runs every test of `PolicyContract` on your policy, and each failure names the rule that
is broken. Needs pytest and hypothesis (`pip install pytest hypothesis`). Two rules are not tested:
rule 1 binds the caller (the tests keep it), and rule 7 is about speed: a test that measures time
fails on busy machines.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

try:
    import pytest
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis import strategies as st
    from hypothesis.stateful import (
        RuleBasedStateMachine,
        initialize,
        precondition,
        rule,
        run_state_machine_as_test,
    )
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"{missing}: the contract of policies is a set of tests for pytest; run"
        " `pip install pytest hypothesis`"
    ) from None

from pollwise.errors import StateError
from pollwise.policies.base import Policy
from pollwise.types import Observation, Outcome, Page, Selection, StateDict

__all__ = ["PolicyContract"]

# The same examples at every run, however long they take.
_STEADY = settings(
    derandomize=True,
    deadline=None,
    max_examples=50,
    stateful_step_count=30,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

_UNKNOWN_IDS = (-1, 10**9)


def _require(kept: bool, rule_number: int, message: str) -> None:
    if not kept:
        raise AssertionError(f"rule {rule_number} of pollwise.policies.base is broken: {message}")


class PolicyContract:
    """Inherit, override `make_policy`, and pytest does the rest."""

    most_pages: int = 12
    """How many pages the policy takes at once, at least 2; no test has more than 12."""

    def make_policy(self, pages: Sequence[Page]) -> Policy:
        """A new policy *without* pages, which may be given any of these later.

        Two policies made with the same pages must be alike, so give random generators a seed. A
        policy that is given change rates must be given one above 0 for every page.
        """
        raise NotImplementedError

    def test_it_is_a_policy(self) -> None:
        """It has all the methods of the protocol."""
        policy = self.make_policy([])
        assert isinstance(policy, Policy), "a method of pollwise.policies.base.Policy is missing"

    def test_without_pages_nothing_is_selected(self) -> None:
        """Before the first page, and after the last."""
        pages = [Page(0), Page(1, seen_at=0.0)]
        policy = self.make_policy(pages)
        for _ in range(2):
            selected = policy.select(1.0, 5).page_ids.tolist()
            _require(selected == [], 2, f"pages {selected} were selected when there were none")
            policy.add(pages)
            policy.discard([0, 1])

    def test_rules_2_to_6_in_any_sequence_of_calls(self) -> None:
        """Calls in random order, checked against a simple record of leases."""

        class Calls(_AnySequence):
            make_policy = staticmethod(self.make_policy)
            most_pages = self.most_pages

        run_state_machine_as_test(Calls, settings=_STEADY)

    @pytest.mark.parametrize("outcome", list(Outcome), ids=lambda outcome: outcome.name.lower())
    @pytest.mark.parametrize("age", [0.0, 100.0], ids=["new", "stale"])
    def test_rule_3_an_observation_ends_the_lease(self, outcome: Outcome, age: float) -> None:
        """Whatever a poll found and however old it is, the page can be given again."""
        policy = self.make_policy([Page(0)])
        policy.add([Page(0)])
        first = _wait_for_page(policy, 1000.0, "a page without a copy was never selected")
        policy.observe([Observation(0, first, Outcome.UNCHANGED)])
        again = _wait_for_page(policy, first, "a page was never selected again after a poll")
        policy.observe([Observation(0, first - age if age else again, outcome)])
        lost = f"the lease did not end with an observation that was {outcome.name}"
        _wait_for_page(policy, again, lost)

    def test_rule_5_a_deferred_page_comes_back(self) -> None:
        """Not before its time, but at some time after it."""
        policy = self.make_policy([Page(0)])
        policy.add([Page(0)])
        now = _wait_for_page(policy, 1000.0, "a page without a copy was never selected")
        policy.defer([0], now + 60.0)
        selection = policy.select(now + 59.0, 1)
        _require(len(selection.page_ids) == 0, 5, "a deferred page was given before its time")
        wake_at = selection.wake_at
        _require(wake_at <= now + 60.0, 5, f"wake_at={wake_at}, but a page was to be back sooner")
        _wait_for_page(policy, now + 60.0, "a deferred page never came back", rule_number=5)

    def test_rule_6_state_that_does_not_fit_is_refused(self) -> None:
        """`StateError`, and the policy is as it was before."""
        pages = self._some_pages()
        learned = self._with_some_polls(pages).state_dict()
        policy = self.make_policy(pages)
        policy.add(pages)
        before = policy.state_dict()
        unfit = {"a strange array": {**learned, "strange": np.zeros(1)}}
        for name, array in learned.items():
            unfit[f"no array {name!r}"] = {k: v for k, v in learned.items() if k != name}
            if name.startswith("page"):
                unfit[f"a row less in {name!r}"] = {**learned, name: array[:-1]}
        for fault, state in unfit.items():
            try:
                policy.load_state_dict(state)
            except StateError:
                difference = _difference(before, policy.state_dict())
                _require(not difference, 6, f"state with {fault} was loaded in part: {difference}")
            else:
                _require(False, 6, f"state with {fault} was loaded without a StateError")

    def test_rule_6_part_of_the_pages(self) -> None:
        """`state_dict(page_ids)` has the rows of these pages, and all that is shared."""
        pages = self._some_pages()
        policy = self._with_some_polls(pages)
        asked = [page.id for page in pages][::-2]
        whole, part = policy.state_dict(), policy.state_dict([*asked, *_UNKNOWN_IDS])
        row_of = {page_id: row for row, page_id in enumerate(whole["page_ids"].tolist())}
        all_ids = [page.id for page in pages]
        _require(sorted(row_of) == all_ids, 6, f"rows of {sorted(row_of)} for pages {all_ids}")
        ids = part["page_ids"].tolist()
        _require(sorted(ids) == sorted(asked), 6, f"state_dict({asked}) has rows of pages {ids}")
        rows = [row_of[page_id] for page_id in ids]
        expected = {k: v[rows] if k.startswith("page") else v for k, v in whole.items()}
        difference = _difference(expected, part)
        wrong = f"state_dict({asked}) is not a part of state_dict: {difference}"
        _require(not difference, 6, wrong)

    def test_rule_6_leases_and_deferrals_outlast_state_put_back(self) -> None:
        """They are not part of learned state, so loading it does not change them."""
        policy = self.make_policy([Page(0)])
        policy.add([Page(0)])
        now = _wait_for_page(policy, 1000.0, "a page without a copy was never selected")
        policy.load_state_dict(policy.state_dict())
        again = len(policy.select(now, 1).page_ids) > 0
        _require(not again, 3, "a leased page was given again when learned state was put back")
        policy.defer([0], now + 60.0)
        policy.load_state_dict(policy.state_dict())
        early = len(policy.select(now + 59.0, 1).page_ids) > 0
        _require(not early, 5, "state was put back, and a deferred page given before its time")
        lost = "state was put back, and a deferred page never came back"
        now = _wait_for_page(policy, now + 60.0, lost, rule_number=5)
        policy.load_state_dict(policy.state_dict())
        policy.observe([Observation(0, now, Outcome.UNCHANGED)])
        _wait_for_page(policy, now, "state was put back, and an observation did not end a lease")

    def _some_pages(self) -> list[Page]:
        return [Page(n, seen_at=0.0) for n in range(min(6, self.most_pages))]

    def _with_some_polls(self, pages: Sequence[Page]) -> Policy:
        policy = self.make_policy(pages)
        policy.add(pages)
        for n in range(20):
            now = 10.0 * 1.5**n
            outcome = Outcome.CHANGED if n % 3 == 0 else Outcome.UNCHANGED
            for page_id in policy.select(now, 2).page_ids.tolist():
                policy.observe([Observation(page_id, now, outcome)])
        return policy


def _wait_for_page(policy: Policy, now: float, lost: str, rule_number: int = 3) -> float:
    """Ask later and later until page 0 is selected; the time when it is."""
    for _ in range(60):
        selection = policy.select(now, 1)
        if selection.page_ids.tolist() == [0]:
            return now
        now = selection.wake_at if now < selection.wake_at < math.inf else 2.0 * now
    _require(False, rule_number, lost)
    return math.nan


def _difference(expected: Mapping[str, object], state: StateDict) -> str:
    """How two states differ, whatever the order of their pages; empty if they do not."""
    if expected.keys() != state.keys():
        return f"the arrays {sorted(expected)} became {sorted(state)}"
    for name, array in expected.items():
        own, other = np.asarray(array), np.asarray(state[name])
        if name.startswith("page"):
            own = own[np.argsort(np.asarray(expected["page_ids"]), kind="stable")]
            other = other[np.argsort(state["page_ids"], kind="stable")]
        alike = own.dtype == other.dtype and own.shape == other.shape
        if not alike or own.tobytes() != other.tobytes():
            return f"{name!r} was {own!r} and became {other!r}"
    return ""


_PAGES = st.lists(
    st.tuples(
        st.sampled_from(["a.example", "b.example"]),
        st.sampled_from([0.5, 1.0, 2.0]),
        st.sampled_from([1.0, 3.0]),
        st.sampled_from([None, 0.0, 5.0]),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=12,
)
_SECONDS = st.sampled_from([0.0, 0.1, 1.0, 30.0, 3000.0])
_PICKS = st.lists(st.integers(0, 11), max_size=6)
_POLLS = st.lists(
    st.tuples(
        st.integers(0, 13),  # which page; the last two are unknown
        st.sampled_from([0.0, 0.0, 0.05, 10.0, 1e4]),  # how late it is reported
        st.sampled_from(Outcome),
        st.sampled_from([None, 0.0, 2.0]),  # age of the latest change
        st.sampled_from([None, 0, 3]),  # new items
    ),
    max_size=6,
)


class _AnySequence(RuleBasedStateMachine):
    """Calls a policy in any sequence, and keeps the plainest record of leases."""

    make_policy: Callable[[Sequence[Page]], Policy]
    most_pages: int

    def __init__(self) -> None:
        super().__init__()
        self._now = 10.0
        self._watched: dict[int, Page] = {}
        self._leased: set[int] = set()
        self._away: dict[int, float] = {}  # deferred, until when
        self._told: list[Observation] = []

    @initialize(drawn=_PAGES, count=st.integers(0, 12))
    def make(self, drawn: list[tuple[str, float, float, float | None, int]], count: int) -> None:
        """Make the policy and a twin that is told the same, with some of the pages."""
        page_id = -1
        self._pages = []
        for scope, weight, cost, seen_at, step in drawn[: self.most_pages]:
            page_id += step
            url = f"http://{scope}/{page_id}"
            self._pages.append(Page(page_id, url, scope, weight, cost, seen_at))
        self._waiting = list(self._pages)
        self._policy, self._twin = (self.make_policy(self._pages) for _ in range(2))
        self.add(count)

    @precondition(lambda self: self._waiting)
    @rule(count=st.integers(1, 12))
    def add(self, count: int) -> None:
        """Take up some of the pages."""
        pages, self._waiting = self._waiting[:count], self._waiting[count:]
        self._watched.update((page.id, page) for page in pages)
        for policy in (self._policy, self._twin):
            policy.add(pages)

    @rule(picks=_PICKS)
    def discard(self, picks: list[int]) -> None:
        """Forget pages, some of them unknown."""
        page_ids = [*self._ids(picks, list(self._watched)), *_UNKNOWN_IDS]
        for policy in (self._policy, self._twin):
            policy.discard(page_ids)
        for page_id in page_ids:
            self._watched.pop(page_id, None)
            self._leased.discard(page_id)
            self._away.pop(page_id, None)

    @rule(seconds=_SECONDS, limit=st.integers(-1, 15))
    def select(self, seconds: float, limit: int) -> None:
        """Time passes (or stands still), then rules 2, 3 and 5 are checked."""
        self._now += seconds
        selection = self._policy.select(self._now, limit)
        self._check_twin(selection, self._twin.select(self._now, limit))
        page_ids = selection.page_ids.tolist()
        count = len(page_ids)
        _require(count <= max(limit, 0), 2, f"{count} pages, with a limit of {limit}")
        _require(len(set(page_ids)) == len(page_ids), 2, f"a page twice in {page_ids}")
        for page_id in page_ids:
            _require(page_id in self._watched, 2, f"page {page_id} is discarded or was never added")
            _require(page_id not in self._leased, 3, f"page {page_id} is leased already")
            away = self._away.pop(page_id, -math.inf)
            early = f"page {page_id} was deferred until {away}, now is {self._now}"
            _require(away <= self._now, 5, early)
        if count < limit and not selection.wake_at > self._now:
            raise AssertionError(
                f"no more pages at {self._now}, but wake_at={selection.wake_at} says to ask again"
                " at once: wake_at must be later than now (see pollwise.types.Selection)"
            )
        self._leased.update(page_ids)

    @rule(seconds=_SECONDS, polls=_POLLS, repeat=st.booleans())
    def observe(
        self,
        seconds: float,
        polls: list[tuple[int, float, Outcome, float | None, int | None]],
        repeat: bool,
    ) -> None:
        """Report polls: timely, late, in any order, doubled, of pages leased, free and unknown."""
        self._now += seconds
        ids = [*(page.id for page in self._pages)]
        observations = []
        for pick, late, outcome, change_age, n_items in polls:
            page_id = ids[pick % len(ids)] if pick < 12 else _UNKNOWN_IDS[pick - 12]
            polled_at = self._now - late
            changed_at = None if change_age is None else polled_at - change_age
            observations.append(Observation(page_id, polled_at, outcome, changed_at, n_items))
        self._tell([*observations, *observations] if repeat else observations)

    @precondition(lambda self: self._leased)
    @rule(seconds=_SECONDS, count=st.integers(1, 12), outcome=st.sampled_from(Outcome))
    def observe_leased(self, seconds: float, count: int, outcome: Outcome) -> None:
        """Report polls of leased pages, in time."""
        self._now += seconds
        polled = sorted(self._leased)[:count]
        self._tell([Observation(page_id, self._now, outcome) for page_id in polled])

    @precondition(lambda self: self._told)
    @rule()
    def observe_again(self) -> None:
        """Rule 4: an old poll of a page that is not leased teaches nothing when reported again."""
        again = [o for o in self._told if o.page_id not in self._leased]
        before = self._policy.state_dict()
        self._tell(again)
        difference = _difference(before, self._policy.state_dict())
        _require(not difference, 4, f"told of the same polls again, {difference}")

    @precondition(lambda self: self._leased)
    @rule(picks=_PICKS, seconds=_SECONDS)
    def defer(self, picks: list[int], seconds: float) -> None:
        """Give leased pages back."""
        page_ids = self._ids(picks, sorted(self._leased))
        for policy in (self._policy, self._twin):
            policy.defer(page_ids, self._now + seconds)
        self._leased.difference_update(page_ids)
        self._away.update((page_id, self._now + seconds) for page_id in page_ids)

    @rule()
    def restore(self) -> None:
        """Rule 6: go on with new policies that are given what was learned."""
        learned = self._policy.state_dict()
        ids = sorted(learned["page_ids"].tolist())
        _require(ids == sorted(self._watched), 6, f"rows of {ids}, pages {sorted(self._watched)}")
        self._policy, self._twin = (self.make_policy(self._pages) for _ in range(2))
        for policy in (self._policy, self._twin):
            policy.add(list(self._watched.values()))
            policy.load_state_dict(learned)
        difference = _difference(learned, self._policy.state_dict())
        _require(not difference, 6, f"when learned state was put back, {difference}")
        self._leased.clear()
        self._away.clear()
        self._told.clear()

    @precondition(lambda self: self._leased or self._away)
    @rule()
    def put_back(self) -> None:
        """Rule 6: learned state put back at once changes nothing, leases included."""
        learned = self._policy.state_dict()
        for policy in (self._policy, self._twin):
            policy.load_state_dict(learned)
        difference = _difference(learned, self._policy.state_dict())
        _require(not difference, 6, f"when learned state was put back, {difference}")

    def _tell(self, observations: list[Observation]) -> None:
        for policy in (self._policy, self._twin):
            policy.observe(observations)
        self._told += [o for o in observations if o.page_id in self._watched]
        self._leased.difference_update(o.page_id for o in observations)

    def _check_twin(self, selection: Selection, other: Selection) -> None:
        same = selection.page_ids.tolist() == other.page_ids.tolist()
        if not same or selection.wake_at != other.wake_at:
            raise AssertionError(
                f"the same calls gave {selection} and {other}: a policy reads no clock and draws"
                " random numbers only from the generator it was given (pollwise.policies.base)"
            )

    @staticmethod
    def _ids(picks: list[int], page_ids: list[int]) -> list[int]:
        return sorted({page_ids[pick % len(page_ids)] for pick in picks}) if page_ids else []
