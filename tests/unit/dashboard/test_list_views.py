"""The forms of the lists: whatever is sent, a clear message, a status 4xx, and nothing changed."""

import re
from contextlib import asynccontextmanager

import pytest

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.application import application
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version

from .browsed import browsed

HOSTILE = "<script>alert(1)</script>"
REFUSED = [
    ("/pages", {"do": "add", "urls": "", "tags": ""}, 400, "no page is named"),
    ("/pages", {"do": "add", "urls": "ftp://a.example"}, 400, "line 1: ftp is not fetched"),
    ("/pages", {"do": "add", "urls": f"http://b.example\n{HOSTILE}"}, 400, "line 2"),
    ("/pages", {"do": "add", "urls": "http://b.example\0"}, 400, "cannot be shown"),
    ("/pages", {"do": "add", "urls": "x" * 200_001}, 400, "characters are too many"),
    ("/pages", {"do": "add", "urls": "\n".join(map(str, range(1001)))}, 400, "too many at once"),
    (
        "/pages",
        {"do": "add", "urls": "http://b.example", "tags": "a b"},
        400,
        "is no word",
    ),
    ("/pages", {"do": "add", "urls": "http://b.example", "weight": "0"}, 400, "above 0"),
    ("/pages", {"do": "add", "urls": "http://b.example", "weight": "nan"}, 400, "above 0"),
    ("/pages", {"do": "add", "urls": "http://b.example", "weight": "1e99"}, 400, "1,000,000,000"),
    ("/pages", {"do": "add", "urls": "http://b.example/a b"}, 400, "a space in a URL is written"),
    ("/pages", {"do": "add", "urls": "http://b.example", "admin": "1"}, 400, "no field"),
    ("/pages", {"do": "pause"}, 400, "no page is ticked"),
    ("/pages", {"do": "pause", "page": HOSTILE}, 400, "is no page"),
    ("/pages", {"do": "pause", "page": "77"}, 404, "watched no longer"),
    ("/pages", {"do": HOSTILE, "page": "0"}, 400, "nobody knows how"),
    ("/pages", {"do": "tag", "page": "0"}, 400, "no tag is named"),
    ("/pages", {"do": "tag", "page": "0", "tags": "a b"}, 400, "is no word"),
    ("/changes", {"read": "7"}, 404, "there is no change 7"),
    ("/changes", {"read": HOSTILE}, 400, "is no number of a change"),
    ("/changes", {"up_to": "9" * 50}, 400, "too many"),
    ("/changes", {}, 400, "say which change"),
    ("/settings", {"budget": HOSTILE, "was.budget": "60/hour"}, 400, "expected a number above 0"),
    ("/settings", {"budget": "", "was.budget": "60/hour"}, 400, "no budget is named"),
    ("/settings", {"budget": "1/hour", "was.budget": "2/hour"}, 409, "somebody changed it"),
    ("/settings", {"shares": "shop=200%", "was.shares": ""}, 400, "shop"),
    ("/settings", {"quiet": "25:00-26:00", "was.quiet": ""}, 400, "expected times of the day"),
    ("/settings", {"keep": "-1", "was.keep": "all"}, 400, "expected a number of versions"),
    ("/settings", {"budget": "60/hour", "was.budget": "60/hour"}, 400, "nothing was changed"),
]


@pytest.fixture
def db(tmp_path):
    with Store.open(tmp_path / "x.db") as store:
        store.add_pages([NewPage("http://a.example/", "a.example")], now=1.0)
        store.change_settings({"budget": "60/hour"})
    return tmp_path / "x.db"


@asynccontextmanager
async def asking(db):
    """Asks an application of this database, as a browser does."""
    async with Answers(db) as answers:
        app = application(answers, AnsweringTerms(db), None)

        async with browsed(app, "/pages") as ask:
            yield ask


def state(db):
    with Store.open_readonly(db) as store:
        return [record.page for record in store.pages()], store.changed_settings()


async def test_what_cannot_be_used_is_told_and_changes_nothing(db):
    before = state(db)
    async with asking(db) as ask:
        for path, sent, status, line in REFUSED:
            got, _, text = await ask(path, sent)
            assert (got, line in text) == (status, True), (path, sent, text)
            assert HOSTILE not in text
    assert state(db) == before


async def test_all_lines_that_cannot_be_used_are_told(db):
    bad = [f"ftp://{place}.example" for place in range(12)]
    async with asking(db) as ask:
        sent = {"do": "add", "urls": "\n".join(["http://b.example", *bad])}
        status, _, text = await ask("/pages", sent)
    assert status == 400
    assert all(f"line {place}: ftp is not fetched" in text for place in range(2, 12))
    assert "line 12: " not in text
    assert "and 2 more that cannot be used" in text


async def test_a_page_of_another_origin_changes_nothing(db):
    before = state(db)
    async with asking(db) as ask:
        for path, sent, _, _ in REFUSED:
            status, _, _ = await ask(path, sent, **{"sec-fetch-site": "cross-site"})
            assert status == 403
        good = {"do": "add", "urls": "http://b.example/"}
        assert (await ask("/pages", good, origin="http://evil.example"))[0] == 403
    assert state(db) == before


async def test_what_can_be_used_is_done(db):
    async with asking(db) as ask:
        sent = {"do": "add", "urls": "http://b.example/", "tags": "news", "weight": "2"}
        status, headers, _ = await ask("/pages", sent)
        assert (status, headers[b"location"]) == (303, b"/pages?sort=added&done=added-1")
        again = {"do": "add", "urls": "http://b.example/\nhttp://c.example/\nhttp://b.example/"}
        _, headers, _ = await ask("/pages", again | {"tags": "news", "weight": "2"})
        _, _, text = await ask(headers[b"location"].decode())
        assert "1 page added, 1 was watched already. First copies" in text
        status, headers, _ = await ask("/pages?q=a", {"do": "tag", "page": "0", "tags": "x,y"})
        assert (status, headers[b"location"]) == (303, b"/pages?q=a&done=tagged-1")
        sent = {
            "budget": "9/hour",
            "was.budget": "60/hour",
            "quiet": "22:00-06:00",
            "was.quiet": "",
        }
        assert (await ask("/settings", sent))[0] == 303
    pages, settings = state(db)
    assert [page.tags for page in pages] == [("x", "y"), ("news",), ("news",)]
    assert (pages[1].weight, settings["budget"]) == (2.0, "9/hour")
    assert list(settings["quiet"]) == ["22:00-06:00"]


async def test_lines_of_a_list_say_what_is_wanted_of_their_pages(db):
    lines = '# shops\nhttp://b.example/ weight=3 select="main p"\nhttp://c.example/ tags=own # x'
    async with asking(db) as ask:
        sent = {"do": "add", "urls": lines, "tags": "news", "weight": "2"}
        assert (await ask("/pages", sent))[0] == 303
    _, told, other = state(db)[0]
    assert (told.url, told.weight, told.tags) == ("http://b.example/", 3.0, ("news",))
    assert told.select == ("main p",)
    assert (other.url, other.weight, other.tags) == ("http://c.example/", 2.0, ("own",))


async def test_a_page_with_a_longer_url_than_new_ones_have_can_be_changed(db):
    url = "http://a.example/" + "x" * 9000  # as earlier versions took
    with Store.open(db) as store:
        store.add_pages([NewPage(url, "a.example")], now=1.0)
    async with asking(db) as ask:
        for sent in ({"do": "tag", "tags": "x"}, {"do": "untag", "tags": "y"}, {"do": "pause"}):
            status, _, _ = await ask("/pages", sent | {"page": "1"})
            assert status == 303, sent
    pages, _ = state(db)
    assert (pages[1].url, pages[1].tags, pages[1].paused) == (url, ("x",), True)


async def test_a_page_that_is_gone_is_told_where_changes_are(db):
    with Store.open(db) as store:
        for at, outcome, status in (
            (2.0, Outcome.CHANGED, None),
            (3.0, Outcome.GONE, 404),
            (4.0, Outcome.CHANGED, None),
            (5.0, Outcome.GONE, 410),
        ):
            version = Version(0, at, "text/html", f"<p>{at}".encode(), f"{int(at):032x}")
            seen = Observation(0, at, outcome)
            copy = version if outcome is Outcome.CHANGED else None
            store.commit(Batch(polls=(PollResult(seen, PageMemory(), copy, status=status),)))
    async with asking(db) as ask:
        for target in ("/changes", "/", "/pages/0"):
            status, _, text = await ask(target)
            assert (status, "gone (404)" in text.lower()) == (200, True), target
            assert "back and changed" in text, target
    assert "The page is gone, found" in text


@pytest.mark.parametrize(
    "target",
    [
        "/pages?sort=x",
        "/pages?page=0",
        "/pages?order=sideways",
        "/pages?state=x",
        f"/hosts?q={'x' * 1001}",
        "/hosts?sort=weight",
        "/changes?before=-1",
        "/changes?unread=yes",
        "/changes?url=nothing",
    ],
)
async def test_a_question_that_cannot_be_answered_is_told(db, target):
    async with asking(db) as ask:
        status, _, text = await ask(target)
    assert status == 400
    assert re.search("<p>.+</p>", text)


async def test_lists_tell_how_much_more_differs(db):
    with Store.open(db) as store:
        for at, text in ((2.0, b"<p>A<p>B<p>C"), (3.0, b"<p>A<p>D<p>E")):
            version = Version(0, at, "text/html", text, f"{int(at):032x}")
            seen = Observation(0, at, Outcome.CHANGED)
            store.commit(Batch(polls=(PollResult(seen, PageMemory(), version),)))
    async with asking(db) as ask:
        for target in ("/changes", "/pages/0"):
            _, _, text = await ask(target)
            assert "and 1 more block of text" in text, target
