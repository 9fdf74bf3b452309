"""`changes`, `history`, `diff` and `notify` as they are called."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pollwise.cli.notices import targets_told
from pollwise.errors import InputError
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version

URL = "http://a.example/"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "pollwise.db") as store:
        store.add_pages([NewPage(URL)], now=0.0)
        for at in (10.0, 20.0):
            version = Version(0, at, "text/html", b"<p>Number %d" % at, f"{at}")
            seen = Observation(0, at, Outcome.CHANGED)
            store.commit(Batch(polls=(PollResult(seen, PageMemory(), version),)))
    return tmp_path / "pollwise.db"


@pytest.mark.usefixtures("db")
def test_the_three_answers(run):
    told = run("changes", "--since", "1970-01-01")
    assert told.out.splitlines()[1:] == ["  - Number 10", "  + Number 20"]
    assert "first copy" in run("history", URL).out
    assert run("diff", URL).out.splitlines()[-2:] == ["-Number 10", "+Number 20"]
    assert run("diff", URL, 2, 1).out.splitlines()[-2:] == ["-Number 20", "+Number 10"]


@pytest.mark.usefixtures("db")
def test_what_was_listed_is_marked_as_read(run):
    first = run("changes", "--unread", "--mark-read")
    assert first.out.splitlines()[1:] == ["  - Number 10", "  + Number 20"]
    assert "1 change marked as read" in first.err
    assert run("changes", "--unread").out == ""
    [change] = json.loads(run("changes", "--since", "1970-01-01", "--json").out)["changes"]
    assert change["read"] is True
    again = run("changes", "--since", "1970-01-01", "--mark-read")
    assert "marked" not in again.err


@pytest.mark.usefixtures("db")
def test_changes_of_one_page_are_listed_and_marked(run):
    assert run("changes", URL).out == run("changes", "--since", "1970-01-01").out != ""
    assert run("changes", URL, "--unread", "--mark-read").err.endswith("1 change marked as read\n")
    assert run("changes", URL, "--unread").err == "no unread changes\n"
    assert "http://c.example/ was never watched in" in run("changes", "http://c.example/").err


@pytest.mark.usefixtures("db")
def test_they_are_documents_too(run):
    [change] = json.loads(run("changes", "--since", "1970-01-01", "--json").out)["changes"]
    feed = ElementTree.fromstring(run("changes", "--since", "1970-01-01", "--atom").out)
    assert feed[-1][0].text == change["id"]
    assert len(json.loads(run("history", URL, "--json").out)["entries"]) == 2
    assert json.loads(run("diff", URL, "--json").out)["hunks"][0]["blocks"][0]["kind"] == "changed"


@pytest.mark.usefixtures("db")
def test_a_version_is_not_compared_with_itself_in_silence(run):
    status, out, err = run("diff", URL, 1, 1)
    assert (status, out.count("version 1"), err) == (0, 2, "both are version 1\n")


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("changes", "--json", "--atom"), "--json and --atom are two formats: give one of them"),
        (("changes", "--since", "2999-01-01"), "--since 2999-01-01 is in the future (UTC): give"),
        (("changes", "--since", "often"), "since 'often': expected an age such as 30m"),
        (("changes", "--since", ""), "since '': expected an age such as 30m"),
        (("changes", "--since", "", "--unread"), "since '': expected an age such as 30m"),
        (("changes", "--db", "none.db"), "none.db does not exist"),
        (("history", "http://b.example/"), "http://b.example/ was never watched in pollwise.db"),
        (("history", "nothing"), "not a URL: 'nothing'"),
        (("diff", URL, 3), "has no version 3: the kept ones are 1 to 2"),
        (("diff", URL, "x"), "Invalid value for '[A]': 'x' is no whole number"),
        (("notify", "nobody"), "--notify: this is no receiver; give https://"),
        (("notify", "env:NOT_SET_HERE"), "the environment variable NOT_SET_HERE is not set"),
        (
            ("notify", "http://127.0.0.1:9/"),
            "the notice to http://127.0.0.1 #0aaac992 did not arrive",
        ),
        (("watch", URL, "--notify", "x://hidden"), "--notify x://...: it may hold a secret"),
        (("watch", URL, "--notify", "exec:"), "there is no such program"),
    ],
)
def test_what_cannot_be_used_is_one_line(run, words, message):
    answer = run(*words)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_a_receiver_can_be_tried(run, tmp_path):
    (tmp_path / "take.py").write_text("import sys; open('got', 'w').write(sys.stdin.read())")
    answer = run("notify", f"exec:{sys.executable} take.py")
    assert answer.status == 0
    assert answer.err.startswith("pollwise: a notice was sent to exec:")
    assert json.loads((tmp_path / "got").read_text())["changes"][0]["added"] == "what came"


def test_targets_are_stored_once_and_an_empty_one_is_nobody():
    hook = "https://a.example/"
    assert targets_told(None) is None
    assert targets_told([]) is None
    assert targets_told([""]) == ()
    assert targets_told([hook, hook]) == (hook,)
    with pytest.raises(InputError, match="is no receiver"):
        targets_told(["nobody"])


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("command", ["changes", "list", "pause"])
def test_a_tag_that_no_page_has_is_refused(run, command):
    told = run(command, "--tag", "nosuch")
    assert told.status == 2
    assert "has the tag 'nosuch': `pollwise list` shows the tags" in told.err


@pytest.mark.usefixtures("db")
def test_that_nothing_is_unread_is_said_without_a_time(run):
    run("changes", "--unread", "--mark-read")
    assert run("changes", "--unread").err == "no unread changes\n"
    assert run("changes", "--unread", "--since", "1h").err.startswith("no unread changes since 2")
