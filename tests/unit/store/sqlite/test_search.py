"""Queries never fail for how they are written, and hits come in a sensible order."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pollwise.errors import InputError, StoreError
from pollwise.store import Store
from pollwise.store.records import Batch, Collected, Discoveries, Hit, NewPage
from pollwise.store.sqlite.queries import migrations
from pollwise.store.sqlite.search import TOKENIZER, expression_of

PAGES = {
    "whales": ("Whales", "The blue whale is the largest animal of the sea."),
    "sharks": ("Sharks", "Sharks swim in the sea; whales swim there too. A shark is a fish."),
    "cafe": ("The Café", "Swimming pools and cafés, but nothing of any animal."),
    "empty": ("", ""),
}


def of(*collected: Collected) -> tuple[Discoveries, ...]:
    return tuple(Discoveries(collected=each) for each in collected)


def filled(path: Path, pages: dict[str, tuple[str, str]], relevance: float = 0.5) -> Store:
    store = Store.open(path)
    store.add_pages([NewPage(f"https://a.example/{name}") for name in pages], now=0.0)
    store.commit(
        Batch(
            discovered=of(
                *(
                    Collected(page_id, relevance, title, text)
                    for page_id, (title, text) in enumerate(pages.values())
                )
            )
        )
    )
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with filled(tmp_path_factory.mktemp("search") / "pollwise.db", PAGES) as store:
        yield store


def names(hits: list[Hit]) -> list[str]:
    return [hit.url.rsplit("/")[-1] for hit in hits]


def marked(hit: Hit) -> list[str]:
    return [hit.snippet[start:end] for start, end in hit.marks]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("whale", ["whales", "sharks"]),
        ("WHALES", ["whales", "sharks"]),
        ("largest whale", ["whales"]),
        ("cafe", ["cafe"]),
        ("Cafés", ["cafe"]),
        ("swim", ["sharks", "cafe"]),
        ('"blue whale"', ["whales"]),
        ('"whale blue"', []),
        ('"the blue', ["whales"]),
        ("whale -shark", ["whales"]),
        ('sea -"blue whale"', ["sharks"]),
        ("sea -", ["whales", "sharks"]),
        ("largest OR fish", ["whales", "sharks"]),
        ("whale largest OR fish", ["whales", "sharks"]),
        ("OR whale OR", ["whales", "sharks"]),
        ("blue-whale", ["whales"]),
        ("title: whale", []),
        ("whale*", ["whales", "sharks"]),
        ("NOT whale", []),
        ("squid", []),
    ],
)
def test_what_a_query_finds(store: Store, query: str, found: list[str]) -> None:
    assert set(names(store.search(query))) == set(found)
    assert store.count_matches(query) == len(found)


@pytest.mark.parametrize("query", ["", "   ", "-whale", "+++", '"', '""', "OR", "\0", "\ud800"])
def test_a_query_without_a_word_is_one_line(store: Store, query: str) -> None:
    with pytest.raises(InputError, match=r"nothing to look for in the query .*: give a word"):
        store.search(query)
    with pytest.raises(InputError, match="nothing to look for"):
        store.count_matches(query)


def test_a_query_of_too_many_words_is_one_line(store: Store) -> None:
    assert store.search("whale " * 64)
    assert store.search(" OR ".join(["whale"] * 32))
    with pytest.raises(InputError, match="the query has 65 words; expected at most 64"):
        store.search("whale " * 65)


INDEX = sqlite3.connect(":memory:")
INDEX.executescript("".join(migrations()))
INDEX.execute("INSERT INTO full_text (rowid, title, text) VALUES (0, 'whale', 'sea')")


@pytest.mark.parametrize(("limit", "offset"), [(-1, 0), (10_001, 0), (1, -1), (1, 2**63)])
def test_hits_without_end_are_refused(store: Store, limit: int, offset: int) -> None:
    with pytest.raises(InputError, match=f"{limit} hits from {offset} on; expected at most 10000"):
        store.search("whale", limit, offset)


@given(st.text(st.characters(), max_size=40) | st.text("whale \"-OR()*:^+\0'", max_size=40))
@example("\u0301")  # a mark without a letter
@example("𞤢")  # a letter that is newer than the tokenizer
@example('whale -"\u0301"')
@example('a" OR "b')
@example("NEAR(whale sea, 2) {title}: ^whale AND")
def test_no_query_is_a_syntax_error(query: str) -> None:
    try:
        wanted, unwanted = expression_of(query)
    except InputError:
        return
    whole = f"({wanted}) NOT ({unwanted})" if unwanted else wanted
    INDEX.execute("SELECT rowid FROM full_text WHERE full_text MATCH ?", [whole]).fetchall()


class TestOrder:
    def test_a_word_of_the_title_counts_more(self, tmp_path: Path) -> None:
        pages = {"text": ("Fish", "all of a whale"), "title": ("Whale", "all of a fish")}
        with filled(tmp_path / "pollwise.db", pages) as store:
            assert names(store.search("whale")) == ["title", "text"]

    def test_of_pages_that_fit_alike_the_relevant_one_comes_first(self, tmp_path: Path) -> None:
        pages = {"off": ("", "a whale"), "on": ("", "a whale"), "unknown": ("", "a whale")}
        with filled(tmp_path / "pollwise.db", pages) as store:
            store.commit(Batch(discovered=of(Collected(2, None, "", "a whale"))))
            store.commit(Batch(discovered=(Discoveries(rescored={0: 0.1, 1: 0.9}),)))
            hits = store.search("whale")
            assert names(hits) == ["on", "off", "unknown"]
            assert [hit.relevance for hit in hits] == [0.9, 0.1, 0.0]
            assert [hit.score for hit in hits] == pytest.approx([0.975, 0.775, 0.75])

    def test_relevance_makes_up_for_a_third_of_the_fit_and_no_more(self, tmp_path: Path) -> None:
        other = "some other words of no use here"
        texts = ["whale and more", f"whale {other}", f"whale {other * 5}"]
        pages = {str(number): ("", text) for number, text in enumerate(texts)}
        pages |= {f"no{number}": ("", other) for number in range(20)}
        with filled(tmp_path / "pollwise.db", pages, relevance=0.0) as store:
            fits = [hit.bm25 for hit in store.search("whale")]
            assert fits[0] > fits[1] > 2 / 3 * fits[0] > fits[2] > 0
            store.commit(Batch(discovered=(Discoveries(rescored={1: 1.0, 2: 1.0}),)))
            assert names(store.search("whale")) == ["1", "0", "2"]

    def test_pages_of_hits_follow_one_another(self, tmp_path: Path) -> None:
        pages = {str(n): ("", "whale " * n + "fish " * (40 - n)) for n in range(1, 31)}
        with filled(tmp_path / "pollwise.db", pages) as store:
            whole = names(store.search("whale", limit=100))
            assert len(whole) == 30
            parts = [store.search("whale", 7, offset) for offset in range(0, 42, 7)]
            assert [name for part in parts for name in names(part)] == whole


class TestSnippets:
    def test_they_show_the_words_where_they_are(self, store: Store) -> None:
        [hit] = store.search("swims sea")
        assert hit.snippet == PAGES["sharks"][1]
        assert marked(hit) == ["swim", "sea", "swim"]
        assert hit.title == "Sharks"

    def test_of_a_long_text_they_show_a_part(self, tmp_path: Path) -> None:
        text = (
            "nothing here. " * 1000 + "\n\n A blue \x1b\x02\twhale  swims. " + "nor there. " * 1000
        )
        with filled(tmp_path / "pollwise.db", {"long": ("Long", text)}) as store:
            [hit] = store.search('"blue whale"')
            assert marked(hit) == ["blue whale"]
            assert len(hit.snippet) < 500
            assert hit.snippet.isprintable()

    def test_they_are_of_sentences_before_menus(self, tmp_path: Path) -> None:
        menu = "Home\nWhales\nWhale watching tours\nSquid"
        sentence = (
            "Where the coast is steep and the water is deep, a whale may come near the shore."
        )
        with filled(tmp_path / "w.db", {"coast": ("Coasts", f"{menu}\n{sentence}")}) as store:
            [hit] = store.search("whale")
            assert (hit.snippet, marked(hit)) == (sentence, ["whale"])
            [hit] = store.search("coasts")
            assert hit.snippet == sentence
            [hit] = store.search("whale squid")  # which no sentence has
            assert marked(hit) == ["Whales", "Whale", "Squid", "whale"]
        with filled(tmp_path / "t.db", {"cliff": ("Cliffs", f"{menu}\n{sentence}")}) as store:
            [hit] = store.search("cliffs squid")  # the one in the title, the other in the menu
            assert marked(hit) == ["Squid"]

    def test_a_word_of_the_title_alone_leaves_the_begin_of_the_text(self, store: Store) -> None:
        [hit] = store.search("sharks -blue")
        assert hit.snippet.startswith("Sharks swim")
        [hit] = store.search("cafe")
        assert marked(hit) == ["cafés"]

    def test_texts_may_hold_anything(self, tmp_path: Path) -> None:
        text = "a \ud800 whale \0 \x03 in the \ue000 sea"
        with filled(tmp_path / "pollwise.db", {"odd": ("\ud800 odd\0", text)}) as store:
            [hit] = store.search("whale sea")
            assert marked(hit) == ["whale", "sea"]
            store.commit(Batch(discovered=of(Collected(0, 0.5, "", "nothing"))))
            assert store.search("whale") == []


def test_a_reader_finds_what_the_writer_has_committed(tmp_path: Path) -> None:
    path = tmp_path / "pollwise.db"
    with filled(path, PAGES) as store, Store.open_readonly(path) as reader:
        assert names(reader.search("squid")) == []
        store.commit(Batch(discovered=of(Collected(3, 0.5, "", "a squid"))))
        assert names(reader.search("squid")) == ["empty"]
        with pytest.raises(StoreError, match="cannot be written"):
            reader.commit(Batch(discovered=of(Collected(3, 0.5, "", "krill"))))


def test_snippets_take_words_as_the_index_does() -> None:
    assert f"tokenize = '{TOKENIZER}'" in "".join(migrations())


def test_pages_that_can_be_found_are_counted(tmp_path: Path) -> None:
    with filled(tmp_path / "pollwise.db", PAGES) as store:
        assert store.searchable_pages() == len(PAGES)
        store.commit(Batch(discovered=of(Collected(0, 0.5, "", "a copy", duplicate_of=1))))
        assert store.searchable_pages() == len(PAGES) - 1
