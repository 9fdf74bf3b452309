"""What users want of pages, as it is told on the command line."""

import json

import pytest

from pollwise.relevance.topic import topic
from pollwise.settings import CollectSettings
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.store.sqlite import file_format
from pollwise.store.sqlite.queries import migrations
from pollwise.types import Observation, Outcome, PageMemory, Version

A, B = "http://a.example/", "http://b.example/"


@pytest.fixture
def db(tmp_path):
    """A page that has a title and has changed, and one that was never seen."""
    path = tmp_path / "pollwise.db"
    with Store.open(path) as store:
        store.add_pages([NewPage(A, "a.example", tags=("x",)), NewPage(B, "b.example")], now=0.0)
        for at in (10.0, 20.0):
            version = Version(0, at, "text/html", b"<title>Home</title><p>%d" % at, f"{at}")
            seen = Observation(0, at, Outcome.CHANGED)
            poll = PollResult(seen, PageMemory(), version, title="Home")
            store.commit(Batch(polls=(poll,)))
    return path


@pytest.mark.usefixtures("db")
def test_a_name_goes_before_the_title_until_it_is_taken_back(run):
    def shown() -> tuple[str, str]:
        [page] = json.loads(run("list", "--filter", "a.example", "--json").out)["results"]
        changes = run("changes", "--since", "1970-01-01", "--json").out
        [change] = json.loads(changes)["changes"]
        assert (page["title"], change["title"]) == ("Home", "Home")
        assert page["name"] == change["name"]
        return page["name"], run("changes", "--since", "1970-01-01").out.splitlines()[0]

    assert shown() == ("", f"1970-01-01 00:00:20  {A}  Home  (changed in the 10 s before)")
    assert run("set", A, "--name", " Town hall ").err == f"pollwise: set: {A}\n"
    assert shown() == (
        "Town hall",
        f"1970-01-01 00:00:20  {A}  Town hall  (changed in the 10 s before)",
    )
    told = run("list", "--filter", "town").out
    assert "Town hall" in told
    assert "Home" not in told
    run("set", A, "--name", "")
    assert shown()[0] == ""


def test_a_new_page_may_have_a_name(run):
    run("add", A, A, "--name", "Town hall")
    assert "Town hall" in run("list").out


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pause", A, "--tag", "x"), "URLs and --tag x both say which pages: give one of them"),
        (
            ("set", A, "--tag", "x"),
            "give an option, such as --tags to change tags, as --tag chooses",
        ),
        (("set", "--tag", "x"), "give an option, such as --weight 2"),
        (("pause",), "which pages? Name their URLs, or a tag that they share with --tag, or take"),
        (("remove",), "which pages? Name their URLs, or a tag that they share with --tag\n"),
        (("pause", A, "--all"), "--all says all pages: leave out URLs and --tag"),
        (("set", "--tag", "x", "--all", "--weight", 2), "--all says all pages: leave out URLs"),
        (("set", "--all", "--name", "x"), "a name is for one page, and these are 2"),
    ],
)
def test_pages_are_named_in_one_way(run, words, message):
    status, out, err = run(*words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.usefixtures("db")
def test_all_pages_are_changed_at_once(run, tmp_path):
    for words in (("set", "--all", "--ignore", ".banner"), ("pause", "--all")):
        assert run(*words).status == 0
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        pages = [record.page for record in store.pages()]
    assert [(page.ignore, page.paused) for page in pages] == [((".banner",), True)] * 2
    assert json.loads(run("resume", "--all", "--json").out)["changed"] == [A, B]


def test_of_no_pages_all_are_refused(run, tmp_path):
    with Store.open(tmp_path / "pollwise.db"):
        pass
    assert "pollwise.db has no pages: `pollwise add URL` adds some" in run("pause", "--all").err


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("set", A, B, "--name", "x"), "a name is for one page, and these are 2"),
        (("add", A, B, "--name", "x"), "a name is for one page, and these are 2"),
        (("set", A, "--name", "a\nb"), r"name 'a\nb': expected one line of text of at most 200"),
    ],
)
def test_names_that_cannot_be(run, words, message):
    status, out, err = run(*words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_what_is_told_with_a_list_holds_for_its_pages_but_for_what_their_lines_say(run, tmp_path):
    (tmp_path / "list.txt").write_text(f'{A} tags=news select="main p"\n{B}\n')
    told = ("--weight", 5, "--tags", "shop", "--select", "main", "--ignore", "nav", "--render")
    told += ("--at-least", "1/day", "--at-most", "1/hour", "--cost", 2)
    told += ("--notify-when", "below 20", "--notify-when", "has  sold out")
    assert run("add", "--file", "list.txt", *told).status == 0
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        first, second = (record.page for record in store.pages())
    assert (first.tags, first.select) == (("news",), ("main p",))
    assert (second.tags, second.select) == (("shop",), ("main",))
    for page in (first, second):
        assert (page.weight, page.cost, page.ignore, page.render) == (5.0, 2.0, ("nav",), True)
        assert (page.longest_interval, page.shortest_interval) == (86400.0, 3600.0)
        assert page.notify_when == ("below 20", "has sold out")


def test_conditions_of_notices_are_set_and_taken_back(run, tmp_path):
    assert run("add", A).status == 0
    assert run("set", A, "--notify-when", "below 20").status == 0
    [page] = json.loads(run("list", "--json").out)["results"]
    assert page["notify_when"] == ["below 20"]
    status, out, err = run("set", A, "--notify-when", "below 1.299")
    assert (status, out) == (2, "")
    assert err == (
        "pollwise: notify-when 'below 1.299': write 1299 or 1.2990, as it may be either\n"
    )
    assert run("set", A, "--notify-when", "").status == 0
    [page] = json.loads(run("list", "--json").out)["results"]
    assert page["notify_when"] == []


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (("--weight", 0), "weight 0: expected a number above 0"),
        (("--name", "x"), "a name is for one page, and these are 2"),
        (("--at-least", "2/day"), f"of {B}, at-least asks for more polls than at-most allows"),
    ],
)
def test_what_cannot_be_told_with_a_list(run, tmp_path, told, message):
    (tmp_path / "list.txt").write_text(f"{A}\n{B} at-most=1/day\n")
    status, out, err = run("add", "--file", "list.txt", *told)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not (tmp_path / "pollwise.db").exists()


def test_the_budget_of_a_collection_is_told(run, tmp_path):
    path = tmp_path / "whales.db"
    settings = CollectSettings(topic=topic("whales"), budget="7/second")
    with Store.open(path) as store:
        store.start_run(0.0, settings.recorded(), None)
    assert run("budget", "--db", str(path)).out == "7/second\n"
    told = json.loads(run("budget", "--db", str(path), "--json").out)
    assert (told["collection"], told["budget"], told["shares"]) == (True, "7/second", [])


@pytest.mark.usefixtures("db")
def test_the_budget_as_a_document(run):
    told = json.loads(run("budget", "7/hour", "--share", "x=30%", "--json").out)
    assert (told["budget"], told["shares"]) == ("7/hour", ["x=30%"])
    assert json.loads(run("budget", "--json").out) == told


@pytest.mark.usefixtures("db")
def test_the_name_of_a_page_is_explained(run):
    run("budget", "1/hour")
    assert "name" not in run("explain", A).out
    run("set", A, "--name", "Town hall")
    assert "Town hall" in run("explain", A).out
    assert json.loads(run("explain", A, "--json").out)["name"] == "Town hall"


def test_a_database_of_an_earlier_version_is_converted_to_remove_a_page(run, db, monkeypatch):
    later = [*migrations(), "CREATE TABLE more (a);"]
    monkeypatch.setattr(file_format, "migrations", lambda: later)
    assert f"removed: {A}" in run("remove", A).err
    with Store.open_readonly(db) as store:
        assert [record.page.url for record in store.pages()] == [B]
