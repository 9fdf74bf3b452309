"""The command line in this process: what cannot be used, and what is answered."""

import ctypes
import errno
import json
import re
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pollwise.cli import program
from pollwise.cli.answers import print_json
from pollwise.insight.knowledge import read_knowledge
from pollwise.insight.words import moment
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Noise, Observation, Outcome, PageMemory, Version

from .calling import Answer

SITE = "http://a.example"


@pytest.fixture
def db(tmp_path) -> Path:
    """Pages: one that changed, one never polled, one that fails, one that is gone."""
    path = tmp_path / "kept.db"
    with Store.open(path) as store:
        new = [NewPage(f"{SITE}/{name}", "a.example") for name in ("news", "new", "bad", "gone")]
        pages = store.add_pages(new, now=0.0)
        policy = BayesianIndex()
        policy.add(pages)
        store.start_run(1.0, {"budget": "5/hour", "objective": "detection"}, b"")
        for at, outcome in ((10.0, Outcome.CHANGED), (20.0, Outcome.CHANGED)):
            observation = Observation(0, at, outcome)
            policy.observe([observation])
            version = Version(0, at, "text/html", b"%d" % at, f"{at}")
            memory = PageMemory(body_hash=version.body_hash)
            poll = PollResult(observation, memory, version)
            store.commit(Batch(polls=(poll,), learned=policy.state_dict([0])))
        failed = PollResult(Observation(2, 30.0, Outcome.FAILED), PageMemory(), None, "status 500")
        gone = PollResult(Observation(3, 30.0, Outcome.GONE), PageMemory())
        store.commit(Batch(polls=(failed, gone)))
    return path


@pytest.fixture
def known(db) -> Path:
    """The same, and the page that changed did so at 50 more polls."""
    with Store.open(db) as store:
        policy = BayesianIndex()
        policy.add([record.page for record in store.pages()])
        learned = store.load_learned()
        assert learned is not None
        policy.load_state_dict(learned)
        for number in range(50):
            seen = Observation(0, 30.0 + 10.0 * number, Outcome.CHANGED)
            policy.observe([seen])
            poll = PollResult(seen, PageMemory(body_hash=f"{number}"))
            store.commit(Batch(polls=(poll,), learned=policy.state_dict([0])))
    return db


def newer(path: Path) -> None:
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


BUDGETS = ["0/hour", "fast", "-5/hour", "5/fortnight", "nan/day", "inf/day", ""]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("command", [("watch", SITE), ("replay", "trace.csv")])
def test_a_budget_that_is_none(run, tmp_path, command, budget):
    assert_refused(run(*command, f"--budget={budget}"), f"budget {budget!r}", "such as 500/hour")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["watch"], ["nothing to watch", "pollwise.db", "--file"]),
        (["watch", "example"], ["'example'", "http://"]),
        (["watch", SITE, "ftp://a/"], ["'ftp://a/'", "http://"]),
        (["watch", "http://u:p@a.example/"], ["user name or password in the URL of a.example"]),
        (["watch", "--file", "none.txt"], ["none.txt", "name a readable text file"]),
        (["watch", "--file", "."], [".", "name a readable text file"]),
        (["watch", SITE, "--db", "none/x.db"], ["there is no folder", "none: make it"]),
        (
            ["watch", SITE, "--db", "a.db", "--db=b.db"],
            ["--db names 2 databases", "another process"],
        ),
        (["watch", SITE, "--db", "."], ["is a folder: name a database file"]),
        (["watch", SITE, "--objective", "x"], ["--objective", "'x'", "freshness", "watch --help"]),
        (["watch", SITE, "--keep", "3y"], ["keep '3y'", "such as 20", "90d"]),
        (["watch", SITE, "--not-modified-cost", "2"], ["--not-modified-cost", "1"]),
        (["watch", SITE, "--not-modified-cost", "nan"], ["--not-modified-cost", "1"]),
        (["watch", SITE, "--revert-worth", "1.5"], ["--revert-worth", "1"]),
        (["watch", SITE, "--revert-worth", "nan"], ["--revert-worth", "1"]),
        (["watch", SITE, "--first-copies", "fast"], ["first-copies 'fast'", "such as 500/hour"]),
        (["watch", SITE, "--half-life", "-1"], ["--half-life -1: expected hours above 0"]),
        (["watch", SITE, "--half-life", "3"], ["--objective ephemeral, not freshness", "both"]),
        (["watch", SITE, "--verbose", "--log-json"], ["--verbose", "--log json", "one of them"]),
        (["watch", "--quiet", "25:00-26:00"], ["'25:00-26:00'", "22:00-06:30"]),
        (["watch", "--file", "none.txt", "--verbose", "--log-json"], ["one of them"]),
        (["set", "--tag", "x", "--weight", "-1"], ["weight -1: expected a number above 0"]),
        (["plan", "--freshness", "2"], ["freshness 2", "between 0 and 1"]),
        (["watch", SITE, "--speed", "3"], ["--speed", "'pollwise watch --help'"]),
        (["status"], ["pollwise.db does not exist", "start 'pollwise watch'"]),
        (["plan"], ["pollwise.db does not exist", "start 'pollwise watch'"]),
        (["plan", "--plot", "x.pdf"], ["x.pdf", "ends in .png"]),
        (["plan", "--plot", "none/x.png"], ["none/x.png cannot be written"]),
        (["explain"], ["Missing argument 'url'", "'pollwise explain --help'"]),
        (["explain", "no url"], ["'no url'", "http://"]),
        (["explain", SITE], ["pollwise.db does not exist", "start 'pollwise watch'"]),
        (["frobnicate"], ["'frobnicate'", "'pollwise --help'"]),
        (["simulate", "--world", "mars"], ["'mars'", "choose zipf"]),
        (["simulate", "--policy", "x"], ["'x'", "bayes-index"]),
        (["simulate", "--policy", "uniform", "--policy", "x"], ["'x'", "bayes-index"]),
        (["simulate", "--pages", "x"], ["--pages", "'x' is no whole number"]),
        (["simulate", "--alpha", "x"], ["--alpha", "'x' is no number"]),
        (["frontier", "--port", "x"], ["--port", "'x' is no whole number"]),
        (["serve", "--crawl-delay", "3"], ["--crawl-delay", "pollwise watch", "--config"]),
        (["serve", "--speed", "3"], ["--speed", "'pollwise serve --help'"]),
        (["simulate", "--polls", "0"], ["--polls", "1"]),
        (["simulate", "--polls", "9" * 20], ["--polls", "1000000000"]),
        (["simulate", "--pages", "9" * 20], ["--pages", "1000000000"]),
        (["simulate", "--perturbations", "9" * 20], ["--perturbations", "1000000000"]),
        (["simulate", "--world", "graph", "--requests", "9" * 20], ["--requests", "1000000000"]),
        (
            ["simulate", "--world", "graph", "--change-load", "1e30"],
            ["--change-load", "1000000000"],
        ),
        (["unmask", "http://a.example/", "9" * 20], ["number", "1000000"]),
        (["simulate", "--alpha", "3"], ["alpha=3.0"]),
        (["simulate", "--alpha", "nan"], ["alpha=nan"]),
        (["simulate", "--beta", "-1"], ["beta=-1.0"]),
        (["replay"], ["name the file", "--example"]),
        (["replay", "none.csv", "--example"], ["name the file", "--example"]),
        (["replay", "--example", "--weighted"], ["--weighted is not for --example"]),
        (["replay", "none.csv"], ["none.csv", "check the path"]),
        (["replay", "none.csv", "--policy", "x"], ["'x'", "bayes-index"]),
        (["demo", "--seconds", "1"], ["--seconds", "5"]),
        (["demo", "--seconds", "nan"], ["--seconds", "5"]),
        (["demo", "--seconds", "1e400"], ["--seconds", "5"]),
    ],
)
def test_what_cannot_be_used(run, tmp_path, words, parts):
    assert_refused(run(*words), *parts)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [("list", "--db"), ("watch", "--file"), ("check-config",)])
def test_a_message_that_names_a_file_of_two_lines_is_one(run, tmp_path, words):
    answer = run(*words, str(tmp_path / "two\nlines"))
    assert answer.status == 2
    [line] = answer.err.splitlines()
    assert "two\\nlines" in line


def test_a_line_of_a_url_list_that_is_none(run, tmp_path):
    (tmp_path / "urls.txt").write_text(f"{SITE}/a\n{SITE}/b wight=3\n")
    assert_refused(run("watch", "--file", "urls.txt"), "urls.txt, line 2", "'wight=3'", "weight=")
    (tmp_path / "urls.txt").write_bytes(b"\xff\n")
    assert_refused(run("watch", "--file", "urls.txt"), "urls.txt", "save the URL list as UTF-8")
    assert [path.name for path in tmp_path.iterdir()] == ["urls.txt"]


def test_a_trace_without_its_columns(run, tmp_path):
    (tmp_path / "trace.csv").write_text("url,time\nx,1\n")
    assert_refused(run("replay", "trace.csv"), "trace.csv", "page", "changed_at")


@pytest.mark.parametrize("command", [("watch", SITE), ("status",), ("explain", SITE)])
def test_files_that_are_no_database_of_this_version(run, tmp_path, command):
    for name, make, parts in (
        ("text.db", lambda path: path.write_text("my notes, for ever\n" * 99), ["not a database"]),
        ("newer.db", newer, ["format 99", "install a newer pollwise"]),
    ):
        path = tmp_path / name
        make(path)
        before = path.read_bytes()
        assert_refused(run(*command, "--db", name), name, *parts)
        assert path.read_bytes() == before


def test_a_folder_that_cannot_be_written(run):
    # Not even by root.
    assert_refused(run("watch", SITE, "--db", "/sys/pollwise.db"), "/sys/pollwise.db", "folder")


@pytest.mark.parametrize(
    "words",
    [
        ("watch", "http://a.example/", "--db", "closed/x.db"),
        ("collect", "--topic", "a", "--seed", "http://a.example/", "--db", "closed/x.db"),
        ("demo", "--plot", "closed/x.png"),
    ],
)
def test_a_folder_that_may_not_be_entered(run, monkeypatch, words):
    def refused(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", refused)
    monkeypatch.setattr(Path, "is_symlink", refused)
    answer = run(*words)
    assert (answer.status, answer.out) == (2, "")
    assert "closed/x." in answer.err
    assert "cannot be used (Permission denied): check the permissions" in answer.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("add",), "a URL of 99,009 characters, and few servers take more than 8,000: shorten or"),
        (("history",), "was never watched in"),
        (("collect", "--topic", "whales", "--seed"), "URL too long; name another page"),
    ],
)
def test_a_url_that_is_too_long_is_told_by_its_beginning(run, tmp_path, words, why):
    Store.open(tmp_path / "pollwise.db").close()
    answer = run(*words, f"http://h/{'a' * 99_000}")
    assert_refused(answer, why)
    assert "http://h/aaa" in answer.err
    assert len(answer.err) < 500


def test_an_option_before_the_command_is_told_its_place(run):
    told = "--db goes behind the name of a command: pollwise COMMAND --db"
    assert_refused(run("--db", "x.db", "list"), told)
    assert_refused(run("--nonsense"), "No such option: --nonsense; 'pollwise --help' shows")


def test_an_option_of_few_other_commands_names_them(run):
    told = run("watch", SITE, "--select", "main")
    assert_refused(told, "'pollwise add', 'pollwise set' and 'pollwise check' have it")
    assert_refused(run("changes", "--sort", "url"), "; 'pollwise list' has it")
    assert_refused(run("changes", "--budget", "1/day"), "'pollwise changes --help' shows what")


@pytest.mark.parametrize("words", [("import",), ("add", "--file"), ("watch", "--file")])
def test_a_url_is_no_file(run, words):
    assert_refused(run(*words, "https://h/sitemap.xml"), "https://h/sitemap.xml is no file")


def test_an_empty_database_has_nothing_to_watch(run, tmp_path):
    Store.open(tmp_path / "x.db").close()
    assert_refused(run("watch", "--db", "x.db"), "nothing to watch: x.db has no pages")


def test_a_list_without_pages_is_named(run, tmp_path):
    (tmp_path / "none.txt").write_text("# nothing yet\n")
    for command in ("watch", "add"):
        told = run(command, "--file", "none.txt")
        assert_refused(told, "none.txt names no page: write one URL on each line")


def test_a_file_without_a_byte_is_no_database(run, tmp_path):
    (tmp_path / "x.db").touch()
    assert_refused(
        run("status", "--db", "x.db"), "x.db is empty: 'pollwise watch' makes a database"
    )


@pytest.mark.parametrize("command", ["status", "add", "frontier"])
def test_what_is_in_memory_is_no_database(run, tmp_path, command):
    told = run(command, *([SITE] if command == "add" else []), "--db", ":memory:")
    assert_refused(told, ":memory: would be gone with the process: name a file such as pollwise.db")
    assert list(tmp_path.iterdir()) == []


def test_a_frontier_is_a_file(run):
    told = "a frontier needs SQLite, not postgresql://h/d: name a file after --db"
    assert_refused(run("frontier", "--db", "postgresql://h/d"), told)


def test_a_mistyped_command_gets_one_mark(run):
    told = run("wach")
    assert_refused(told, "Did you mean", "? 'pollwise --help' shows what can be given")


def assert_refused(answer: Answer, *parts: str) -> None:
    """One line on stderr, which has these parts, and the status of an input of no use."""
    assert (answer.status, answer.out) == (2, "")
    [line] = answer.err.splitlines()
    assert line.startswith("pollwise: ")
    for part in parts:
        assert part in line


def test_h_asks_for_help_as_well(run):
    names = [one.name or one.callback.__name__ for one in program.app.registered_commands]
    for words in ([], *([name.replace("_", "-")] for name in names)):
        short, long = run(*words, "-h"), run(*words, "--help")
        assert (short, short.status) == (long, 0), words
        assert "Usage: pollwise" in short.out


def test_without_arguments_it_shows_its_commands(run):
    answer = run()
    assert (answer.status, answer.err) == (2, "")
    for command in ("demo", "watch", "status", "explain", "plan", "simulate", "replay"):
        assert f" {command} " in answer.out


def test_status(run, db):
    answer = run("status", "--db", db)
    assert answer.status == 0
    assert "4 (1 failing, 1 gone)" in answer.out
    assert f"{SITE}/news" in answer.out
    assert "status 500" in answer.out
    document = run("status", "--db", db, "--json").document
    assert (document["pages"], document["polls"], document["failing"]) == (4, 4, 1)
    assert (document["budget"], document["objective"]) == ("5/hour", "detection")
    assert document["started_at"] == 1.0
    # The first copy is no change.
    assert document["last_changes"] == [{"url": f"{SITE}/news", "changed_at": 20.0, "changes": 1}]
    assert document["failures"] == [{"url": f"{SITE}/bad", "error": "status 500", "failures": 1}]


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("news", "polled as soon as"),
        ("new", "there is no copy yet"),
        ("bad", "its polls fail"),
        ("gone", "its server says it is gone"),
    ],
)
def test_explain(run, known, page, reason):
    answer = run("explain", f"{SITE}/{page}", "--db", known)
    assert answer.status == 0
    assert reason in " ".join(answer.out.replace("│", " ").split())
    assert ("not known yet" in answer.out) == (page != "news")
    document = run("explain", f"HTTP://A.example:80/{page}", "--db", known, "--json").document
    assert document["url"] == f"{SITE}/{page}"
    assert (document["index"] is None) == (page != "news")
    assert (document["due_at"] is None) == (page in ("bad", "gone"))
    if page == "news":
        low, high = document["changes_per_day_between"]
        assert low < document["changes_per_day"] < high
    else:
        assert document["changes_per_day_between"] is document["changes_per_day"] is None


def test_explain_tells_our_own_shortage_from_what_is_wrong_with_the_page(run, db):
    seen = Observation(2, 40.0, Outcome.POSTPONED)
    with Store.open(db) as store:
        store.commit(Batch(polls=(PollResult(seen, PageMemory(), None, "no connection left"),)))
    answer = run("explain", f"{SITE}/bad", "--db", db)
    shown = " ".join(answer.out.replace("│", " ").split())
    assert "postponed (UTC) 1970-01-01 00:00:40: no connection left" in shown
    assert "failures in a row 1: status 500" in shown
    document = run("explain", f"{SITE}/bad", "--db", db, "--json").document
    assert document["postponed"] == {"at": 40.0, "why": "no connection left"}
    assert (document["error"], document["polled_at"]) == ("status 500", 30.0)
    [failing] = run("status", "--db", db, "--json").document["failures"]
    assert failing["error"] == "status 500"


def test_explain_of_a_page_that_is_not_watched(run, db):
    before = db.read_bytes()
    parts = [f"{SITE}/x is not watched", "kept.db", f"`pollwise add {SITE}/x --db {db}` adds it"]
    assert_refused(run("explain", f"{SITE}/x", "--db", db), *parts)
    assert db.read_bytes() == before


def test_explain_lays_a_stop_by_hand_to_no_answer_of_a_proxy(run, db):
    state = {"rate": 1.0, "now": 40.0, "next_at": None, "hosts": [["a.example", 5.0, 3e9]]}
    state["back_offs"] = []
    seen = Observation(2, 40.0, Outcome.FAILED)
    with Store.open(db) as store:
        poll = PollResult(seen, PageMemory(), None, "the proxy refused a tunnel: status 503")
        store.commit(Batch(polls=(poll,), scheduler=json.dumps(state)))
    document = run("explain", f"{SITE}/news", "--db", db, "--json").document
    assert document["host_free_at"] is not None
    assert document["host_blocked_by"] is None


def test_explain_says_whose_answer_stopped_the_host(run, db):
    state = {"rate": 1.0, "now": 40.0, "next_at": None, "hosts": [["a.example", 5.0, 3e9]]}
    state["back_offs"] = []
    seen = Observation(2, 40.0, Outcome.FAILED)
    with Store.open(db) as store:
        poll = PollResult(seen, PageMemory(), None, "status 503")
        store.commit(Batch(polls=(poll,), scheduler=json.dumps(state)))
    document = run("explain", f"{SITE}/news", "--db", db, "--json").document
    assert document["host_blocked_by"] == {"url": f"{SITE}/bad", "error": "status 503"}
    shown = " ".join(run("explain", f"{SITE}/news", "--db", db).out.replace("│", " ").split())
    assert f"as it asked for that at {SITE}/bad: status 503" in shown


def test_what_holds_a_page_back(run, db):
    back_off = [[2, 30.0, 3, None, None, 1.0, False, []], 30.0, 60.0, 4e9]
    state = {"rate": 1.0, "next_at": None, "hosts": [["a.example", 5.0, 3e9]]}
    with Store.open(db) as store:
        store.commit(Batch(scheduler=json.dumps(state | {"back_offs": [back_off]})))
    document = run("explain", f"{SITE}/bad", "--db", db, "--json").document
    assert (document["rests_until"], document["host_free_at"]) == (4e9, 3e9)
    assert document["next_poll_at"] == 4e9
    answer = run("explain", f"{SITE}/bad", "--db", db)
    assert "it rests until 2096-10-02 07:06:40" in " ".join(answer.out.replace("│", " ").split())
    document = run("explain", f"{SITE}/news", "--db", db, "--json").document
    assert (document["rests_until"], document["next_poll_at"]) == (None, 3e9)
    answer = run("explain", f"{SITE}/news", "--db", db)
    assert "its host is left alone until" in " ".join(answer.out.replace("│", " ").split())


def test_in_quiet_hours_the_next_poll_is_at_their_end(run, known):
    for command in (["status"], ["explain", f"{SITE}/news"]):
        assert run(*command, "--db", known, "--json").document["quiet_until"] is None
    with Store.open(known) as store:
        store.change_settings({"quiet": ["00:00-12:00", "12:00-00:00"]})
    end = run("status", "--db", known, "--json").document["quiet_until"]
    assert end > time.time()
    page = run("explain", f"{SITE}/news", "--db", known, "--json").document
    assert page["next_poll_at"] == page["quiet_until"] == end
    told = " ".join(run("explain", f"{SITE}/news", "--db", known).out.replace("│", " ").split())
    assert "when the budget allows" not in told
    assert f"no poll begins until {moment(end)[:10]}" in told
    assert "quiet hours" in run("status", "--db", known).out


def test_explain_and_plan_tell_the_bounds(run, known):
    with Store.open(known) as store:
        bounded = NewPage(
            f"{SITE}/news", "a.example", longest_interval=7200.0, shortest_interval=60.0
        )
        store.add_pages([bounded], now=50.0)
        store.save_masks(0, PageMemory(noise=Noise(changes_in_a_row=15)))
    document = run("explain", f"{SITE}/news", "--db", known, "--json").document
    assert (document["changes_in_row"], document["slowed"]) == (15, False)
    assert document["demanded"] is True
    assert document["earliest_poll_at"] is None
    assert document["due_at"] <= document["latest_poll_at"]
    plan = run("plan", "--db", known, "--json").document
    assert plan["bounds"]["at_least_per_day"] == pytest.approx(12.0)
    assert plan["bounds"]["share"] == pytest.approx(12.0 / 120.0)
    assert plan["bounds"]["slowed"] == 0
    shown = " ".join(run("plan", "--db", known).out.split())
    assert "At-least bounds take 12 a day, 10% of the budget." in shown


def test_no_page_is_due_years_ahead(run, known):
    for page in ("news", "new", "bad", "gone"):
        document = run("explain", f"{SITE}/{page}", "--db", known, "--json").document
        due = document["due_at"]
        assert due is None or due <= time.time() + 30 * 86_400
    bounds = run("plan", "--db", known, "--json").document["bounds"]
    assert (bounds["at_least_per_day"], bounds["slowed"]) == (0.0, 0)
    assert "bounds" not in run("plan", "--db", known).out


def test_explain_tells_its_sources(run, known):
    document = run("explain", f"{SITE}/news", "--db", known, "--json").document
    learned = document["learned_from"]
    assert (learned["polls"], learned["polls_needed"], learned["dates"]) == (51, 7, 0)
    assert 0 < learned["own_share"] < 1
    assert 0 < document["chance"] <= 1
    unknown = run("explain", f"{SITE}/new", "--db", known, "--json").document
    assert unknown["learned_from"]["own_share"] == pytest.approx(0, abs=1e-6)
    assert unknown["chance"] is None
    # One page that was polled often says little of others.
    assert unknown["learned_from"]["prior_changes_per_day"] is None


class TestPlan:
    def test_nothing_is_told_of_a_few_polls(self, run, db):
        document = run("plan", "--db", db, "--json").document
        assert document["results"] is None
        assert document["evidence"] == {"polls": 1, "needed": 40}
        answer = run("plan", "--db", db)
        assert answer.status == 0
        assert "not known yet (1 poll that told something; about 40 needed)" in answer.out
        for options in (
            {"--freshness": 0.5},
            {"--plot": "plan.png"},
            {"--freshness": 0.5, "--plot": "plan.png"},
        ):
            words = [word for option in options.items() for word in option]
            given = " and ".join(options)
            why = f"kept.db: too little is known yet for {given} (1 poll told something, about 40"
            assert_refused(run("plan", "--db", db, *words), why)

    def test_few_polls_make_wide_intervals(self, db):
        with Store.open(db) as store:
            store.forget_learned()
        told = read_knowledge(db)
        generator = np.random.default_rng(1)
        found = told.forecaster.forecast(told.rate, 7 * 86_400.0, generator=generator).found_per_day
        assert found.low < 0.5 * found.mean < 1.2 * found.mean < found.high

    def test_budgets_side_by_side(self, run, known):
        document = run("plan", "--db", known, "--json").document
        assert [row["factor"] for row in document["results"]] == [0.25, 0.5, 1, 2, 4]
        now = document["results"][2]
        assert now["budget_per_day"] == pytest.approx(120)
        found = now["found_per_day"]
        assert 0 < found["low"] <= found["mean"] <= found["high"]
        answer = run("plan", "--db", known)
        assert answer.status == 0
        assert "× 0.25" in answer.out

    def test_the_budget_for_a_freshness(self, run, known):
        document = run("plan", "--db", known, "--freshness", 0.2, "--json").document
        assert document["wanted"]["freshness"]["mean"] == pytest.approx(0.2, abs=1e-3)
        assert document["wanted_freshness"] == 0.2
        assert "for 0.2" in run("plan", "--db", known, "--freshness", 0.2).out
        answer = run("plan", "--db", known, "--freshness", 0.5)
        assert_refused(answer, "with all polls that their hosts take", "it is 0.")

    def test_a_figure(self, run, known, tmp_path):
        assert run("plan", "--db", known, "--plot", "plan.png").status == 0
        assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.parametrize("freshness", ["1", "0", "-1", "nan", "2"])
    def test_a_freshness_that_is_none(self, run, known, freshness):
        answer = run("plan", "--db", known, f"--freshness={freshness}")
        assert_refused(answer, "freshness", "between 0 and 1")

    def test_a_freshness_out_of_reach(self, run, known):
        answer = run("plan", "--db", known, "--freshness", 0.999999)
        assert_refused(
            answer,
            "no budget makes these pages 0.999999 fresh",
            "every 0.016 s at most",
            "ask for less",
        )

    def test_a_database_without_pages(self, run, tmp_path):
        Store.open(tmp_path / "empty.db").close()
        assert_refused(
            run("plan", "--db", "empty.db"),
            "empty.db has no pages",
            "pollwise add URL --db empty.db",
        )
        assert run("status", "--db", "empty.db", "--json").document["forecast"] is None

    def test_pages_that_were_never_watched(self, run, tmp_path):
        with Store.open(tmp_path / "new.db") as store:
            store.add_pages([NewPage(SITE)], now=0.0)
        assert_refused(
            run("plan", "--db", "new.db"),
            "new.db was never watched",
            "`pollwise watch --db new.db` begins",
        )


def test_status_forecasts(run, known):
    forecast = run("status", "--db", known, "--json").document["forecast"]
    assert forecast.keys() == {"day", "week"}
    for figures in forecast.values():
        assert figures.keys() == {"found_per_day", "freshness", "delay_days"}
        for interval in figures.values():
            assert 0 <= interval["low"] <= interval["high"]


def test_simulate_and_replay_answer_with_an_entry_for_each_policy(run, tmp_path):
    words = ("--policy", "bayes-index", "--policy", "uniform")
    answer = run("simulate", "--pages", 20, "--polls", 50, "--seeds", 2, *words, "--json")
    assert [row["policy"] for row in answer.document["results"]] == ["bayes-index", "uniform"]
    assert answer.document["results"][0]["polls"] == 50
    assert "bayes-index, seed 1 of 2" in answer.err
    times = [day * 86_400 for day in range(30)]
    (tmp_path / "trace.csv").write_text(
        "page,changed_at\n" + "".join(f"{page},{time}\n" for page in "ab" for time in times)
    )
    answer = run("replay", "trace.csv", "--budget", "1/day/page", *words, "--json")
    assert [row["policy"] for row in answer.document["results"]] == ["bayes-index", "uniform"]
    answer = run("replay", "trace.csv", "--budget", "1/day/page", *words)
    assert "changes seen" in answer.out
    assert answer.status == 0


def test_figures_that_json_does_not_know_are_null(capsys):
    nan = float("nan")
    print_json({"results": [{"delay": nan, "low": -float("inf"), "polls": 3}], "x": 0.5})
    assert json.loads(capsys.readouterr().out) == {
        "results": [{"delay": None, "low": None, "polls": 3}],
        "x": 0.5,
    }


class TestEphemeral:
    def test_a_half_life_makes_the_objective(self, run):
        answer = run(
            "simulate", "--pages", "5", "--polls", "50", "--objective", "ephemeral",
            "--half-life", "0.01", "--json",
        )  # fmt: skip
        assert answer.status == 0
        assert answer.document["results"][0]["policy"] == "bayes-index"

    @pytest.mark.parametrize(
        "words",
        [
            ["--objective", "ephemeral"],
            ["--objective", "ephemeral", "--half-life", "0"],
            ["--objective", "freshness", "--half-life", "3"],
        ],
    )
    def test_it_belongs_to_ephemeral_and_only_there(self, run, words):
        answer = run("simulate", "--polls", "10", *words)
        assert answer.status == 2
        assert answer.err.count("\n") == 1
        assert "--half-life" in answer.err


class TestReproduce:
    def test_without_a_name_all_are_listed(self, run):
        names = [entry["name"] for entry in run("reproduce", "--json").document["results"]]
        assert names == [
            *(f"lakg-figure-{n}" for n in range(2, 7)),
            *(f"htraa-figure-{n}" for n in range(5, 13)),
            *(f"gpoks-table-8.{n}" for n in range(1, 12)),
            *(f"gpoks-appendix-table-{n}" for n in (1, 2)),
            "ephemeral-table-1",
            *(f"ephemeral-figure-{n}" for n in range(1, 5)),
            *(f"robot-figure-{n}" for n in range(3, 6)),
        ]
        answer = run("reproduce")
        lines = answer.out.splitlines()
        assert answer.status == 0
        assert [line.split()[0] for line in lines[::2]] == names
        assert all(re.match(r"    [0-9,]+ trials?, ", line) for line in lines[1::2])

    def test_a_table(self, run, tmp_path):
        answer = run("reproduce", "gpoks-table-8.10", "--trials", 2, "--json")
        assert answer.status == 0
        document = answer.document
        assert document["trials"] == 2
        cells = {(row["row"], row["column"]): row for row in document["results"]}
        lakg = cells["lakg", "0.3/1.0 t=1000"]
        assert lakg["published"] == 571.8
        assert lakg["printed"] == {
            "text": "571.8", "item": "table 8.10", "row": "LA:LAKG 0.3/1.0", "column": "t=1000",
            "line": 1160,
        }  # fmt: skip
        assert cells["optimal", "0.3/1.0 t=1000"]["value"] == pytest.approx(592.5, abs=0.1)
        assert {"bayes-index", "gpoks", "gpoks-mono", "htraa"} <= {row for row, _ in cells}
        assert Path(document["figure"]).name == "gpoks-table-8.10.png"
        assert (tmp_path / "gpoks-table-8.10.png").exists()
        assert "trials" in answer.err

    def test_for_people(self, run, tmp_path):
        answer = run("reproduce", "gpoks-table-8.3", "--trials", 2, "--no-figure")
        assert answer.status == 0
        assert "[6.29]" in answer.out
        assert "“having the lowest variance” (line 1035 of the paper's text)" in answer.out
        assert "numbers within 2.5 % or two standard errors" in answer.out
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["lakg-figure-1"], "no such experiment: 'lakg-figure-1'; choose one of lakg-figure-2"),
            (["lakg-figure-2", "--trials", 0], "'--trials'"),
            (
                ["lakg-figure-2", "--figures", "nowhere"],
                "nowhere/lakg-figure-2.png cannot be written",
            ),
            (["lakg-figure-2", "--all"], "--all runs every item"),
            (["--all", "--no-figure"], "--all runs every item"),
            (["--trials", 5], "name an item, or give --all"),
        ],
    )
    def test_what_cannot_be_done(self, run, words, message):
        answer = run("reproduce", *words)
        assert answer.status == 2
        assert answer.out == ""
        assert message in answer.err
        assert answer.err.count("\n") == 1


class TestPolicyOptions:
    def test_the_abstract_knapsack(self, run):
        answer = run(
            *("simulate", "--world", "knapsack", "--pages", 8, "--alpha", 0.3, "--beta", 1),
            *("--noise", 0.1, "--polls", 1000, "--policy", "lakg:resolution=100", "--json"),
        )
        [result] = answer.document["results"]
        assert result["policy"] == "lakg:resolution=100"
        assert 0.5 < result["found_per_poll"] < 0.6

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--policy", "lakg:resolution=1"], "resolution=1"),
            (["--policy", "lakg:exponent=-1"], "exponent=-1"),
            (["--policy", "lakg:capacity=501"], "capacity=501"),
            (["--policy", "htraa:resolution=2.5"], "resolution=2.5"),
            (["--policy", "lakg:size=3"], "lakg has no option 'size'"),
            (["--policy", "ucb1"], "page 2 is a third one"),
            (["--noise", "0.1"], "noise=0.1 is for the world knapsack"),
            (["--world", "knapsack", "--noise", "-1"], "noise=-1.0 must be"),
            (["--world", "knapsack", "--alpha", "1.5"], "alpha=1.5 must be between 0 and 1"),
            (["--world", "knapsack", "--policy", "whittle"], "true change rates"),
        ],
    )
    def test_what_cannot_be(self, run, words, message):
        answer = run("simulate", "--polls", 10, *words)
        assert answer.status == 2
        assert answer.out == ""
        assert message in answer.err.splitlines()[-1]


class TestCtrlC:
    """An interrupt that falls into a callback of C goes no further."""

    def _called_by_c(self, error: type[BaseException]) -> None:
        def callback() -> None:
            raise error

        ctypes.CFUNCTYPE(None)(callback)()

    @pytest.fixture
    def start(self, monkeypatch):
        def start(called: Callable[[], None]) -> Any:
            monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
            monkeypatch.setattr(sys, "argv", ["pollwise"])
            monkeypatch.setattr(program, "app", lambda **_: called())
            with pytest.raises(SystemExit) as ended:
                program.run()
            return ended.value.code

        return start

    def test_what_fails_for_it_is_no_error_of_ours(self, start, capfd):
        def called() -> None:
            self._called_by_c(KeyboardInterrupt)
            raise RuntimeError("no compiled object yet")

        assert start(called) == 130
        assert capfd.readouterr() == ("", "")

    def test_other_errors_are_told(self, start, capfd):
        def called() -> None:
            self._called_by_c(ValueError)

        assert start(called) == 0
        assert "ValueError" in capfd.readouterr().err
