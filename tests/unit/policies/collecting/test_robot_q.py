"""Q-values of local states: equations 10 and 11, by hand and by an account of all documents."""

from collections import defaultdict

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.policies.collecting.robot_q import RobotQ
from pollwise.simulation.collecting_run import collect_run
from pollwise.simulation.traversal import traverse
from pollwise.simulation.worlds.changing_graph import ChangingGraph
from pollwise.simulation.worlds.graph import Graph
from pollwise.types import Links, Observation, Outcome, Page

ALPHA, GAMMA = 0.5, 0.8


def robot(*, revisit: bool = False, exploration: float = 0.0) -> RobotQ:
    return RobotQ(
        generator=np.random.default_rng(0), revisit=revisit, discount=GAMMA, step=ALPHA,
        exploration=exploration,
    )  # fmt: skip


def brings(
    controller: RobotQ, page_id: int, now: float, relevance: float | None, *targets: int,
    outcome: Outcome = Outcome.CHANGED,
) -> None:  # fmt: skip
    """A request was answered: this relevance, links to these new pages."""
    controller.observe([Observation(page_id, now, outcome, relevance=relevance)])
    controller.add([Page(target) for target in targets])
    if outcome == Outcome.CHANGED:
        controller.link(page_id, Links(np.array(targets, np.int64), [""] * len(targets)))


def select(controller: RobotQ, now: float) -> int:
    [page_id] = controller.select(now, 1).page_ids.tolist()
    return int(page_id)


def test_equation_10_by_hand():
    controller = robot()
    controller.add([Page(0)])
    assert select(controller, 0.0) == 0
    brings(controller, 0, 0.0, 0.0, 1, 2, 3)
    # All Q-values are zero, so is the first update.
    first = select(controller, 1.0)
    assert controller.q_values(0) == (0.0, 0.0)
    brings(controller, first, 1.0, 0.6)
    second = select(controller, 2.0)
    # Q(0, 1) = .5 * .6, by the relevance of the first. The other two were passive just now: one of
    # them is requested next, which brings Q(0, 2) to .5 * .8 * .3; one goes on waiting before that.
    assert controller.q_values(0) == pytest.approx((0.3, 0.12))
    brings(controller, second, 2.0, 0.1, 4, 5)
    third = select(controller, 3.0)
    # .5 * .3 + .5 * .1, since nothing is known yet of the children's state. The last one of the
    # first three went from passive to requested: .5 * .12 + .5 * .8 * .2.
    assert third not in (4, 5)
    assert controller.q_values(0) == pytest.approx((0.2, 0.14))
    brings(controller, third, 3.0, 0.0)
    fourth = select(controller, 4.0)
    # The two children of the second were passive; one is requested now, but their state is zero.
    assert controller.q_values(0) == pytest.approx((0.1, 0.14))
    brings(controller, fourth, 4.0, 1.0)
    last = select(controller, 5.0)
    assert {fourth, last} == {4, 5}
    assert controller.q_values(second) == pytest.approx((0.5, 0.5 * GAMMA * 0.5))


def test_children_count_with_their_controls():
    controller = robot()
    controller.add([Page(0)])
    select(controller, 0.0)
    brings(controller, 0, 0.0, 0.0, 1, 2)
    state = controller.state_dict()
    for name, values in {"page.fringe_q": [[0.0, 0.0], [0.9, 0.4], [0.9, 0.4]]}.items():
        state[name] = np.array(values)
    controller.load_state_dict(state)
    gate = select(controller, 1.0)
    brings(controller, gate, 1.0, 0.2, 3, 4, 5)
    assert select(controller, 2.0) in (3, 4, 5)
    # Of the three children one is requested (.9), two are left (.4 each).
    assert controller.q_values(0)[0] == pytest.approx(0.5 * (0.2 + 0.8 * (0.9 + 2 * 0.4)))


@pytest.mark.parametrize(
    ("outcome", "relevance", "reward"),
    [
        (Outcome.CHANGED, 0.9, 0.9),
        (Outcome.CHANGED, 0.2, 0.7),
        (Outcome.GONE, None, 0.7),
        (Outcome.UNCHANGED, 0.7, 0.0),
        (Outcome.FAILED, None, 0.0),
    ],
)
def test_rewards_of_retrieved_documents(outcome, relevance, reward):
    """Equation 11."""
    controller = robot(revisit=True)
    controller.add([Page(0)])
    select(controller, 0.0)
    brings(controller, 0, 0.0, 0.0, 1)
    seen, now = None, 0.0
    while seen != 1:
        now += 1.0
        seen = select(controller, now)
        brings(controller, seen, now, 0.7 if seen == 1 else 0.0, outcome=Outcome.UNCHANGED)
    seen = None
    while seen != 1:
        now += 1.0
        seen = select(controller, now)
        if seen != 1:
            brings(controller, seen, now, 0.0, outcome=Outcome.UNCHANGED)
    before = controller.q_values(0, retrieved=True)
    assert before == (0.0, 0.0)
    brings(controller, 1, now, relevance, outcome=outcome)
    select(controller, now + 1.0)
    assert controller.q_values(0, retrieved=True)[0] == pytest.approx(ALPHA * reward)


class Recorded(RobotQ):
    """Notes down the requests and what they brought."""

    def __init__(self, **options) -> None:
        super().__init__(**options)
        self.log: list[tuple] = []

    def add(self, pages):
        super().add(pages)
        self.log += [("seed", page.id) for page in pages if not self.log]

    def select(self, now, limit):
        indices = {d: -np.subtract(*self._settled(s)[::-1]) for d, s in self._documents()}
        selection = super().select(now, limit)
        self.log += [("request", page_id, indices) for page_id in selection.page_ids.tolist()]
        return selection

    def _documents(self):
        return [*self._passive.state.items(), *((d, self._state_of(d)) for d in self._coming)]

    def observe(self, observations):
        super().observe(observations)
        self.log += [("brought", o.page_id, o.outcome, o.relevance) for o in observations]

    def link(self, page_id, links):
        super().link(page_id, links)
        self.log.append(("links", page_id, links.targets.tolist()))

    def begin_traversal(self):
        super().begin_traversal()
        self.log.append(("again",))


class Account:
    """Equations 9 to 11, document by document, from the log of a controller."""

    def __init__(self, alpha: float, gamma: float, revisit: bool) -> None:
        self.q = defaultdict(float)
        self.alpha, self.gamma, self.revisit = alpha, gamma, revisit
        self.begin(1)

    def begin(self, traversal: int) -> None:
        self.traversal, self.step = traversal, self.alpha / traversal**0.5
        self.state, self.relevance, self.passive = {}, {}, set()
        self.now: tuple | None = None

    def index(self, document: int) -> float:
        return self.q[self.state[document], 1] - self.q[self.state[document], 2]

    def update(self, state, control: int, goal: float) -> None:
        self.q[state, control] += self.step * (goal - self.q[state, control])

    def value(self, document: int, chosen: int | None) -> float:
        return self.q[self.state[document], 1 if document == chosen else 2]

    def controls(self, chosen: int | None) -> None:
        """All controls of the next time are known."""
        if self.now is not None:
            document, state, reward, children = self.now
            later = sum(self.value(d, chosen) for d in (document, *children))
            self.update(state, 1, reward + self.gamma * later)
        for document in sorted(self.passive, key=lambda d: d == chosen):
            if chosen is not None:
                self.update(self.state[document], 2, self.gamma * self.value(document, chosen))
        self.now = None

    def follow(self, log) -> None:
        for what, *told in log:
            if what == "seed":
                self.state[told[0]] = ("fringe", None)
            elif what == "request":
                self.controls(told[0])
                asked = lambda d: self.revisit or self.state[d][0] == "fringe"  # noqa: E731
                self.passive = {d for d in self.state if d != told[0] and asked(d)}
            elif what == "brought":
                self.brought(*told)
            elif what == "links":
                document, targets = told
                new = [d for d in targets if d not in self.state]
                self.state.update(dict.fromkeys(new, ("fringe", document)))
                self.now[3].extend(new)
            else:
                self.controls(None)
                self.begin(self.traversal + 1)
                self.state[0] = ("fringe", None)

    def brought(self, document: int, outcome: Outcome, relevance: float | None) -> None:
        kind, discoverer = state = self.state[document]
        before = self.relevance.get(document)
        if kind == "fringe":
            reward = relevance or 0.0
        elif outcome == Outcome.CHANGED:
            reward = max(before, relevance)
        else:
            reward = before if outcome == Outcome.GONE else 0.0
        if outcome == Outcome.GONE:
            self.state[document] = ("gone", None)
        elif relevance is not None:
            self.relevance[document] = relevance
            self.state[document] = ("retrieved", discoverer)
        self.now = (document, state, reward, [])


def tree(pages: int = 60) -> Graph:
    """A page leads to its three children, and to some others."""
    rng = np.random.default_rng(4)
    links = {(0, 1)} | {((n - 1) // 3, n) for n in range(1, pages)}
    links |= {(int(a), int(b)) for a, b in rng.integers(0, pages, (60, 2))}
    sources, targets = zip(*sorted(links), strict=True)
    relevance = np.where(rng.random(pages) < 0.3, rng.random(pages), 0.0)
    return Graph(["a"] * pages, list(map(str, range(pages))), sources, targets,
                 list(map(str, targets)), {"it": relevance})  # fmt: skip


def test_traversals_are_those_of_a_plain_account():
    controller = Recorded(
        generator=np.random.default_rng(2), revisit=False, discount=GAMMA, step=ALPHA,
        exploration=0.0,
    )  # fmt: skip
    traverse(tree(), controller, 4)
    account = Account(ALPHA, GAMMA, revisit=False)
    account.follow(controller.log)
    for page_id in range(60):
        expected = [account.q[("fringe", page_id), control] for control in (1, 2)]
        assert controller.q_values(page_id) == pytest.approx(expected, abs=1e-12)
    for what, *told in controller.log:
        if what == "request":
            chosen, indices = told
            assert indices[chosen] >= max(indices.values()) - 1e-3


def test_a_changing_web_is_that_of_a_plain_account():
    controller = Recorded(
        generator=np.random.default_rng(2), revisit=True, discount=GAMMA, step=ALPHA,
        exploration=0.1,
    )  # fmt: skip
    world = ChangingGraph(tree(), change_load=0.5, seed=1, deletions=0.2)
    collect_run(world, controller, 400)
    select(controller, 401.0)
    account = Account(ALPHA, GAMMA, revisit=True)
    outcomes = [told[1] for what, *told in controller.log if what == "brought"]
    assert {Outcome.CHANGED, Outcome.UNCHANGED, Outcome.GONE} == set(outcomes)
    account.follow(controller.log)
    for page_id in range(60):
        for kind in ("fringe", "retrieved"):
            expected = [account.q[(kind, page_id), control] for control in (1, 2)]
            values = controller.q_values(page_id, retrieved=kind == "retrieved")
            assert values == pytest.approx(expected, abs=1e-12)


def test_links_that_come_late():
    controller = robot()
    controller.add([Page(0)])
    assert select(controller, 0.0) == 0
    controller.observe([Observation(0, 0.0, Outcome.CHANGED, relevance=0.0)])
    controller.add([Page(1)])
    assert select(controller, 1.0) == 1
    controller.link(0, Links(np.array([1]), [""]))
    controller.observe([Observation(1, 1.0, Outcome.CHANGED, relevance=0.5)])
    controller.begin_traversal()
    assert controller.q_values(0)[0] == ALPHA * 0.5


def test_what_was_learned_is_used_in_the_next_traversal():
    pages, gates = 60, (1, 2, 3, 4, 5)
    targets = {0: [*gates]} | {gate: list(range(gate * 10, gate * 10 + 10)) for gate in gates}
    sources = [source for source, row in targets.items() for _ in row]
    ends = [target for row in targets.values() for target in row]
    relevance = [1.0 if 30 <= page < 40 else 0.0 for page in range(pages)]
    graph = Graph(["a"] * pages, [""] * pages, sources, ends, [""] * len(ends), {"it": relevance})
    shares = np.array(
        [
            [result.of_upper_bound for result in traverse(graph, controller, 4)]
            for controller in (RobotQ(generator=np.random.default_rng(s)) for s in range(10))
        ]
    )
    assert shares[:, 3].mean() > shares[:, 0].mean()
    assert shares[:, 3].min() > 0.85


def test_steps_and_exploration_decrease():
    """With ε = 1 the first traversal is random; a random document is any of those that wait."""
    controller = robot(exploration=1.0)
    controller.add([Page(n) for n in range(4)])
    first = {select(controller, float(n)) for n in range(4)}
    assert first == {0, 1, 2, 3}
    controller.begin_traversal()
    assert controller.state_dict()["traversal"].tolist() == [2]
    controller.add([Page(0), Page(1)])
    select(controller, 5.0)
    controller.observe([Observation(0, 5.0, Outcome.CHANGED, relevance=1.0)])
    controller.observe([Observation(1, 5.0, Outcome.CHANGED, relevance=0.0)])
    controller.begin_traversal()
    others = controller.state_dict()["other_q"]
    step = ALPHA / 2**0.5
    assert others[0, 0] == pytest.approx(step * (1 - step))


@pytest.mark.parametrize(("ties", "order"), [("oldest", [0, 2, 1]), ("newest", [0, 1, 2])])
def test_of_equal_indices(ties, order):
    """The start page links to 2 before 1."""
    chance = np.random.default_rng(0)
    controller = RobotQ(generator=chance, revisit=False, exploration=0.0, ties=ties)
    controller.add([Page(0)])
    got = [select(controller, 0.0)]
    controller.observe([Observation(0, 0.0, Outcome.CHANGED, relevance=0.0)])
    controller.add([Page(1), Page(2)])
    controller.link(0, Links(np.array([2, 1]), ["", ""]))
    assert [*got, select(controller, 1.0), select(controller, 2.0)] == order


def test_state_is_put_into_another():
    controller, other = robot(), robot()
    controller.add([Page(0)])
    select(controller, 0.0)
    brings(controller, 0, 0.0, 0.0, 1, 2)
    brings(controller, select(controller, 1.0), 1.0, 0.5)
    select(controller, 2.0)
    other.add([Page(0), Page(1), Page(2)])
    other.load_state_dict(controller.state_dict())
    assert other.q_values(0) == controller.q_values(0) == pytest.approx((0.25, 0.1))


def test_discarded_states_are_forgotten():
    controller = robot()
    controller.add([Page(0)])
    select(controller, 0.0)
    brings(controller, 0, 0.0, 0.0, 1, 2)
    brings(controller, select(controller, 1.0), 1.0, 0.5)
    select(controller, 2.0)
    controller.discard([0, 1, 2])
    assert set(controller._q) <= {-1, -2, -3}  # those that no page stands for
    assert controller.q_values(0) == (0.0, 0.0)
    assert not len(controller.select(3.0, 1).page_ids)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"discount": 1.5}, r"robot-q: discount=1\.5"),
        ({"discount": 1.0}, "give one below 1"),
        ({"step": -0.1}, r"robot-q: step=-0\.1"),
        ({"exploration": 2.0}, r"robot-q: exploration=2\.0"),
        ({"ties": "least"}, "must be one of chance, oldest, newest"),
    ],
)
def test_options_that_cannot_be(option, message):
    with pytest.raises(InputError, match=message):
        RobotQ(generator=np.random.default_rng(0), **option)
