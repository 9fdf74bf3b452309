"""The frontier without its network: what it gives out, when, and what it keeps."""

import random

import pytest

from pollwise.errors import StoreDiskError, StoreError, StoreInUseError
from pollwise.frontier import discovered, known
from pollwise.frontier.giving import Asked
from pollwise.frontier.protocol.urlfrontier_pb2 import AckMessage, GetParams, URLItem
from pollwise.frontier.store import FrontierStore

OK, SKIPPED = AckMessage.OK, AckMessage.SKIPPED
HOST = "example.org"


def url(number, host=HOST):
    return f"http://{host}/{number}"


def report(crawl, at, signature, days=1.0, within=""):
    """A fetch that went well."""
    date = int(crawl.now + days * 86_400)
    metadata = {"signature": [signature], "fetch.statusCode": ["200"]}
    assert crawl.put(known(at, date, metadata=metadata, crawl=within)) == [OK]


def copied(crawl, *numbers, days=1.0):
    """Have pages fetched for the first time, so that the index chooses them from then on."""
    crawl.put(*(discovered(url(number)) for number in numbers))
    assert sorted(crawl.get()) == sorted(map(url, numbers))
    for number in numbers:
        report(crawl, url(number), "first", days)
    crawl.now += 2


# ---------------------------------------------------------------------------------------- taking


def test_new_urls_come_in_the_order_of_their_arrival(crawl):
    crawl.put(*(discovered(url(number)) for number in (3, 1, 2)))
    assert crawl.get() == [url(3), url(1), url(2)]


def test_a_url_is_taken_once(crawl):
    assert crawl.put(discovered(url(1)), discovered(url(1))) == [OK, SKIPPED]
    crawl.put(known(url(1), 0))
    assert crawl.put(discovered(url(1))) == [SKIPPED]
    assert crawl.get() == []


@pytest.mark.parametrize(
    "item",
    [
        URLItem(),
        discovered(""),
        discovered("/path"),
        known("", 5),
        discovered("http://example.org/" + "x" * 10_000),
        discovered(url(1), key="k" * 256),
        discovered(url(1), crawl="c" * 256),
        discovered(url(1), metadata={"a": ["x" * 70_000]}),
    ],
)
def test_what_is_of_no_use_is_skipped(crawl, item):
    assert crawl.put(item, discovered(url(1))) == [SKIPPED, OK]
    assert crawl.figures().active == 1


def test_the_key_is_the_host_or_what_the_client_says(crawl):
    crawl.put(discovered("http://a.org:80/"), discovered("http://b.org/", key="other"))
    assert crawl.do("keys", "", 0, 9, crawl.now, all_of_them=False) == (["a.org", "other"], 2)


def test_crawls_are_apart(crawl):
    assert crawl.put(discovered(url(1)), discovered(url(1), crawl="B")) == [OK, OK]
    crawl.put(discovered(url(2), crawl="DEFAULT"))
    assert crawl.frontier.crawls == ["DEFAULT", "B"]
    assert crawl.get(crawl="B") == [url(1)]
    assert crawl.get(crawl="") == [url(1), url(2)]


def test_metadata_come_back(crawl):
    crawl.put(discovered(url(1), metadata={"depth": ["2"]}))
    rows = crawl.store.rows("SELECT metadata FROM url")
    assert b"depth" in rows[0][0]


# ---------------------------------------------------------------------------------------- the gate


def test_a_queue_rests_between_two_answers(crawl):
    crawl.put(*(discovered(url(number)) for number in range(4)))
    assert crawl.get(urls=1, key=HOST) == [url(0)]
    assert crawl.get(urls=1, key=HOST) == []
    crawl.now += 0.9
    assert crawl.get(urls=1, key=HOST) == []
    crawl.now += 0.1
    assert crawl.get(urls=1, key=HOST) == [url(1)]
    crawl.do("set_delay", HOST, "", 10)
    crawl.now += 9.9
    assert crawl.get(urls=1, key=HOST) == []
    crawl.now += 0.1
    assert crawl.get(urls=1, key=HOST) == [url(2)]
    crawl.do("set_delay", HOST, "", 0)
    assert crawl.get(urls=1, key=HOST) == [url(3)]


def test_the_delay_of_all_queues(crawl):
    crawl.put(discovered(url(1)), discovered(url(2)), discovered(url(1, "b.org")))
    crawl.do("set_delay", "b.org", "", 1)
    crawl.do("set_delay", "", "", 100)
    assert len(crawl.get(urls=1)) == 2
    crawl.put(discovered(url(2, "b.org")))
    crawl.now += 99
    assert crawl.get() == [url(1, "b.org"), url(2, "b.org")]
    crawl.now += 1
    assert crawl.get() == [url(1), url(2)]


def test_a_queue_with_its_fill_in_process_is_passed_over(crawl):
    crawl.put(*(discovered(url(number)) for number in range(5)))
    assert len(crawl.get(urls=2)) == 2
    crawl.now += 5
    assert crawl.get(urls=2) == []
    assert len(crawl.get(urls=3)) == 3


def test_each_queue_is_served_once_in_an_answer(crawl):
    crawl.do("set_delay", "", "", 0)
    crawl.put(*(discovered(url(number, f"{host}.org")) for host in "abc" for number in range(3)))
    assert len(crawl.get(urls=1)) == 3
    assert len(crawl.get(urls=2, queues=2)) == 4
    assert len(crawl.get(urls=2, queues=2, key="c.org")) == 2


def test_bounds_hold_over_the_parts_of_an_answer(crawl):
    crawl.put(
        *(discovered(url(number, host)) for host in ("a.org", "b.org") for number in range(9))
    )
    assert len(crawl.get(queues=1, most=2)) == 9
    crawl.now += 60
    assert len(crawl.get(queues=2, most=2)) == 18


def test_a_client_that_does_not_come_for_the_rest_keeps_no_queue(crawl):
    crawl.put(*(discovered(url(number)) for number in range(9)))
    asked = Asked.of(GetParams())
    with crawl.frontier.transaction():
        assert len(crawl.frontier.give(asked, crawl.now, 3)) == 3
    crawl.now += 1
    assert len(crawl.get()) == 6


def test_the_clock_was_ahead(crawl):
    crawl.put(discovered(url(1)), discovered(url(2)))
    crawl.now += 1e8
    crawl.get(urls=1, key=HOST, lease=60)
    report(crawl, url(1), "a")
    crawl.now += 10
    crawl.get(urls=1, key=HOST, lease=60)
    crawl.now -= 1e8
    crawl.restart()
    crawl.now += 1
    assert crawl.figures().in_process == 1
    assert crawl.get() == []
    crawl.now += 60
    assert crawl.get() == [url(2)]
    crawl.now += 1.001e8
    assert url(1) in crawl.get()


def test_an_answer_in_parts_is_of_one_batch(crawl):
    crawl.put(*(discovered(url(number)) for number in range(50)))
    crawl.put(*(discovered(url(number, "b.org")) for number in range(50)))
    assert len(set(crawl.get(urls=30, most=7))) == 60


def test_queues_take_turns(crawl):
    crawl.put(*(discovered(url(number, f"{host}.org")) for host in "abc" for number in range(9)))
    first = [crawl.get(urls=1, queues=1)[0] for _ in range(3)]
    crawl.now += 1
    assert [crawl.get(urls=9, queues=1)[0][:12] for _ in range(3)] == [one[:12] for one in first]


def test_a_blocked_queue(crawl):
    crawl.put(discovered(url(1)))
    crawl.do("block", HOST, "", int(crawl.now) + 60)
    assert crawl.get() == crawl.get(key=HOST) == []
    assert crawl.do("keys", "", 0, 9, crawl.now, all_of_them=False) == ([], 0)
    assert crawl.do("keys", "", 0, 9, crawl.now, all_of_them=True) == ([HOST], 1)
    crawl.now += 60
    assert crawl.get() == [url(1)]
    crawl.do("block", HOST, "", 2**64 - 1)
    crawl.do("block", HOST, "", 0)
    crawl.now += 60
    assert crawl.get() == [url(1)]


def test_nothing_is_given_out_while_inactive(crawl):
    crawl.do("set_active", False)
    assert crawl.put(discovered(url(1))) == [OK]
    assert crawl.get() == []
    crawl.restart()
    assert crawl.get() == []
    crawl.do("set_active", True)
    assert crawl.get() == [url(1)]


def test_the_limit_of_a_queue(crawl):
    crawl.put(*(discovered(url(number)) for number in range(5)))
    assert not crawl.do("set_limit", "other", "", 2)
    assert crawl.do("set_limit", HOST, "", 2)
    assert crawl.get() == [url(0), url(1)]
    crawl.put(known(url(0), 0), known(url(1), 0))
    crawl.now += 60
    assert crawl.get() == []
    crawl.do("set_limit", HOST, "", 0)
    assert len(crawl.get()) == 3


def test_settings_of_queues_that_are_not_there_are_ignored(crawl):
    crawl.do("set_delay", "other", "", 5)
    crawl.do("block", "other", "", 5)
    assert crawl.figures("other").queues == 0


# ---------------------------------------------------------------------------------------- leases


def test_a_lease_runs_out(crawl):
    crawl.put(discovered(url(1)), discovered(url(2)))
    assert crawl.get(lease=10, urls=1, key=HOST) == [url(1)]
    assert crawl.figures(HOST).in_process == 1
    crawl.now += 10
    assert crawl.figures(HOST).in_process == 0
    assert crawl.get(key=HOST) == [url(1), url(2)]  # in its old place
    crawl.now += 29.9  # the default
    assert crawl.get() == []
    crawl.now += 0.1
    assert len(crawl.get()) == 2


def test_a_late_report_is_taken_in(crawl):
    crawl.put(discovered(url(1)))
    crawl.get(lease=10)
    crawl.now += 20
    report(crawl, url(1), "a")
    assert crawl.get() == []
    assert crawl.figures().active == 1


# ---------------------------------------------------------------------------------- known, by date


def test_what_is_never_to_be_fetched_again_is_not(crawl):
    crawl.put(known(url(1), 0))
    crawl.now += 1e9
    assert crawl.get() == []
    assert crawl.figures() == (0, 0, 1, 1, 0)


def test_a_known_url_that_was_never_given_out_waits_for_its_date(crawl):
    crawl.put(known(url(1), int(crawl.now)), known(url(2), int(crawl.now) - 10_000))
    crawl.put(known(url(3), int(crawl.now) + 100))
    assert crawl.get() == [url(2), url(1)]
    crawl.now += 99
    assert url(3) not in crawl.get()
    crawl.now += 60
    assert url(3) in crawl.get()


def test_a_date_beyond_all_bounds(crawl):
    assert crawl.put(known(url(1), 2**64 - 1)) == [OK]
    crawl.restart()
    assert crawl.get() == []


def test_a_first_fetch_that_failed_is_tried_again_at_its_date(crawl):
    crawl.put(discovered(url(1)))
    crawl.get()
    crawl.put(known(url(1), int(crawl.now) + 50, metadata={"status": ["503"]}))
    crawl.now += 49
    assert crawl.get() == []
    crawl.now += 1
    assert crawl.get() == [url(1)]


def test_new_and_known_ones_take_turns(crawl):
    crawl.put(*(discovered(url(number)) for number in range(3)))
    crawl.put(*(known(url(number), int(crawl.now) - 1) for number in range(10, 13)))
    assert crawl.get() == [url(0), url(10), url(1), url(11), url(2), url(12)]


def test_known_ones_that_are_due_are_not_forgotten_for_new_ones(crawl):
    crawl.put(*(discovered(url(number)) for number in range(3)))
    crawl.put(*(known(url(number), int(crawl.now) - 1) for number in (10, 11)))
    assert crawl.get(urls=3) == [url(0), url(10), url(1)]
    crawl.now += 1
    assert crawl.get() == [url(11), url(2)]


# --------------------------------------------------------------------------------- known, by index


def test_as_many_visits_as_the_dates_say(crawl):
    copied(crawl, *range(6), days=1.0)
    assert crawl.get() == []
    for _ in range(8):
        crawl.now += 86_400 / 2 + 2
        given = crawl.get()
        assert len(given) == 3
        for one in given:
            report(crawl, one, "first")


def test_the_only_page_is_fetched_again_at_its_date(crawl):
    copied(crawl, 1)
    crawl.now += 86_397
    assert crawl.get() == []
    crawl.now += 1
    assert crawl.get() == [url(1)]


def test_to_report_a_page_again_and_again_brings_no_more_visits(crawl):
    copied(crawl, 1, 2)
    for _ in range(20):
        crawl.put(known(url(1), 1, metadata={"signature": ["first"]}))
        crawl.now += 1
    assert len(crawl.get()) == 2
    for number in (1, 2):
        report(crawl, url(number), "first")
    crawl.now += 2
    assert crawl.get() == []


def test_the_page_that_changes_is_fetched_more_often_than_its_dates_say(crawl):
    """All dates are alike; visits go where changes are."""
    numbers = range(10)
    copied(crawl, *numbers)
    visits = dict.fromkeys(map(url, numbers), 0)
    for step in range(240):
        crawl.now += 6 * 3600
        for one in crawl.get():
            visits[one] += 1
            changes = one in (url(0), url(1))
            report(crawl, one, f"{step}" if changes else "first")
    changing = visits[url(0)] + visits[url(1)]
    still = sum(visits[url(number)] for number in range(2, 10))
    assert changing + still == pytest.approx(600, abs=40)  # a visit a day for each of ten pages
    assert changing / 2 > 2 * still / 8
    assert min(visits.values()) > 0


def test_visits_go_to_the_host_that_changes(crawl):
    crawl.put(*(discovered(url(1, host)) for host in ("a.org", "b.org")))
    visits = {url(1, "a.org"): 0, url(1, "b.org"): 0}
    for step in range(200):
        crawl.now += 12 * 3600
        for one in crawl.get():
            visits[one] += 1
            report(crawl, one, f"{step}" if "a.org" in one else "first")
    assert visits[url(1, "a.org")] > 1.5 * visits[url(1, "b.org")]


def test_dates_are_kept_if_asked_for(make_crawl):
    crawl = make_crawl(keep_dates=True)
    crawl.put(*(discovered(url(number)) for number in range(4)))
    crawl.get()
    for number in range(4):
        report(crawl, url(number), "first", days=number + 1)
    for day in range(4):
        crawl.now += 86_399 if day == 0 else 86_390
        assert crawl.get() == []
        crawl.restart()
        assert crawl.get() == []
        crawl.now += 10
        assert crawl.get() == [url(day)]
        report(crawl, url(day), "first", days=100)


def test_a_page_that_failed_rests_until_its_date(crawl):
    copied(crawl, 1, 2)
    crawl.now += 2 * 86_400
    assert sorted(crawl.get()) == [url(1), url(2)]
    crawl.put(known(url(1), int(crawl.now) + 10 * 86_400, metadata={"status": ["500"]}))
    for day in range(9):
        report(crawl, url(2), f"{day}")
        crawl.restart()
        crawl.now += 86_401
        assert crawl.get() == [url(2)]
    crawl.now += 2 * 86_400
    assert url(1) in crawl.get()


def test_a_known_page_that_is_not_to_be_fetched_again(crawl):
    copied(crawl, 1, 2)
    crawl.put(known(url(1), 0))
    crawl.now += 86_400 * 3
    assert crawl.get() == [url(2)]
    assert crawl.figures().completed == 1


def test_reports_that_tell_nothing_are_taken_in(crawl):
    crawl.put(discovered(url(1)))
    crawl.get()
    for _ in range(5):
        crawl.put(known(url(1), int(crawl.now) + 100))
        crawl.now += 100
        assert crawl.get() == [url(1)]


def test_many_crawls_learn_and_more_go_by_date(crawl, monkeypatch):
    monkeypatch.setattr("pollwise.frontier.known_pages._LEARNING_CRAWLS", 2)
    names = ["a", "b", "c", "d"]
    crawl.put(*(discovered(url(1), crawl=name) for name in names))
    crawl.get()
    for name in names:
        report(crawl, url(1), "x", within=name)
    crawl.now += 86_401
    assert len(crawl.get()) == 4
    states = crawl.store.rows("SELECT count(*) FROM url GROUP BY state")
    assert states == [(2,), (2,)]


# -------------------------------------------------------------------------------------- forgetting


def test_deletion(crawl):
    copied(crawl, 1, 2)
    crawl.put(discovered(url(1, "b.org")), discovered(url(3)), discovered(url(1), crawl="B"))
    assert crawl.do("delete_queue", "none", "") == 0
    assert crawl.do("delete_queue", HOST, "") == 3
    assert crawl.figures(HOST).queues == 0
    assert crawl.do("delete_crawl", "B") == 1
    assert crawl.do("delete_crawl", "") == 1
    assert crawl.do("delete_crawl", "") == 0
    assert crawl.frontier.crawls == []
    assert crawl.store.rows("SELECT * FROM learned") == []
    crawl.now += 1e6
    assert crawl.get() == []
    copied(crawl, 1)


def test_old_urls_are_purged(crawl):
    copied(crawl, 1, 2)
    crawl.now += 86_400 * 10
    crawl.put(discovered(url(3)), discovered(url(1, "b.org")))
    assert crawl.do("purge", "b.org", "", 5, crawl.now) == 0
    assert crawl.do("purge", "", "", 11, crawl.now) == 0
    assert crawl.do("purge", HOST, "", 5, crawl.now) == 2
    assert sorted(crawl.get()) == [url(1, "b.org"), url(3)]
    assert crawl.figures().active == 2


# ---------------------------------------------------------------------------------------- restarts


def state_of(crawl):
    """All that is kept in memory, to be compared with what a start finds in the file."""
    frontier = crawl.frontier
    crawls = frontier._known_pages._crawls
    for one in crawls.values():
        one.revisits._save_up(crawl.now)
    queues = {
        queue.place: (
            queue.delay,
            queue.blocked_until,
            queue.served_at,
            queue.most,
            queue.counts,
            queue.new,
            queue.out,
            set(queue.line),
        )
        for queue in frontier._queues
    }
    revisits = {
        name: (
            one.revisits.chosen,
            pytest.approx(one.revisits.saved),
            one.revisits._rates,
            one.revisits._rests,
            {page: place[0] for page, place in enumerate(one.pages) if place},
        )
        for name, one in crawls.items()
        if any(one.pages)
    }
    return queues, revisits, frontier.active, frontier._queues.default_delay


@pytest.mark.parametrize("seed", range(6))
def test_a_restart_finds_what_was_there(crawl, seed):
    """A client that does all that can be done, in any order; the frontier starts anew often."""
    draw = random.Random(seed)
    hosts = ["a.org", "b.org", "c.org"]
    out: list[str] = []
    for _ in range(300):
        crawl.now += draw.choice([0.1, 1, 30, 5000, 40_000])
        host, number = draw.choice(hosts), draw.randrange(12)
        match draw.randrange(10):
            case 0 | 1:
                crawl.put(discovered(url(number, host)))
            case 2 | 3 | 4:
                out += crawl.get(draw.randrange(4), draw.randrange(3), draw.choice(["", host]))
            case 5 | 6:
                for one in out[:5]:
                    status = draw.choice(["200", "200", "304", "404", "500", "what"])
                    date = draw.choice([0, 1, 10_000, 100_000]) and int(crawl.now) + 10_000
                    metadata = {"signature": [f"{draw.randrange(2)}"], "status": [status]}
                    crawl.put(known(one, date, metadata=metadata))
                out = out[5:]
            case 7:
                crawl.put(known(url(number, host), int(crawl.now) + draw.randrange(-5, 90_000)))
            case 8:
                crawl.do("set_delay", draw.choice(["", host]), "", draw.randrange(3))
                crawl.do("block", host, "", int(crawl.now) + draw.randrange(-100, 100))
            case 9:
                if draw.random() < 0.2:
                    crawl.do("delete_queue", host, "")
                elif draw.random() < 0.2:
                    crawl.do("purge", host, "", 1, crawl.now)
                else:
                    crawl.do("set_limit", host, "", draw.choice([0, 0, 5]))
        if draw.random() < 0.2:
            crawl.figures()
            before = state_of(crawl)
            crawl.restart()
            assert state_of(crawl) == before


def test_what_was_learned_survives(crawl):
    copied(crawl, *range(5))
    for step in range(20):
        crawl.now += 86_400
        for one in crawl.get():
            report(crawl, one, f"{step}" if one == url(0) else "first")
    page = 0
    policy = crawl.frontier._known_pages._crawls["DEFAULT"].revisits.policy
    before = policy.estimate(page, crawl.now)
    crawl.restart()
    after = crawl.frontier._known_pages._crawls["DEFAULT"].revisits.policy.estimate(page, crawl.now)
    assert after.change_rate == pytest.approx(before.change_rate, rel=0.05)
    assert after.polls == before.polls > 5


def test_leases_and_delays_survive(crawl):
    crawl.put(discovered(url(1)), discovered(url(2)))
    crawl.do("set_delay", HOST, "", 20)
    crawl.get(urls=1, lease=60)
    crawl.restart()
    assert crawl.get() == []
    crawl.now += 20
    assert crawl.get(lease=60) == [url(2)]
    crawl.restart()
    crawl.now += 40
    assert crawl.get() == [url(1)]


def test_what_was_learned_by_another_version_is_learned_anew(crawl, caplog):
    copied(crawl, 1)
    crawl.now += 86_401
    crawl.get()
    report(crawl, url(1), "second")
    with crawl.store.transaction():
        crawl.store.write("""UPDATE layout SET text = '[["page.old","<f8",[]]]'""")
    crawl.restart()
    assert "learned anew" in caplog.text
    crawl.now += 86_401
    assert crawl.get() == [url(1)]


# ------------------------------------------------------------------------------------------ errors


def test_after_an_error_nothing_has_happened(crawl):
    crawl.put(discovered(url(1)))

    def failing():
        with crawl.frontier.transaction():
            crawl.frontier.put(discovered(url(2)), crawl.now)
            raise StoreDiskError("the disk is full")

    with pytest.raises(StoreDiskError):
        failing()
    assert crawl.figures().active == 1
    assert crawl.put(discovered(url(2))) == [OK]
    assert crawl.get() == [url(1), url(2)]


def test_one_process_has_the_file(crawl):
    with pytest.raises(StoreInUseError):
        FrontierStore(crawl.path)


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "text.db"
    path.write_text("no database at all, but a text\n" * 100)
    with pytest.raises(StoreError, match="choose another file"):
        FrontierStore(path)
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(StoreError):
        FrontierStore(tmp_path / "folder.db")


def test_a_file_of_a_watch_is_refused(tmp_path):
    from pollwise.store import Store

    path = tmp_path / "pollwise.db"
    Store.open(path).close()
    with pytest.raises(StoreError, match="is no file of a frontier"):
        FrontierStore(path)


def test_a_later_format_is_refused(crawl):
    with crawl.store.transaction():
        crawl.store.write("PRAGMA user_version = 2")
    crawl.store.close()
    with pytest.raises(StoreError, match="later version"):
        FrontierStore(crawl.path)


# -------------------------------------------------------------------------------------------- cost


def test_no_decision_looks_at_all_urls(crawl):
    """Every statement of a day's work finds its rows by an index, in the order that is wanted."""
    statements = set()
    crawl.store._sqlite.set_trace_callback(statements.add)
    copied(crawl, *range(5))
    crawl.put(discovered(url(9)), known(url(10), int(crawl.now) + 5), known(url(11), 0))
    for step in range(10):
        crawl.now += 40_000
        for one in crawl.get(urls=3)[:2]:
            report(crawl, one, f"{step}")
        crawl.figures()
    crawl.do("block", HOST, "", 5)
    crawl.do("set_limit", HOST, "", 5)
    crawl.store._sqlite.set_trace_callback(None)
    looked_at = 0
    for statement in statements:
        if statement.split()[0] in ("SELECT", "UPDATE", "DELETE") and "layout" not in statement:
            looked_at += 1
            plan = [row[3] for row in crawl.store.rows(f"EXPLAIN QUERY PLAN {statement}")]
            assert not any("SCAN" in step or "TEMP" in step for step in plan), (statement, plan)
    assert looked_at > 50
