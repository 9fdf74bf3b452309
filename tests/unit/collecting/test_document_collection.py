"""What polls mean for a collection: scores, copies, links, and scores made anew."""

from dataclasses import replace
from functools import partial
from string import ascii_lowercase

import numpy as np
import pytest

from pollwise.collecting.document_collection import DocumentCollection
from pollwise.collecting.link_filter import LinkFilter, Rejected
from pollwise.collecting.response_digest import digest
from pollwise.collecting.response_processor import Response
from pollwise.relevance.topic import topic
from pollwise.relevance.topic_filter import TopicFilter
from pollwise.sources.reading import read
from pollwise.store.records import PageRecord, PollResult
from pollwise.types import Observation, Outcome, Page, PageMemory
from pollwise.web.change import fingerprint
from pollwise.web.poll_reports import PollReport
from pollwise.web.sitemaps import SitemapEntry

HOST = "sea.example"
START = Page(0, f"http://{HOST}/", HOST)


def record(page, **other):
    fields = {
        "memory": PageMemory(),
        "added_at": 0.0,
        "polled_at": None,
        "outcome": None,
        "polls": 0,
        "changes": 0,
        "failures": 0,
        "error": None,
        "last_changed_at": None,
        "last_cost": None,
    }
    return PageRecord(page, **{**fields, **other})


def collection(*, records=(), stored=(), next_page_id=1, about="whales", **limits):
    return DocumentCollection(
        TopicFilter(topic(about)),
        partial(LinkFilter, **limits),
        lambda: iter(stored),
        records=records or [record(START)],
        next_page_id=next_page_id,
    )


def fetched(html, page=START, **header):
    """The report of a poll that found this, and the digest of its content."""
    body = html.encode()
    found = fingerprint(read(body, "text/html"))
    memory = PageMemory(body_hash=found.body_hash, text_hash=found.text_hash)
    report = PollReport(PollResult(Observation(page.id, 5.0, Outcome.CHANGED), memory))
    return report, digest(Response(body, "text/html", page.url, **header))


def article(subject, *links):
    words = " ".join(f"{subject} number {n} and its word{n}." for n in range(30))
    anchors = " ".join(f'<a href="{link}">{link}</a>' for link in links)
    return f"<title>{subject}</title><p>{words}<p>{anchors}"


def test_relevance_links_and_new_pages():
    some = collection()
    html = article("whales", "/a", "/b#top", "/a?", "http://other.example/")
    report = some.take_in(START, *fetched(html))
    assert report.result.observation.relevance == report.discovered.collected.relevance > 0.5
    assert [found.page.url for found in report.discovered.new_pages] == [
        f"http://{HOST}/a",
        f"http://{HOST}/b",
        "http://other.example/",
    ]
    assert [found.page.id for found in report.discovered.new_pages] == [1, 2, 3]
    assert {found.depth for found in report.discovered.new_pages} == {1}
    assert report.discovered.links.targets.tolist() == [1, 2, 3]
    assert list(report.discovered.links.anchors) == ["/a", "/b#top", "http://other.example/"]
    assert report.discovered.collected.title == "whales"
    assert report.discovered.collected.indexed
    assert some.hosts == 2


def test_the_front_page_of_a_host_with_something_about_the_topic_is_discovered_too():
    deep = Page(1, "http://a.example/deep/x", "a.example")
    some = collection(records=[record(START), record(deep)], next_page_id=2, deny=["b.example"])
    report = some.take_in(deep, *fetched(article("whales", "/near"), deep))
    assert [found.page.url for found in report.discovered.new_pages] == [
        "http://a.example/near",
        "http://a.example/",
    ]
    assert report.discovered.links.targets.tolist() == [2]  # the page does not link to it
    other = Page(9, "http://b.example/deep", "b.example")
    assert not some.take_in(other, *fetched(article("whales"), other)).discovered.new_pages
    assert not some.rejections


def test_a_page_that_names_thousands_of_hosts_names_two_hundred():
    some = collection()
    hosts = [f"http://h{n}.example/" for n in range(1000)]
    report = some.take_in(START, *fetched(article("whales", *hosts, "/near")))
    assert len(report.discovered.new_pages) == 201
    assert some.rejections == {Rejected.MANY_HOSTS: 800}


def test_what_is_said_beside_links_is_told_with_them_if_there_is_any():
    some = collection()
    html = '<p><a href="/a">one</a><p>On whales: <a href="/b">two</a>'
    assert list(some.take_in(START, *fetched(html)).discovered.links.around) == ["", "On whales:"]
    html = '<p><a href="/a">one</a><p>On whales.'
    assert list(some.take_in(START, *fetched(html)).discovered.links.around) == []


def test_known_pages_are_linked_to_and_not_discovered_again():
    some = collection()
    first = some.take_in(START, *fetched(article("whales", "/a")))
    page = first.discovered.new_pages[0].page
    second = some.take_in(page, *fetched(article("ships", "/", "/a", "/c"), page))
    assert [found.page.id for found in second.discovered.new_pages] == [2]
    assert second.discovered.new_pages[0].depth == 2
    assert second.discovered.links.targets.tolist() == [0, 2]


def test_what_another_page_says_already_counts_for_nothing():
    some = collection()
    some.take_in(START, *fetched(article("whales")))
    copy = Page(7, f"http://{HOST}/copy", HOST)
    report = some.take_in(copy, *fetched(article("whales"), copy))
    assert report.discovered.collected.duplicate_of == 0
    assert report.result.observation.relevance == 0.0
    report = some.take_in(copy, *fetched(article("ships"), copy))
    assert report.discovered.collected.duplicate_of is None


def test_pages_of_a_catalogue_are_no_copies_of_each_other_also_after_a_restart():
    """Their terms are the same, as numbers are none."""
    parts = [Page(n, f"http://{HOST}/part{n}", HOST) for n in range(3)]
    words = " ".join(f"{letter * 3} {letter * 4}" for letter in ascii_lowercase)
    pages = [f"<title>Part {n}</title><p>{words}<p>No. {n} of 9" for n in range(3)]
    some = collection()
    first, *others = (
        some.take_in(part, *fetched(html, part)) for part, html in zip(parts, pages, strict=True)
    )
    assert [one.discovered.collected.duplicate_of for one in (first, *others)] == [None] * 3
    collected = first.discovered.collected
    known = record(parts[0], memory=first.result.memory, relevance=0.5, title=collected.title)
    stored = [(0, collected.terms)]
    some = collection(records=[known], stored=stored, next_page_id=3)
    found = some.take_in(parts[1], *fetched(pages[1], parts[1]))
    assert found.discovered.collected.duplicate_of is None
    mirror = pages[0].replace("No. 0", "No. 7")
    found = some.take_in(parts[2], *fetched(mirror, parts[2]))
    assert found.discovered.collected.duplicate_of == 0


def test_a_declared_canonical_page_that_is_collected_is_the_original():
    some = collection()
    some.take_in(START, *fetched(article("whales", "/print")))
    page = Page(1, f"http://{HOST}/print", HOST)
    html = f'<link rel=canonical href="http://{HOST}/elsewhere">' + article("ships")
    assert some.take_in(page, *fetched(html, page)).discovered.collected.duplicate_of is None
    seen = Page(2, f"http://{HOST}/print/2", HOST)
    some = collection(records=[record(START, relevance=0.5), record(seen)], next_page_id=3)
    html = f'<link rel=canonical href="{START.url}">' + article("dogs")
    assert some.take_in(seen, *fetched(html, seen)).discovered.collected.duplicate_of is None, (
        "front page"
    )


HERE = Page(0, f"http://www.{HOST}/a", f"www.{HOST}")
THERE = Page(1, f"http://m.{HOST}/a", f"m.{HOST}")


def declaring(other, subject="whales"):
    return f'<link rel=canonical href="{other.url}">' + article(subject)


def original_of(some, page, html):
    return some.take_in(page, *fetched(html, page)).discovered.collected.duplicate_of


def test_of_pages_that_declare_each_other_one_is_the_original():
    some = collection(records=[record(HERE), record(THERE)], next_page_id=2)
    assert original_of(some, HERE, declaring(THERE)) is None
    assert original_of(some, THERE, declaring(HERE)) == HERE.id
    assert original_of(some, HERE, declaring(THERE, "other whales")) is None
    assert original_of(some, THERE, declaring(HERE, "other whales")) == HERE.id


def test_a_page_that_moved_is_not_the_original_of_where_it_is_now():
    some = collection(records=[record(HERE), record(THERE)], next_page_id=2)
    assert original_of(some, HERE, article("whales")) is None
    report = some.take_in(HERE, moved(HERE, THERE.url), None)
    assert report.discovered.collected.duplicate_of == THERE.id
    assert original_of(some, THERE, declaring(HERE)) is None


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_copy_loses_its_original_when_that_is_gone(is_restarted):
    some = collection(records=[record(HERE), record(THERE)], next_page_id=2)
    assert original_of(some, HERE, article("whales")) is None
    assert original_of(some, THERE, article("whales")) == HERE.id
    assert not any(map(some.has_lost_original, range(3)))
    some.take_in(HERE, gone(HERE), None)
    if is_restarted:
        held = {"memory": fetched(article("whales"))[0].result.memory, "relevance": 0.9}
        records = [record(HERE, **held, gone=True), record(THERE, **held, duplicate_of=HERE.id)]
        some = collection(records=records, next_page_id=2)
    assert [*map(some.has_lost_original, range(3))] == [False, True, False]
    assert original_of(some, THERE, article("whales")) is None
    assert not some.has_lost_original(THERE.id)


def test_a_page_that_is_gone_or_led_away_is_no_original():
    for end in (gone(HERE), moved(HERE, f"http://{HOST}/no.zip")):
        some = collection(records=[record(HERE), record(THERE)], next_page_id=2)
        assert original_of(some, HERE, article("whales")) is None
        some.take_in(HERE, end, None)
        assert original_of(some, THERE, declaring(HERE)) is None
    held = {"memory": fetched(article("whales"))[0].result.memory, "relevance": 0.9}
    for there in (True, False):
        here = record(HERE, **held, gone=not there)
        some = collection(records=[here, record(THERE)], next_page_id=2)
        assert original_of(some, THERE, declaring(HERE, "dogs")) == (HERE.id if there else None)


@pytest.mark.parametrize(
    ("html", "header"),
    [
        ("<meta name=robots content='nofollow, noindex'>" + article("whales", "/a"), {}),
        (article("whales", "/a"), {"x_robots_tag": "none"}),
    ],
)
def test_pages_may_ask_not_to_be_indexed_or_followed(html, header):
    report = collection().take_in(START, *fetched(html, **header))
    assert not report.discovered.collected.indexed
    assert report.discovered.new_pages == ()
    assert len(report.discovered.links.targets) == 0


def test_limits_hold_for_links():
    some = collection(deny=["private"], max_depth=1)
    report = some.take_in(START, *fetched(article("whales", "/private/x", "/a")))
    (found,) = report.discovered.new_pages
    deeper = some.take_in(found.page, *fetched(article("whales", "/b"), found.page))
    assert deeper.discovered.new_pages == ()
    assert sum(some.rejections.values()) == 2


def test_a_redirect_leads_to_a_page_of_its_own():
    some = collection()
    moved = PollReport(
        PollResult(Observation(0, 5.0, Outcome.UNCHANGED), PageMemory()),
        redirected_to=f"http://{HOST}/new",
    )
    report = some.take_in(START, moved, None)
    assert report.result.observation.relevance == 0.0
    assert report.discovered.links.targets.tolist() == [1]
    assert report.discovered.new_pages[0].depth == 0
    again = some.take_in(START, replace(moved, redirected_to=START.url), None)
    assert len(again.discovered.links.targets) == 0


def test_sitemaps_name_pages():
    entries = [SitemapEntry(f"http://{HOST}/map/{n}") for n in range(3)]
    failed = PollReport(
        PollResult(Observation(0, 5.0, Outcome.FAILED), PageMemory(), error="status 500")
    )
    some = collection()
    report = some.take_in(START, failed, None, some.name(entries, 5.0))
    assert [found.page.url for found in report.discovered.new_pages] == [
        entry.url for entry in entries
    ]
    assert report.discovered.links is None
    assert report.result.observation.relevance is None


def test_the_topic_is_told_whenever_it_is_known_better():
    pages = [Page(n, f"http://{HOST}/{n}", HOST) for n in range(20)]
    some = collection(records=[record(page) for page in pages])
    told = [
        some.take_in(page, *fetched(article(f"whales krill{page.id}"), page)).discovered.aimed
        for page in pages
    ]
    first, *later = [dict(terms) for terms in told if terms]
    assert told[0]
    assert list(first) == ["whale"]
    assert 1 <= len(later) < 10
    assert later[-1]["whale"] == max(later[-1].values())


def test_old_scores_are_made_anew_when_the_topic_is_known_better():
    stored = []
    pages = [Page(n, f"http://{HOST}/{n}", HOST) for n in range(40)]
    some = collection(stored=stored, records=[record(page) for page in pages])
    rng = np.random.default_rng(3)
    scores = {}
    for n, page in enumerate(pages):
        words = " ".join(rng.choice([f"krill{k}" for k in range(40)], 30))
        subject = f"whales {words}" if n % 4 == 0 else f"ships {n} {words[:20]}"
        report = some.take_in(page, *fetched(article(subject), page))
        scores[n] = report.discovered.collected.relevance
        stored.append((n, report.discovered.collected.terms))
        assert len(report.discovered.rescored) <= 6
        scores.update(report.discovered.rescored)
    assert some.topic_filter.version > 0
    finished = {
        n: some.topic_filter.rescore(HOST, terms[9:]) for n, terms in stored[: len(stored) // 2]
    }
    off = [abs(finished[n] - scores[n]) for n in finished]
    assert np.mean(off) < 0.1
    assert some.documents == len(pages)
    assert some.relevant == sum(held.relevance > 0 for held in some._documents.values())


def test_what_was_collected_is_known_after_a_restart():
    before = collection()
    first = before.take_in(START, *fetched(article("whales", "/copy")))
    stored = [(0, first.discovered.collected.terms)]
    records = [
        record(START, memory=first.result.memory, relevance=first.discovered.collected.relevance),
        record(first.discovered.new_pages[0].page, depth=1),
    ]
    after = collection(records=records, stored=stored, next_page_id=2)
    copy = records[1].page
    report = after.take_in(copy, *fetched(article("whales", "/copy"), copy))
    assert report.discovered.collected.duplicate_of == 0
    other = Page(5, f"http://{HOST}/other", HOST)
    report = after.take_in(other, *fetched(article("dogs", "/copy", "/new"), other))
    assert report.discovered.links.targets.tolist() == [1, 2]


def test_a_judge_is_asked_and_its_pages_are_not_scored_anew(tmp_path, monkeypatch):
    (tmp_path / "taste.py").write_text("def judge(text):\n    return 1.0 if 'whale' in text else 0")
    monkeypatch.syspath_prepend(tmp_path)
    some = DocumentCollection(
        TopicFilter(topic(judge="taste:judge")), LinkFilter, lambda: iter([]), records=[]
    )
    body = article("whales").encode()
    judged = digest(Response(body, "text/html", START.url), judge="taste:judge")
    report = some.take_in(START, fetched(article("whales"))[0], judged)
    assert report.result.observation.relevance == 1.0
    assert report.discovered.rescored == {}


def gone(page):
    return PollReport(PollResult(Observation(page.id, 9.0, Outcome.GONE), PageMemory()))


def moved(page, target):
    observation = Observation(page.id, 9.0, Outcome.UNCHANGED)
    return PollReport(PollResult(observation, PageMemory()), redirected_to=target)


def test_a_document_that_moved_is_found_where_it_is_now():
    some = collection()
    html = article("whales")
    some.take_in(START, *fetched(html))
    report = some.take_in(START, moved(START, f"http://{HOST}/new"), None)
    assert report.discovered.collected.duplicate_of == 1
    assert (report.discovered.collected.text, report.discovered.collected.indexed) == ("", False)
    assert report.discovered.collected.relevance == report.result.observation.relevance == 0.0
    new = report.discovered.new_pages[0].page
    there = some.take_in(new, *fetched(html, new))
    assert there.discovered.collected.duplicate_of is None
    assert there.result.observation.relevance > 0.5
    back = some.take_in(START, *fetched(html))
    assert back.discovered.collected.duplicate_of == new.id


def test_a_document_that_moved_to_its_own_copy_stays():
    some = collection()
    some.take_in(START, *fetched(article("whales", "/copy")))
    copy = Page(1, f"http://{HOST}/copy", HOST)
    some.take_in(copy, *fetched(article("whales", "/copy"), copy))
    assert some.take_in(START, moved(START, copy.url), None).discovered.collected is None


def test_a_page_collected_anew_is_not_scored_by_what_it_said_before():
    stored = []
    some = collection(records=[record(START, relevance=0.5)], stored=stored)
    old = some.take_in(START, *fetched(article("whales")))
    stored.append((0, old.discovered.collected.terms))
    news, digest = fetched(article("ships"))
    report = some.take_in(START, news, digest)
    assert report.result.observation.relevance == 0.0
    other = Page(1, f"http://{HOST}/1", HOST)
    assert some.take_in(other, *fetched(article("dogs"), other)).discovered.rescored == {}


def test_scores_of_the_last_run_are_brought_up_to_date():
    before = collection().take_in(START, *fetched(article("whales")))
    stored = [(0, before.discovered.collected.terms)]
    after = collection(records=[record(START, relevance=0.1)], stored=stored)
    other = Page(1, f"http://{HOST}/1", HOST)
    report = after.take_in(other, *fetched(article("dogs"), other))
    assert report.discovered.rescored[0] > 0.5


def test_nothing_is_a_copy_of_a_page_that_was_gone_before_a_restart():
    before = collection().take_in(START, *fetched(article("whales")))
    # It is gone, though the latest poll failed.
    gone = record(
        START, memory=before.result.memory, relevance=0.9, outcome=Outcome.FAILED, gone=True
    )
    after = collection(records=[gone], stored=[(0, before.discovered.collected.terms)])
    copy = Page(1, f"http://{HOST}/copy", HOST)
    report = after.take_in(copy, *fetched(article("whales"), copy))
    assert report.discovered.collected.duplicate_of is None


def test_a_filter_that_forgets_its_topic_takes_no_collection_with_it():
    pages = [Page(n, f"http://{HOST}/{n}", HOST) for n in range(100)]
    stored, said = [], []
    before = collection()
    for page in pages:
        report = before.take_in(page, *fetched(article(f"whales {page.id}"), page))
        stored.append((page.id, report.discovered.collected.terms))
    after = DocumentCollection(
        TopicFilter(topic("harbours")),
        LinkFilter,
        lambda: iter(stored),
        records=[record(page, relevance=0.8) for page in pages],
        next_page_id=len(pages),
        say=said.append,
    )
    relevances = dict.fromkeys(range(100), 0.8)
    gone = PollReport(PollResult(Observation(0, 9.0, Outcome.UNCHANGED), PageMemory()))
    for _ in range(20):
        relevances.update(after.take_in(START, gone, None).discovered.rescored)
    assert sum(relevance > 0 for relevance in relevances.values()) > 80
    assert min(relevances.values()) == 0.0
    (line,) = said
    assert line.startswith("the topic is known better: of 100 documents scored anew 0 became")
