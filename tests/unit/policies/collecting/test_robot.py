"""The robot: contract, determinism, learning on small webs, the second traversal."""

import itertools
import string

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.policies.collecting.rests import FIRST
from pollwise.policies.collecting.robot import Robot
from pollwise.relevance.topic import topic as topic_of
from pollwise.simulation.traversal import traverse
from pollwise.simulation.worlds.graph import Graph
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Links, Observation, Outcome, Page


def robot(seed: int = 0) -> Robot:
    return Robot(generator=np.random.default_rng(seed))


def still(seed: int = 0) -> Robot:
    return Robot(generator=np.random.default_rng(seed), revisit=False)


class TestRobotContract(PolicyContract):
    def make_policy(self, pages):
        return robot()


def web(relevant_anchor: bool) -> Graph:
    """A start page, 40 lists, and 20 pages from each; one page in 20 is relevant.

    The relevant pages are told by one word of their anchors, or by their directory.
    """
    lists, per_list = 40, 20
    paths, sources, targets, anchors = [""], [], [], []
    relevance = [0.0]
    for number in range(lists):
        paths.append(f"list{number}.html")
        relevance.append(0.0)
        sources.append(0)
        targets.append(number + 1)
        anchors.append("list")
    for number in range(lists * per_list):
        group = number // per_list
        good = (number * 7 + group) % 20 == 3 if relevant_anchor else group in (5, 17)
        paths.append(f"{'x' if relevant_anchor else f'd{group}'}/{number}.html")
        relevance.append(0.8 if good else 0.0)
        sources.append(group + 1)
        targets.append(len(paths) - 1)
        anchors.append(f"{'squid' if good and relevant_anchor else 'stone'} {number}")
    hosts = ["h.example"] * len(paths)
    return Graph(hosts, paths, sources, targets, anchors, {"topic": relevance})


def test_it_is_a_request_controller():
    assert isinstance(robot(), RequestController)


def test_a_topic_that_is_told_leads_there_before_anything_relevant_is_known():
    graph = web(relevant_anchor=True)
    shares, firsts = [], []
    for topic in ({"squid": 1.0}, None):
        robots = [
            Robot(generator=np.random.default_rng(seed), revisit=False, topic=topic)
            for seed in range(6)
        ]
        runs = [traverse(graph, robot)[0] for robot in robots]
        shares.append(np.mean([run.of_upper_bound for run in runs]))
        firsts.append(np.mean([np.argmax(run.recalls > 0) for run in runs]))
    assert shares[0] > shares[1]
    assert firsts[0] < firsts[1]


def test_a_url_of_very_many_words_is_a_page_like_others():
    """It had been written beyond the end of a table."""
    words = ["".join(pair) for pair in itertools.product(string.ascii_lowercase, repeat=2)]
    segments = ["-".join(words[24 * n : 24 * n + 24]) for n in range(16)]
    controller = robot()
    controller.add([Page(n, f"http://h.example/{'/'.join(segments)}{n}") for n in range(30)])
    for now in range(30):
        [page_id] = controller.select(float(now), 1).page_ids.tolist()
        controller.observe([Observation(page_id, float(now), Outcome.CHANGED, relevance=0.5)])
    assert controller.likely_links(1) == []


def test_a_topic_that_tells_nothing_is_soon_ignored():
    graph = web(relevant_anchor=True)
    robot = Robot(generator=np.random.default_rng(1), revisit=False, topic={"stone": 1.0})
    assert traverse(graph, robot)[0].of_upper_bound > 0.8


def listed(seed: int, *, told: bool, requests: int = 60) -> int:
    """The good pages in the first ones that a robot takes off a list; each fourth there is good.

    Only the text around a link says so, if that is `told`.
    """
    pages = 200
    good = np.random.default_rng(9).permutation(pages)[: pages // 4]
    texts = np.full(pages, "more of this and that", object)
    texts[good] = "about audio, its formats and files"
    controller = Robot(
        generator=np.random.default_rng(seed), revisit=False, topic={"audio": 1.0, "sound": 0.5}
    )
    controller.add([Page(0, "http://h.example/")])
    assert controller.select(0.0, 1).page_ids.tolist() == [0]
    controller.observe([Observation(0, 0.0, Outcome.CHANGED, relevance=0.0)])
    controller.add([Page(n, f"http://h.example/part/{n}") for n in range(1, pages + 1)])
    links = Links(
        np.arange(1, pages + 1),
        [f"part {n}" for n in range(pages)],
        around=texts.tolist() if told else (),
    )
    controller.link(0, links)
    found = 0
    for now in range(1, requests + 1):
        [page_id] = controller.select(float(now), 1).page_ids.tolist()
        is_good = page_id - 1 in good
        found += is_good
        controller.observe([Observation(page_id, now, Outcome.CHANGED, relevance=0.7 * is_good)])
    return found


def test_a_link_is_preferred_beside_which_the_topic_is_said():
    told = [listed(seed, told=True) for seed in range(3)]
    not_told = [listed(seed, told=False) for seed in range(3)]
    assert min(told) > 45
    assert max(not_told) < 25


@pytest.mark.parametrize("by_anchor", [True, False], ids=["anchor word", "directory"])
def test_relevant_pages_are_found_early(by_anchor):
    graph = web(by_anchor)
    runs = [traverse(graph, still(seed), 2) for seed in range(3)]
    first = np.mean([run[0].of_upper_bound for run in runs])
    assert first > (0.85 if by_anchor else 0.6)
    assert all(run[1].of_upper_bound > 0.97 for run in runs)


def test_the_same_seed_gives_the_same_order():
    graph = web(True)
    one, two = (traverse(graph, still(3))[0].recalls for _ in range(2))
    assert one.tolist() == two.tolist()


def links_to(targets: tuple[int, ...]) -> Links:
    anchors, around = ([f"{word} {target}" for target in targets] for word in ("to", "of whales"))
    return Links(np.array(targets, np.int64), anchors, around=around)


def fetch(controller: Robot, page_id: int, now: float, relevance: float, *targets: int) -> None:
    controller.observe([Observation(page_id, now, Outcome.CHANGED, relevance=relevance)])
    controller.add([Page(target, f"http://h.example/{target}") for target in targets])
    controller.link(page_id, links_to(targets))


def test_targets_of_a_relevant_page_come_first():
    controller = robot()
    controller.add([Page(0, "http://h.example/"), Page(1, "http://h.example/1")])
    fetch(controller, 0, 1.0, 0.0, 2, 3)
    fetch(controller, 1, 2.0, 0.9, 4)
    assert controller.select(3.0, 1).page_ids.tolist() == [4]


def test_fetched_pages_come_after_the_fringe_oldest_first():
    controller = still()
    controller.add([Page(n, f"http://h.example/{n}") for n in range(3)])
    fetch(controller, 2, 1.0, 0.0)
    fetch(controller, 0, 2.0, 0.9)
    assert controller.select(3.0, 5).page_ids.tolist() == [1, 2, 0]


def test_fetched_pages_of_a_busy_host_wait_too():
    controller = still()
    hosts = ["a.example", "a.example", "b.example"]
    controller.add([Page(n, f"http://{host}/{n}", host) for n, host in enumerate(hosts)])
    controller.select(1.0, 3)
    for page_id in range(3):
        fetch(controller, page_id, 2.0 + page_id, 0.0)
    assert controller.select(5.0, 1).page_ids.tolist() == [0]
    controller.defer([0], 9.0)
    assert controller.select(6.0, 3).page_ids.tolist() == [2]
    assert controller.select(8.0, 3).page_ids.tolist() == []
    assert sorted(controller.select(9.0, 3).page_ids.tolist()) == [0, 1]


def test_fed_before_the_first_selection_it_knows_the_same():
    """The order of feeding is that of the first fetches; the state may come before it or after."""
    crawled, restarted = robot(), robot()
    for controller in (crawled, restarted):
        controller.add([Page(0, "http://h.example/"), Page(1, "http://h.example/1")])
    assert crawled.select(0.5, 2).page_ids.tolist() == [0, 1]
    fetch(crawled, 0, 1.0, 0.0, 2, 3)
    fetch(crawled, 1, 2.0, 0.9, 4)
    restarted.add([Page(n, f"http://h.example/{n}") for n in (2, 3, 4)])
    restarted.load_state_dict(crawled.state_dict())
    fetch(restarted, 0, 1.0, 0.0)
    restarted.link(0, links_to((2, 3)))
    fetch(restarted, 1, 2.0, 0.9)
    restarted.link(1, links_to((4,)))
    order = [controller.select(3.0, 5).page_ids.tolist() for controller in (crawled, restarted)]
    assert order[0] == order[1]


def test_a_failed_poll_says_nothing_of_relevance():
    controller = robot()
    controller.add([Page(0, "http://h.example/a/0"), Page(1, "http://h.example/a/1")])
    controller.observe([Observation(0, 1.0, Outcome.FAILED)])
    assert controller.select(2.0, 2).page_ids.tolist() == [1, 0]
    controller.observe([Observation(0, 3.0, Outcome.CHANGED, relevance=0.5)])
    controller.rescore([0, 99], [0.7, 0.7])


def test_links_to_unknown_pages_and_links_told_again():
    controller = robot()
    controller.add([Page(0, "http://h.example/")])
    links = Links(np.array([5, 0]), ["", ""])
    controller.observe([Observation(0, 1.0, Outcome.CHANGED, relevance=0.5)])
    controller.link(0, links)
    controller.link(0, links)
    controller.link(7, links)
    assert controller.select(1.0 + FIRST, 3).page_ids.tolist() == [0]


def test_ids_taken_are_refused():
    controller = robot()
    controller.add([Page(0)])
    with pytest.raises(InputError, match="known already"):
        controller.add([Page(0)])


def test_discarded_pages_may_not_be_selected():
    controller = robot()
    controller.add([Page(n, f"http://h.example/{n}") for n in range(3)])
    controller.discard([1, 9])
    assert controller.select(1.0, 3).page_ids.tolist() == [0, 2]


def test_a_seed_that_others_link_to_is_a_start_of_the_second_traversal():
    controller = still()
    controller.add([Page(0, "http://h.example/"), Page(1, "http://h.example/1")])
    assert len(controller.select(0.5, 2).page_ids) == 2
    fetch(controller, 0, 1.0, 0.0, 2)
    controller.link(0, Links(np.array([2, 1, 0]), ["", "", ""]))
    fetch(controller, 1, 2.0, 0.1, 3, 4)
    fetch(controller, 2, 3.0, 0.0)
    fetch(controller, 3, 4.0, 0.0)
    fetch(controller, 4, 5.0, 0.9)
    controller.begin_traversal()
    controller.add([Page(0, "http://h.example/"), Page(1, "http://h.example/1")])
    assert controller.select(6.0, 1).page_ids.tolist() == [1]
    controller.observe([Observation(1, 6.0, Outcome.CHANGED, relevance=0.1)])
    controller.add([Page(3, "http://h.example/3"), Page(4, "http://h.example/4")])
    controller.link(1, Links(np.array([3, 4]), ["to 3", "to 4"]))
    assert controller.select(7.0, 3).page_ids.tolist()[0] == 4


def test_a_page_that_does_not_change_is_looked_at_less_and_less():
    """Nothing else can be polled, and there is a second for each poll: two hours."""
    controller = robot()
    controller.add([Page(0, "http://h.example/", "h.example")])
    polls = []
    for now in range(7200):
        for page_id in controller.select(float(now), 1).page_ids.tolist():
            outcome = Outcome.UNCHANGED if polls else Outcome.CHANGED
            relevance = None if polls else 0.5
            controller.observe([Observation(page_id, float(now), outcome, relevance=relevance)])
            polls.append(now)
    assert len(polls) <= 8
    assert all(later - now >= now - polls[0] for now, later in itertools.pairwise(polls))


def test_it_says_when_it_wants_to_be_asked_again():
    controller = robot()
    controller.add([Page(0, "http://h.example/"), Page(1, "http://h.example/1")])
    fetch(controller, 0, 1.0, 0.5)
    fetch(controller, 1, 7.0, 0.0)
    selection = controller.select(8.0, 2)
    assert (selection.page_ids.tolist(), selection.wake_at) == ([], 1.0 + FIRST)
    selection = controller.select(1.0 + FIRST, 2)
    assert (selection.page_ids.tolist(), selection.wake_at) == ([0], 7.0 + FIRST)


def told_of(robot, page_id, at, outcome=Outcome.CHANGED, relevance=None):
    robot.observe([Observation(page_id, at, outcome, relevance=relevance)])


def test_a_page_that_was_gone_is_not_tried_at_once_because_a_page_newly_links_to_it():
    one = robot()
    one.add([Page(0, "http://h.example/"), Page(1, "http://h.example/gone")])
    assert sorted(one.select(0.0, 5).page_ids.tolist()) == [0, 1]
    told_of(one, 1, 10.0, Outcome.GONE)
    told_of(one, 0, 20.0, relevance=0.5)
    one.link(0, Links(np.array([1]), ["gone"]))
    chosen = one.select(21.0, 5)
    assert 1 not in chosen.page_ids.tolist()
    assert chosen.wake_at <= 610.0
    assert 1 in one.select(610.0, 5).page_ids.tolist()


def test_a_part_of_a_host_where_links_are_dead_is_left():
    """Of two equal directories the one that has pages is followed."""
    pages = [Page(0, "http://h.example/")]
    pages += [Page(n, f"http://h.example/{'ab'[n % 2]}/{n}") for n in range(1, 81)]
    one = robot()
    one.add(pages[:1])
    told_of(one, *one.select(0.0, 1).page_ids.tolist(), 1.0, relevance=0.1)
    one.add(pages[1:])
    one.link(0, Links(np.arange(1, 81), [f"part {n}" for n in range(1, 81)]))
    order = []
    for now in range(2, 42):
        [page_id] = one.select(float(now), 1).page_ids.tolist()
        order.append(page_id)
        outcome = Outcome.GONE if page_id % 2 else Outcome.CHANGED
        told_of(one, page_id, float(now), outcome, None if page_id % 2 else 0.1)
    assert sum(page_id % 2 for page_id in order[20:]) <= 4


PHYSICS = """physics energy quantum particle electron force relativity mechanics wave field mass
light atom nuclear"""


def test_told_a_dozen_words_it_finds_a_topic_of_the_bundled_graph():
    graph = Graph.bundled("physics")
    told = dict.fromkeys(topic_of(PHYSICS).words, 1.0)
    robots = [
        Robot(generator=np.random.default_rng(seed), revisit=False, topic=told) for seed in range(3)
    ]
    runs = [traverse(graph, one, 1, 406) for one in robots]
    recalls = np.mean([run.recalls[[41, 203, 406]] for [run] in runs], axis=0)
    assert (recalls >= [0.23, 0.65, 0.79]).all()


def test_told_a_topic_that_nothing_matches_yet_it_looks_where_many_links_are():
    ends, hub = list(range(1, 30)), 30
    graph = Graph(
        ["h.example"] * 31,
        ["", *(f"p{n}" for n in ends), "wide"],
        [*[0] * 30, *ends],
        [*ends, hub, *[hub] * 29],
        ["x"] * 59,
        {"nothing": np.zeros(31)},
    )
    told = Robot(generator=np.random.default_rng(1), revisit=False, topic={"squid": 1.0})
    [run] = traverse(graph, told, 1, 31)
    assert run.requested.tolist().index(hub) <= 3


def test_dead_links_are_remembered_after_a_restart():
    pages = [Page(n, f"http://h.example/{'ab'[n % 2]}/{n}") for n in range(40)]
    first = robot()
    first.add(pages)
    for page_id in range(1, 21, 2):
        told_of(first, page_id, float(page_id), Outcome.GONE)
    second = robot()
    second.add(pages)
    second.load_state_dict(first.state_dict())
    dead = 0
    for now in range(40, 50):
        [page_id] = second.select(float(now), 1).page_ids.tolist()
        dead += page_id % 2
        told_of(second, page_id, float(now), relevance=0.2 * (page_id % 2 == 0))
    assert dead <= 2


def test_a_restart_tries_no_page_again_that_was_gone():
    pages = [Page(n, f"http://h.example/{n}") for n in range(3)]
    links = Links(np.array([1, 2]), ["gone", "new"])
    first = robot()
    first.add(pages)
    told_of(first, 0, 1.0, relevance=0.5)
    first.link(0, links)
    told_of(first, 1, 2.0, Outcome.GONE)
    second = robot()
    second.add(pages)
    second.load_state_dict(first.state_dict())
    told_of(second, 0, 1.0, relevance=0.5)
    second.link(0, links)
    for now in (10_000.0, 20_000.0):
        assert 1 not in second.select(now, 5).page_ids.tolist()


DOCUMENTS, DAYS = 120, 600


def with_calendar(url_of_day: str) -> tuple[list[str], dict[int, Links], set[int]]:
    """The URLs of a site with a tree of documents and a calendar, their links, the calendar's ids.

    A date leads to the sixty days around it, by their numbers; each document leads to the calendar.
    """
    urls = ["http://h.example/"]
    urls += [f"http://h.example/docs/{number}.html" for number in range(DOCUMENTS)]
    first = np.datetime64("2025-01-01")
    for day in range(DAYS):
        year, month, date = str(first + day).split("-")
        urls.append(f"http://h.example/{url_of_day.format(y=year, m=month, d=date)}")
    begin = len(urls) - DAYS
    today = begin + DAYS // 2
    links = {0: Links(np.array([1, today]), ("articles", "events"))}
    for number in range(DOCUMENTS):
        below = [n + 1 for n in range(3 * number + 1, 3 * number + 4) if n < DOCUMENTS]
        anchors = (*(f"article {n}" for n in below), "events")
        links[number + 1] = Links(np.array([*below, today]), anchors)
    for day in range(DAYS):
        around = [n for n in range(day - 30, day + 31) if 0 <= n < DAYS and n != day]
        anchors = tuple(str(1 + n % 31) for n in around)
        links[begin + day] = Links(np.array(around) + begin, anchors)
    return urls, links, set(range(begin, len(urls)))


@pytest.mark.parametrize("url_of_day", ["calendar?date={y}-{m}-{d}", "events/{y}/{m}/{d}/"])
def test_a_calendar_does_not_take_the_first_requests(url_of_day):
    """It had taken 75 and 95 of the first hundred."""
    urls, links, calendar = with_calendar(url_of_day)
    topic = {"whale": 1.0}
    robot = Robot(generator=np.random.default_rng(1), revisit=False, topic=topic)
    robot.add([Page(0, urls[0])])
    known, fetched = {0}, []
    for now in range(100):
        [page_id] = robot.select(float(now), 1).page_ids.tolist()
        about = 0 < page_id <= DOCUMENTS and page_id % 10 == 0
        robot.observe([Observation(page_id, float(now), Outcome.CHANGED, relevance=0.8 * about)])
        targets = links[page_id].targets.tolist()
        robot.add([Page(n, urls[n]) for n in targets if n not in known])
        known.update(targets)
        robot.link(page_id, links[page_id])
        fetched.append(page_id)
    assert len(calendar & set(fetched)) < 25
