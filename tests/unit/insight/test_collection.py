"""What status and explain say of a collection, and how it is shown."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from pollwise.cli.program import app
from pollwise.collecting.stored_filter import FILTER_STATE, pack_filter_state
from pollwise.collecting.stored_links import NEXT_LINKS, pack_links
from pollwise.errors import InputError, StoreError
from pollwise.insight.collection import (
    explain_collected,
    holds_collection,
    summarise_collection,
)
from pollwise.insight.documents import document
from pollwise.insight.status import read_status
from pollwise.relevance.parsed_text import parse_text
from pollwise.relevance.topic import topic
from pollwise.relevance.topic_filter import TopicFilter
from pollwise.settings import CollectSettings, latest_settings
from pollwise.store import Store
from pollwise.store.records import (
    Batch,
    Collected,
    Discoveries,
    Discovery,
    NewPage,
    PollResult,
)
from pollwise.types import LikelyLink, Links, Observation, Outcome, Page, PageMemory

SETTINGS = {
    "budget": "2/second",
    "subject": "the whales",
    "topic": {"words": ["whale"], "examples": [], "judge": None},
}


def polled(page_id, outcome=Outcome.CHANGED):
    return PollResult(Observation(page_id, 5.0, outcome), PageMemory())


@pytest.fixture
def db(tmp_path):
    path = tmp_path / "c.db"
    with Store.open(path) as store:
        store.add_pages([NewPage("http://sea.example/", "sea.example")], now=1.0)
        store.start_run(2.0, SETTINGS, None)
        urls = ["whales", "copy", "gone", "later"]
        found = [
            Discovery(Page(n, f"http://sea.example/{name}", "sea.example"), 3.0, 1)
            for n, name in enumerate(urls, 1)
        ]
        # Page 1 was followed since this was told.
        links_told = [LikelyLink(1, 0.5, "all"), LikelyLink(4, 0.25, "later")]
        links = Links(np.array([1, 2, 4]), ("all whales", "", "later"))
        store.commit(
            Batch(
                states={NEXT_LINKS: pack_links(links_told)},
                polls=(polled(0), polled(1), polled(2), polled(3, Outcome.GONE)),
                discovered=(
                    Discoveries(tuple(found), Collected(0, 0.0, "Sea", "the sea"), links),
                    Discoveries(collected=Collected(1, 0.75, "Whales", "the whales")),
                    Discoveries(
                        collected=Collected(2, 0.0, "Whales", "the whales", duplicate_of=1)
                    ),
                ),
            )
        )
    return path


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def test_status_tells_what_is_in_the_collection(db):
    assert holds_collection(db)
    report = document(read_status(db))
    assert report["collection"] == {
        "topic": "the whales",
        "documents": 3,
        "relevant": 1,
        "relevance": 0.75,
        "copies": 1,
        "fringe": 1,
        "left_out": 0,
        "gone": 1,
        "hosts": 1,
        "hosts_that_take": 1,
        "hosts_take": 1.0,
        "allowed": 2.0,
        "best": [{"relevance": 0.75, "title": "Whales", "url": "http://sea.example/whales"}],
        "newest": [],
        "sites": [{"host": "sea.example", "documents": 3, "relevant": 1}],
        "terms": ["whale"],
        "next_links": [{"value": 0.25, "anchor": "later", "url": "http://sea.example/later"}],
    }
    assert report["forecast"] is None
    shown = run("status", "--db", db).stdout
    assert "the whales" in shown
    assert "3 of 1 host, 1 relevant (sum 0.8), 1 copy" in shown
    assert "1 host takes 1 request a second of the 2" in shown
    assert "left out" not in shown
    assert "objective" not in shown
    assert json.loads(run("status", "--db", db, "--json").stdout)["collection"]["fringe"] == 1


def test_status_names_ten_of_the_links_that_are_kept(db):
    with Store.open(db) as store:
        urls = [f"http://sea.example/{n}" for n in range(12)]
        store.add_pages([NewPage(url, "sea.example") for url in urls], now=1.0)
        ids = [r.page.id for r in store.pages() if r.page.url in urls]
        told = [LikelyLink(page_id, 0.5 - 0.01 * n, "") for n, page_id in enumerate([1, *ids])]
        store.commit(Batch(states={NEXT_LINKS: pack_links(told)}))
    status = read_status(db).collection
    assert status is not None
    assert [link.url for link in status.next_links] == urls[:10]
    assert explain_collected(db, urls[11]).value == told[12].value


def test_a_watch_list_is_no_collection(tmp_path):
    path = tmp_path / "w.db"
    with Store.open(path) as store:
        store.add_pages([NewPage("http://sea.example/", "sea.example")], now=1.0)
    assert not holds_collection(path)
    assert read_status(path).collection is None


def test_explain_tells_where_a_page_was_found(db):
    report = document(explain_collected(db, "http://sea.example/whales"))
    assert report["relevance"] == 0.75
    assert report["linked_from"] == [
        {"url": "http://sea.example/", "relevance": 0.0, "anchor": "all whales"}
    ]
    shown = run("explain", "http://sea.example/copy", "--db", db).stdout
    assert "http://sea.example/whales" in shown
    later = run("explain", "http://sea.example/later", "--db", db).stdout
    assert "not read yet" in later
    assert "0.25, of a request" in later
    assert "why it is in the fringe: its links are among those" in " ".join(
        later.replace("│", " ").split()
    )
    assert "it is looked at again when that is worth more" in " ".join(
        shown.replace("│", " ").split()
    )
    assert explain_collected(db, "http://sea.example/later").value == 0.25
    followed = explain_collected(db, "http://sea.example/whales")
    assert followed.value is None
    assert "of a request" not in shown


def one_line(shown):
    return " ".join(shown.replace("│", " ").split())


def test_explain_tells_what_a_text_has_of_the_topic(db):
    learned = TopicFilter(topic("whale"))
    texts = ["The whales and the krill of the sea", "The ships of the ports and of the sea", ""]
    parsed = [parse_text([text]) for text in texts]
    for page in parsed:
        learned.observe("sea.example", page)
    packed = [b"\0" + bytes(8) + learned.pack("sea.example", page) for page in parsed]
    with Store.open(db) as store:
        store.commit(
            Batch(
                states={FILTER_STATE: pack_filter_state(learned.state_dict())},
                discovered=tuple(
                    Discoveries(collected=Collected(n, 0.0, "", text, terms, indexed=n != 1))
                    for n, (text, terms) in enumerate(zip(texts, packed, strict=True))
                ),
            )
        )
    about, other, empty = (
        explain_collected(db, f"http://sea.example/{path}") for path in ("", "whales", "copy")
    )
    assert [term.term for term in about.text.terms] == ["whale"]
    assert about.text.terms[0].share == 1.0
    assert (about.text.language, about.text.words, about.indexed) == ("en", 3, True)
    assert about.text.nearness > about.text.floor > 0
    assert (other.text.nearness, other.text.terms, other.indexed) == (0.0, (), False)
    assert (empty.text.words, empty.text.language) == (0, None)
    shown = [
        one_line(run("explain", page.url, "--db", db).stdout) for page in (about, other, empty)
    ]
    assert "above the floor of" in shown[0]
    assert "for pages in English; of that whale 100 %" in shown[0]
    assert "none of the main terms is among its 3 words in English" in shown[1]
    assert "a search does not find it" in shown[1]
    assert "it has no text that is read" in shown[2]
    later = explain_collected(db, "http://sea.example/later")
    assert (later.text, later.indexed) == (None, None)


def test_explain_tells_why_a_url_is_not_known(db):
    for url, why in (
        ("http://sea.example/whale.png", "links to it are left aside (file type without text)"),
        ("http://sea.example/a/a/a/a/a/a", "links to it are left aside (endless path)"),
        ("http://sea.example/nowhere", "or each asks by nofollow not to follow"),
    ):
        with pytest.raises(InputError) as caught:
            explain_collected(db, url)
        assert why in str(caught.value)
    with Store.open(db) as store:
        store.start_run(6.0, {**SETTINGS, "max_depth": 1}, None)
    with pytest.raises(InputError, match=r"or is itself 1 link from a seed \(--max-depth\)"):
        explain_collected(db, "http://sea.example/nowhere")


def test_explain_tells_why_a_poll_was_postponed(db):
    seen = Observation(4, 0.0, Outcome.POSTPONED)
    with Store.open(db) as store:
        store.commit(Batch(polls=(PollResult(seen, PageMemory(), error="too many wait"),)))
    report = document(explain_collected(db, "http://sea.example/later"))
    assert report["postponed"] == {"at": 0.0, "why": "too many wait"}
    assert (report["outcome"], report["error"]) == (None, None)
    shown = run("explain", "http://sea.example/later", "--db", db).stdout
    assert "1970-01-01 00:00:00: too many wait" in shown
    assert "failed" not in shown
    assert "postponed" not in run("explain", "http://sea.example/whales", "--db", db).stdout


def test_a_page_that_no_link_led_to_is_not_known(db):
    with pytest.raises(InputError, match="is not known to the collection"):
        explain_collected(db, "http://sea.example/nowhere")


def test_nothing_is_forecast_of_a_collection(db):
    answer = run("plan", "--db", db)
    assert isinstance(answer.exception, InputError)
    assert "of which nothing is forecast" in str(answer.exception)


def test_the_newest_documents_of_the_topic(db):
    with Store.open_readonly(db) as store:
        records = [
            replace(record, relevance=0.1 * (n % 3), first_seen_at=float(n))
            for n, record in enumerate(store.pages())
        ]
        settings = latest_settings(store)
        assert isinstance(settings, CollectSettings)
        newest = summarise_collection(settings, records, store).newest
    assert [new.first_seen_at for new in newest] == [4.0, 2.0, 1.0]


def test_hosts_that_never_answer_take_no_requests(db):
    """With the dead one it would be two requests a second, as many as the budget."""
    with Store.open(db) as store:
        store.add_pages([NewPage("http://dead.example/", "dead.example")], now=1.0)
        dead = store.find_page("http://dead.example/")
        assert dead is not None
        store.commit(Batch(polls=(polled(dead.page.id, Outcome.FAILED),)))
    status = read_status(db).collection
    assert status is not None
    assert (status.hosts_take, status.allowed) == (1.0, 2.0)


def test_pages_that_the_rules_refuse_are_no_fringe(db):
    with Store.open(db) as store:
        store.start_run(6.0, {**SETTINGS, "deny": ["later"]}, None)
    status = read_status(db).collection
    assert status is not None
    assert (status.fringe, status.left_out) == (0, 1)
    assert "1 page, by --allow and --deny" in run("status", "--db", db).stdout


@pytest.mark.parametrize(
    ("rules", "rule"),
    [
        ({"deny": ["copy", "late[rn]", "r$"]}, "--deny late[rn]"),
        ({"allow": ["whales", "copy"]}, "--allow whales --allow copy"),
    ],
)
def test_explain_names_the_rule_that_leaves_a_page_out(db, rules, rule):
    url = "http://sea.example/later"
    assert explain_collected(db, url).left_out_by is None
    assert "left out" not in run("explain", url, "--db", db).stdout
    with Store.open(db) as store:
        store.start_run(6.0, {**SETTINGS, **rules}, None)
    assert explain_collected(db, url).left_out_by == rule
    assert f"it is not polled, by {rule}" in run("explain", url, "--db", db).stdout
    assert explain_collected(db, "http://sea.example/whales").left_out_by is None
    with pytest.raises(InputError, match=f"left aside, by {re.escape(rule)}$"):
        explain_collected(db, f"{url}/still-later")


def test_a_damaged_state_is_told_as_such(db):
    with Store.open(db) as store:
        store.commit(Batch(scheduler='{"x": 1}'))
    result = run("status", "--db", db)
    assert isinstance(result.exception, StoreError)
