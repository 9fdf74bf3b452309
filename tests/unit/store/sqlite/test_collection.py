"""The collection: discovered pages, their contents and links, in the order they were fetched."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from pollwise.errors import InputError, StoreError
from pollwise.store import Store
from pollwise.store.records import (
    Batch,
    Collected,
    Discoveries,
    Discovery,
    Document,
    NewPage,
    PollResult,
)
from pollwise.store.sqlite import file_format
from pollwise.store.sqlite.queries import migrations
from pollwise.types import Links, Observation, Outcome, Page, PageMemory, Version

SITE = "https://a.example"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """With a seed (0) and three pages that it led to."""
    with Store.open(tmp_path / "pollwise.db") as store:
        store.add_pages([NewPage(SITE, "a.example")], now=0.0)
        store.commit(
            Batch(
                discovered=(Discoveries(new_pages=tuple(found(page_id) for page_id in (1, 2, 3))),)
            )
        )
        yield store


def found(page_id: int, depth: int = 1) -> Discovery:
    page = Page(page_id, f"{SITE}/{page_id}", "a.example", site="a.example", kind="#")
    return Discovery(page, 1.0, depth)


def poll(page_id: int, at: float, outcome: Outcome, body: bytes | None = None) -> PollResult:
    body_hash = None if body is None else f"hash of {body!r}"
    memory = PageMemory(body_hash=body_hash)
    version = None
    if body is not None and outcome is Outcome.CHANGED:
        version = Version(page_id, at, "text/html", body, f"hash of {body!r}")
    return PollResult(Observation(page_id, at, outcome), memory, version)


def collected(
    page_id: int, text: str = "a whale", links: Links | None = None, **more: object
) -> Discoveries:
    content = Collected(page_id, 0.5, f"Page {page_id}", text, **more)  # type: ignore[arg-type]
    return Discoveries(collected=content, links=links)


def links(*targets: int) -> Links:
    return Links(np.array(targets, np.int64), tuple(f"to {target}" for target in targets))


def history(store: Store) -> list[tuple[int, float | None, list[int], list[str]]]:
    return [
        (page.page_id, page.relevance, page.links.targets.tolist(), list(page.links.anchors))
        for page in store.history()
    ]


def hits(store: Store, query: str = "whale") -> list[int]:
    return sorted(hit.page_id for hit in store.search(query))


def row(store: Store, page_id: int) -> dict[str, object]:
    with closing(sqlite3.connect(store.path)) as connection:
        connection.row_factory = sqlite3.Row
        return dict(connection.execute("SELECT * FROM pages WHERE id = ?", [page_id]).fetchone())


def dump(store: Store) -> list[str]:
    with closing(sqlite3.connect(store.path)) as connection:
        return list(connection.iterdump())


class TestDiscoveries:
    def test_they_are_pages_with_the_ids_and_depths_given(self, store: Store) -> None:
        assert store.next_page_id() == 4
        store.commit(Batch(discovered=(Discoveries(new_pages=(found(4, depth=7),)),)))
        records = store.pages()
        assert records[4].page == found(4).page
        assert [record.depth for record in records] == [0, 1, 1, 1, 7]
        assert [record.relevance for record in records] == [None] * 5
        assert store.next_page_id() == 5

    @pytest.mark.parametrize(
        ("discovery", "message"),
        [
            (found(3), "given the id 3; expected 4, the next one"),
            (found(5), "given the id 5; expected 4, the next one"),
            (Discovery(Page(4, SITE), 1.0), "watched already"),
            (Discovery(Page(4, "https://new", weight=np.inf), 1.0), "must be finite"),
        ],
    )
    def test_what_is_no_new_page_is_refused_with_its_batch(
        self, store: Store, discovery: Discovery, message: str
    ) -> None:
        before = dump(store)
        with pytest.raises(InputError, match=message):
            store.commit(
                Batch(states={"topic": b"1"}, discovered=(Discoveries(new_pages=(discovery,)),))
            )
        assert dump(store) == before

    def test_they_may_come_in_any_order(self, store: Store) -> None:
        store.commit(Batch(discovered=(Discoveries(new_pages=(found(6), found(4), found(5))),)))
        assert [record.page.url for record in store.pages()][4:] == [
            f"{SITE}/{n}" for n in (4, 5, 6)
        ]
        assert store.next_page_id() == 7

    def test_a_plain_one_is_written_as_any_page(self, store: Store) -> None:
        added = {**row(store, 0), "id": 1, "url": f"{SITE}/1", "added_at": 1.0, "depth": 1}
        assert row(store, 1) == added

    def test_what_is_wanted_of_one_is_kept(self, store: Store) -> None:
        wanted = {"weight": 2.0, "cost": 3.0, "paused": True, "tags": ("a",), "name": "b"}
        pages = [found(4), Discovery(Page(5, f"{SITE}/5", "a.example", **wanted), 1.0), found(6)]
        store.commit(Batch(discovered=(Discoveries(new_pages=tuple(pages)),)))
        kept = [record.page for record in store.pages()][4:]
        assert [{name: getattr(page, name) for name in wanted} for page in kept] == [
            {name: getattr(Page(-1), name) for name in wanted},
            wanted,
            {name: getattr(Page(-1), name) for name in wanted},
        ]

    def test_a_batch_may_refer_to_its_new_pages(self, store: Store) -> None:
        store.commit(
            Batch(
                polls=(poll(4, 2.0, Outcome.CHANGED, b"x"),),
                discovered=(Discoveries(new_pages=(found(4),)), collected(4, links=links(4, 0))),
            )
        )
        assert history(store) == [(4, 0.5, [4, 0], ["to 4", "to 0"])]


class TestHistory:
    def test_it_is_in_the_order_of_the_first_fetches(self, store: Store) -> None:
        for page_id in (2, 0, 1, 2, 0):
            store.commit(Batch(discovered=(collected(page_id),)))
        assert [page_id for page_id, *_ in history(store)] == [2, 0, 1]

    def test_it_has_the_present_links_and_relevance(self, store: Store) -> None:
        store.commit(Batch(discovered=(collected(0, links=links(1, 2)), collected(1))))
        store.commit(
            Batch(discovered=(collected(0, links=links(3)), Discoveries(rescored={1: 0.9})))
        )
        assert history(store) == [(0, 0.5, [3], ["to 3"]), (1, 0.9, [], [])]

    def test_it_has_all_that_links_say(self, store: Store) -> None:
        some = links(1, 2)
        told = Links(some.targets, some.anchors, ("body/a", "body/p/a"), ("", "on whales"))
        store.commit(Batch(discovered=(collected(0, links=told), collected(1, links=some))))
        assert [page.links for page in store.history()] == [told, some]

    def test_links_that_are_not_given_stay(self, store: Store) -> None:
        store.commit(Batch(discovered=(collected(0, links=links(1)),)))
        store.commit(Batch(discovered=(collected(0, "other words"),)))
        assert history(store) == [(0, 0.5, [1], ["to 1"])]

    def test_a_relevance_that_nobody_can_tell(self, store: Store) -> None:
        store.commit(Batch(discovered=(Discoveries(collected=Collected(1, None, "", "")),)))
        assert history(store) == [(1, None, [], [])]

    def test_it_leaves_removed_pages_out(self, store: Store) -> None:
        store.commit(Batch(discovered=(collected(0), collected(1))))
        store.remove_pages([0], now=5.0)
        assert [page_id for page_id, *_ in history(store)] == [1]

    def test_it_is_whole_however_long_it_is(self, store: Store) -> None:
        new = tuple(found(page_id) for page_id in range(4, 1504))
        store.commit(Batch(discovered=(Discoveries(new_pages=new),)))
        order = np.random.default_rng(1).permutation(1504).tolist()
        store.commit(Batch(discovered=(*(collected(page_id, "") for page_id in order),)))
        assert [page_id for page_id, *_ in history(store)] == order

    def test_damaged_links_are_one_line(self, store: Store) -> None:
        store.commit(Batch(discovered=(collected(0, links=links(1)),)))
        with closing(sqlite3.connect(store.path)) as connection, connection:
            connection.execute("UPDATE links SET data = x'00'")
        with pytest.raises(StoreError, match=r"what page 0 holds is damaged .*: restore a copy"):
            list(store.history())


def test_a_damaged_text_is_one_line_for_readers_and_writers(store: Store) -> None:
    store.commit(Batch(polls=(poll(0, 1.0, Outcome.CHANGED, b"x"),), discovered=(collected(0),)))
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE documents SET text = x'00'")
    for use in (
        lambda: store.search("whale"),
        lambda: list(store.documents()),
        lambda: store.commit(Batch(discovered=(collected(0, "a shark"),))),
        lambda: store.remove_pages([0], now=2.0),
    ):
        with pytest.raises(StoreError, match=r"what page 0 holds is damaged .*: restore a copy"):
            use()


class TestCollected:
    def test_its_page_tells_of_it(self, store: Store) -> None:
        store.commit(Batch(discovered=(collected(0), collected(1, duplicate_of=0))))
        first, second, third, _ = store.pages()
        assert (first.title, first.relevance, first.duplicate_of) == ("Page 0", 0.5, None)
        assert (second.title, second.relevance, second.duplicate_of) == ("Page 1", 0.5, 0)
        assert (third.title, third.relevance, third.duplicate_of) == (None, None, None)
        assert store.find_page(SITE) == first
        assert store.count_copies() == 1
        store.remove_pages([1], 1.0)
        assert store.count_copies() == 0

    def test_an_unknown_page_is_refused_with_its_batch(self, store: Store) -> None:
        before = dump(store)
        with pytest.raises(InputError, match="page 9 was collected, which"):
            store.commit(Batch(discovered=(collected(0), collected(9))))
        assert dump(store) == before

    def test_terms_are_kept_with_their_page(self, store: Store) -> None:
        store.commit(Batch(discovered=(collected(2, terms=b"two"), collected(1, terms=b"\0"))))
        store.commit(Batch(discovered=(collected(2, terms=b"2"),)))
        assert list(store.terms()) == [(1, b"\0"), (2, b"2")]
        assert (store.terms_of(2), store.terms_of(0)) == ((True, b"2"), None)

    def test_rescored_are_only_collected_pages(self, store: Store) -> None:
        store.commit(Batch(discovered=(collected(0),)))
        store.commit(Batch(discovered=(Discoveries(rescored={0: 0.25, 1: 0.75, 99: 1.0}),)))
        assert [record.relevance for record in store.pages()] == [0.25, None, None, None]

    def test_states_are_kept_by_name(self, store: Store) -> None:
        assert store.state("topic") is None
        store.commit(Batch(states={"topic": b"1", "limits": b"{}"}))
        store.commit(Batch(states={"topic": b"\0"}))
        assert (store.state("topic"), store.state("limits")) == (b"\0", b"{}")


class TestWhatCanBeFound:
    def test_a_changed_page_is_found_by_its_new_words(self, store: Store) -> None:
        store.commit(Batch(discovered=(collected(0, "a whale"), collected(1, "a whale"))))
        store.commit(Batch(discovered=(collected(0, "a shark"),)))
        assert (hits(store, "whale"), hits(store, "shark")) == ([1], [0])

    def test_a_page_that_is_the_same_stays_found(self, store: Store) -> None:
        for _ in range(3):
            store.commit(Batch(discovered=(collected(0),)))
        assert hits(store) == [0]

    def test_a_batch_may_have_its_pages_in_any_order_and_one_twice(self, store: Store) -> None:
        told = [collected(3, "a shark"), collected(2, "a seal"), collected(1), collected(3)]
        store.commit(Batch(discovered=tuple(told)))
        assert [page_id for page_id, *_ in history(store)] == [3, 2, 1]
        assert hits(store, "whale") == [1, 3]
        assert hits(store, "shark") == []
        store.commit(Batch(discovered=(collected(3, "a shark"), collected(1, "a seal"))))
        assert hits(store, "seal") == [1, 2]
        assert hits(store, "whale") == []

    def test_a_page_that_asks_not_to_be_indexed_is_not_found(self, store: Store) -> None:
        store.commit(Batch(discovered=(collected(0, indexed=False), collected(1))))
        assert hits(store) == [1]
        store.commit(Batch(discovered=(collected(0), collected(1, indexed=False))))
        assert hits(store) == [0]

    def test_a_duplicate_is_not_found(self, store: Store) -> None:
        store.commit(Batch(discovered=(collected(0), collected(1))))
        store.commit(Batch(discovered=(collected(1, duplicate_of=0),)))
        assert hits(store) == [0]
        store.commit(Batch(discovered=(collected(1),)))
        assert hits(store) == [0, 1]

    def test_a_page_that_is_gone_is_not_found_until_it_is_there_again(self, store: Store) -> None:
        first = poll(0, 1.0, Outcome.CHANGED)
        store.commit(Batch(polls=(first,), discovered=(collected(0),)))
        assert hits(store) == [0]
        for at, outcome, there in (
            (2.0, Outcome.GONE, []),
            (3.0, Outcome.FAILED, []),
            (2.5, Outcome.UNCHANGED, []),  # late: of an older poll
            (4.0, Outcome.UNCHANGED, [0]),
            (5.0, Outcome.FAILED, [0]),
            (4.5, Outcome.GONE, [0]),  # late
        ):
            store.commit(Batch(polls=(poll(0, at, outcome),)))
            assert hits(store) == there, outcome

    def test_a_removed_page_is_not_found(self, store: Store) -> None:
        store.commit(Batch(discovered=(collected(0), collected(1))))
        store.remove_pages([0], now=9.0)
        assert hits(store) == [1]
        store.commit(Batch(discovered=(collected(0),)))  # it was being polled meanwhile
        assert hits(store) == [1]

    def test_the_index_holds_just_what_can_be_found(self, store: Store) -> None:
        rng = np.random.default_rng(3)
        words = ["whale", "shark", "squid", "krill"]
        held: dict[int, set[str]] = {}
        for at in range(1, 200):
            page_id = int(rng.integers(4))
            mine = set(rng.choice(words, 2).tolist())
            gone, indexed, twin = rng.random(3) < (0.2, 0.8, 0.1)
            outcome = Outcome.GONE if gone else Outcome.CHANGED
            given = collected(
                page_id, " ".join(mine), indexed=bool(indexed), duplicate_of=3 if twin else None
            )
            store.commit(
                Batch(
                    polls=(poll(page_id, float(at), outcome),),
                    discovered=(*(() if gone else (given,)),),
                )
            )
            held[page_id] = mine if indexed and not twin and not gone else set()
            for word in words:
                assert hits(store, word) == sorted(p for p, have in held.items() if word in have)
        with closing(sqlite3.connect(store.path)) as connection, connection:
            # Of a table without its own texts it checks that the index hangs together.
            connection.execute("INSERT INTO full_text (full_text) VALUES ('integrity-check')")


class TestDocuments:
    def test_they_are_the_pages_that_were_seen(self, store: Store) -> None:
        store.commit(
            Batch(
                polls=(
                    poll(0, 2.0, Outcome.CHANGED, b"x"),
                    poll(0, 3.0, Outcome.CHANGED, b"y"),
                    poll(1, 3.0, Outcome.CHANGED, b"y"),
                    poll(1, 4.0, Outcome.GONE),
                    poll(2, 3.0, Outcome.FAILED),
                ),
                discovered=(collected(0), collected(1, duplicate_of=0)),
            )
        )
        assert list(store.documents()) == [
            Document(0, SITE, "Page 0", "a whale", 0.5, 0, 2.0, 3.0, 3.0, 2, 1, False, None),
            Document(1, f"{SITE}/1", "Page 1", "a whale", 0.5, 1, 3.0, 3.0, None, 2, 0, True, SITE),
        ]

    def test_only_the_relevant_ones(self, store: Store) -> None:
        store.commit(
            Batch(
                polls=tuple(poll(page_id, 2.0, Outcome.CHANGED, b"x") for page_id in range(4)),
                discovered=(
                    *(collected(page_id) for page_id in range(3)),
                    Discoveries(rescored={0: 0.2, 1: 0.7}),
                ),
            )
        )
        assert [document.page_id for document in store.documents(0.5)] == [1, 2]
        assert [document.page_id for document in store.documents()] == [0, 1, 2, 3]
        assert list(store.documents())[3].title is None

    def test_a_snapshot_shows_one_state(self, store: Store) -> None:
        store.commit(Batch(polls=(poll(0, 2.0, Outcome.CHANGED, b"x"),)))
        with Store.open_readonly(store.path) as reader:
            with reader.snapshot():
                assert len(list(reader.documents())) == 1
                store.commit(Batch(polls=(poll(1, 2.0, Outcome.CHANGED, b"x"),)))
                assert len(list(reader.documents())) == 1
                assert reader.load_learned() is None
            assert len(list(reader.documents())) == 2


class TestRevisits:
    def test_they_are_the_polls_that_found_the_same_bytes(self, store: Store) -> None:
        for at, outcome, body in (
            (1.0, Outcome.CHANGED, b"x"),
            (2.0, Outcome.UNCHANGED, b"x"),
            (3.0, Outcome.UNCHANGED, b"x <!-- other bytes, same text -->"),
            (4.0, Outcome.FAILED, b"x"),
            (5.0, Outcome.CHANGED, b"y"),
            (6.0, Outcome.UNCHANGED, b"y"),
            (2.5, Outcome.UNCHANGED, b"x"),  # late
        ):
            store.commit(Batch(polls=(poll(0, at, outcome, body),)))
        assert store.revisits(0) == [2.0, 2.5, 6.0]
        assert store.revisits(1) == []

    def test_a_page_without_any_version_has_none(self, store: Store) -> None:
        store.commit(Batch(polls=(poll(0, 1.0, Outcome.UNCHANGED),)))
        assert store.revisits(0) == []


def test_a_database_from_before_collections_is_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pollwise.db"
    before = migrations()[:2]
    monkeypatch.setattr(file_format, "migrations", lambda: before)
    Store.open(path).close()
    monkeypatch.undo()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO pages (id, url, scope, weight, cost, added_at, seen_at, polls)"
            " VALUES (0, ?, '', 1, 1, 0, 5, 1)",
            [SITE],
        )
        connection.execute("INSERT INTO polls VALUES (0, 5, 0, NULL, NULL, 1, 0)")
    with Store.open(path) as store:
        [record] = store.pages()
        assert (record.polls, record.depth, record.relevance) == (1, 0, None)
        assert store.revisits(0) == []
        assert list(store.history()) == []
        store.commit(Batch(discovered=(Discoveries(new_pages=(found(1),)), collected(0))))
        assert hits(store) == [0]
