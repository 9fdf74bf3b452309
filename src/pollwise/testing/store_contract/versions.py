"""Versions of pages: kept, told, and dropped in time."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult, StoredVersion, Totals
from pollwise.store.retention import KEPT_POLLS, Retention
from pollwise.testing.store_contract.opening import StoreOpening
from pollwise.testing.store_contract.samples import A, B, C, poll
from pollwise.types import Observation, Outcome, PageMemory, Version
from pollwise.units import DAY

__all__ = ["VersionsContract"]

BODIES = (b"", b"<p>" * 1000, bytes(range(256)))
MANY = 20


class VersionsContract:
    """Bodies come back as they were, as long as they are to be kept."""

    def test_bodies_come_back_as_they_were(self, watched: Store) -> None:
        for at, body in enumerate(BODIES):
            watched.commit(Batch(polls=(poll(0, float(at), Outcome.CHANGED, body),)))
        watched.remove_pages([0], now=9.0)
        versions = watched.versions(0)
        assert [version.seen_at for version in versions] == [0.0, 1.0, 2.0]
        assert [version.size for version in versions] == [len(body) for body in BODIES]
        assert tuple(watched.body(version.body_hash) for version in versions) == BODIES

    def test_a_body_is_stored_once(self, watched: Store) -> None:
        noise = np.random.default_rng(1).bytes(200_000)
        polls = [poll(page, float(at), Outcome.CHANGED, noise) for page in (0, 1) for at in (0, 1)]
        watched.commit(Batch(polls=tuple(polls)))
        assert len(watched.versions(0)) == len(watched.versions(1)) == 2
        assert watched.totals().versions == 4
        assert watched.sizes().bodies < 300_000

    def test_a_version_says_what_it_is(self, watched: Store) -> None:
        result = poll(0, 3.0, Outcome.CHANGED, b"abc")
        assert result.version is not None
        odd = replace(result.version, content_type="text/\udce9")
        watched.commit(Batch(polls=(replace(result, version=odd),)))
        assert watched.versions(0) == [StoredVersion(3.0, "text/\udce9", odd.body_hash, 3)]
        assert watched.versions(1) == []

    def test_a_version_keeps_the_head_of_its_answer(self, watched: Store) -> None:
        head = b"HTTP/1.1 200 OK\r\nX-Odd: caf\xe9\r\n" + b"A: b\r\n" * 1000
        result = poll(0, 3.0, Outcome.CHANGED, b"abc")
        assert result.version is not None
        told = replace(result, version=replace(result.version, head=head))
        watched.commit(Batch(polls=(told, poll(0, 4.0, Outcome.CHANGED, b"def"))))
        assert watched.head(0, 3.0) == head
        assert watched.head(0, 4.0) == watched.head(0, 5.0) == watched.head(1, 3.0) == b""

    def test_an_unknown_body_is_refused(self, watched: Store) -> None:
        with pytest.raises(InputError, match="no body with the hash 'abc'"):
            watched.body("abc")

    def test_an_empty_store_holds_nothing(self, store: Store) -> None:
        totals = store.totals()
        assert replace(totals, bytes=0) == Totals(0, 0, 0, 0, 0, 0)

    def test_watched_pages_and_all_versions_are_counted(self, store: Store) -> None:
        store.add_pages([A, B, C], now=0.0)
        polls = [
            poll(0, 1.0, Outcome.CHANGED, b"one"),
            poll(0, 2.0, Outcome.CHANGED, b"two"),
            poll(0, 3.0, Outcome.UNCHANGED),
            poll(1, 3.0, Outcome.FAILED),
            poll(1, 4.0, Outcome.FAILED),
            poll(2, 4.0, Outcome.CHANGED, b"gone"),
            poll(2, 5.0, Outcome.FAILED),
        ]
        store.commit(Batch(polls=tuple(polls)))
        store.remove_pages([2], now=6.0)
        size = store.totals().bytes
        assert store.totals() == Totals(
            pages=2, polls=5, changes=1, failing=1, versions=3, bytes=size
        )

    @pytest.fixture
    def many(self, store: Store) -> Store:
        """The writer of a store with twenty watched pages."""
        store.add_pages([NewPage(f"https://{n}.example/") for n in range(MANY)], now=0.0)
        return store

    def test_all_are_kept_unless_told_otherwise(self, many: Store) -> None:
        for at in range(200):
            many.commit(Batch(polls=(seen(0, at * DAY, b"%d" % at),)))
        assert len(times(many)) == 200

    def test_of_each_page_the_newest_so_many_are_kept(self, many: Store) -> None:
        many.keep_versions(Retention(versions=3))
        for at in range(10):
            many.commit(Batch(polls=(seen(0, float(at), b"%d" % at),)))
        assert times(many) == [7.0, 8.0, 9.0]
        assert many.lately(0.0).bodies == 3
        with pytest.raises(InputError, match="no body"):
            many.body(b"6".hex())

    def test_those_of_an_age_are_kept_and_the_newest_however_old(self, many: Store) -> None:
        many.keep_versions(Retention(age=30 * DAY))
        many.commit(Batch(polls=(seen(1, 0.0, b"only"),)))
        for at in range(0, 100, 10):
            many.commit(Batch(polls=(seen(0, at * DAY, b"%d" % at),)))
        assert times(many) == [60 * DAY, 70 * DAY, 80 * DAY, 90 * DAY]
        for at in range(100, 200, 10):
            many.commit(Batch(polls=(seen(0, at * DAY, None),)))
        assert times(many) == [90 * DAY]
        assert times(many, 1) == [0.0]

    def test_a_clock_that_is_far_ahead_drops_none_for_its_age(
        self, many: Store, opening: StoreOpening
    ) -> None:
        year = 365 * DAY
        for at in range(0, 100, 10):
            many.commit(Batch(polls=(seen(0, year + at * DAY, b"%d" % at),)))
        many.close()
        with opening.writer() as store:
            # As `watch URL` does, before it begins.
            store.add_pages([NewPage("https://0.example/")], now=70 * year)
            store.set_back_times(70 * year)
            assert store.ages_count_from == 70 * year + 7 * DAY
            store.keep_versions(Retention(age=90 * DAY))
            store.commit(Batch(polls=(seen(0, 70 * year + DAY, b"ahead"),)))
            assert len(times(store)) == 11
        with opening.writer() as store:
            store.set_back_times(70 * year + 2 * DAY)
            assert store.ages_count_from == 70 * year + 7 * DAY
            store.keep_versions(Retention(age=90 * DAY))
            store.commit(Batch(polls=(seen(0, 70 * year + 2 * DAY, None),)))
            assert len(times(store)) == 11
            store.set_back_times(year + 91 * DAY)
            assert store.ages_count_from == -math.inf
            store.commit(Batch(polls=(seen(0, year + 92 * DAY, b"now"),)))
            assert len(times(store)) == 11
        with opening.writer() as store:
            store.set_back_times(70 * year)  # it is so much later
            store.keep_versions(Retention(age=90 * DAY))
            for _ in range(2):
                store.commit(Batch(polls=(seen(0, 70 * year + 8 * DAY, None),)))
            assert len(times(store)) == 1

    def test_it_tells_how_many_bodies_and_polls_came_since(self, many: Store) -> None:
        many.commit(Batch(polls=(seen(0, 1.0, b"a"), seen(1, 2.0, b"b"), seen(2, 9.0, b"c"))))
        for at in range(3, 3 + KEPT_POLLS):
            many.commit(Batch(polls=(seen(3, float(at), None),)))
        for late in (8.0, 9.0):
            many.commit(Batch(polls=(seen(1, late, b"%d" % late),)))
        many.commit(Batch(polls=(seen(4, 9.0, b"removed"),)))
        many.remove_pages([4], now=10.0)
        told = [many.lately(since) for since in (0.0, 9.0, 10.0)]
        assert [(one.new_bodies, one.new_polls) for one in told] == [(6, 5), (3, 2), (0, 0)]

    def test_a_body_that_another_version_has_stays(self, many: Store) -> None:
        many.keep_versions(Retention(versions=1))
        many.commit(Batch(polls=(seen(0, 1.0, b"shared"), seen(1, 1.0, b"shared"))))
        many.commit(Batch(polls=(seen(0, 2.0, b"new"),)))
        assert many.body(many.versions(1)[0].body_hash) == b"shared"
        many.commit(Batch(polls=(seen(1, 3.0, b"new"),)))
        assert many.lately(0.0).bodies == 1

    def test_the_round_comes_to_pages_that_are_not_polled_or_were_removed(
        self, many: Store
    ) -> None:
        for at in range(3):
            polls = [seen(page_id, float(at), b"%d" % at) for page_id in range(MANY)]
            many.commit(Batch(polls=tuple(polls)))
        many.remove_pages([7], now=9.0)
        many.keep_versions(Retention(versions=1))
        for at in range(10, 15):
            many.commit(Batch(polls=(seen(0, float(at), None),)))
        assert [times(many, page_id) for page_id in range(MANY)] == [[2.0]] * MANY

    def test_what_is_told_of_dropped_versions_stays_right(self, many: Store) -> None:
        many.commit(Batch(polls=(seen(0, 1.0, b"one"), seen(1, 4.0, b"late"))))
        many.commit(Batch(polls=(seen(0, 2.0, b"two"), seen(1, 3.0, b"early"))))
        same = PollResult(
            Observation(0, 2.5, Outcome.UNCHANGED), PageMemory(body_hash=b"two".hex())
        )
        many.commit(Batch(polls=(same,)))
        many.keep_versions(Retention(versions=1))
        many.commit(Batch(polls=(seen(0, 5.0, b"three"),)))
        assert times(many) == [5.0]
        again = PollResult(
            Observation(0, 6.0, Outcome.UNCHANGED), PageMemory(body_hash=b"three".hex())
        )
        many.commit(Batch(polls=(again,)))
        assert many.revisits(0) == [2.5, 6.0]
        assert [document.first_seen_at for document in many.documents()] == [1.0, 3.0]


def seen(page_id: int, at: float, body: bytes | None) -> PollResult:
    """A poll that found this body, or what was there before."""
    outcome = Outcome.UNCHANGED if body is None else Outcome.CHANGED
    version = None if body is None else Version(page_id, at, "text/html", body, body.hex())
    memory = PageMemory(body_hash=None if body is None else body.hex())
    return PollResult(Observation(page_id, at, outcome), memory, version)


def times(store: Store, page_id: int = 0) -> list[float]:
    """When the versions of a page were first seen."""
    return [version.seen_at for version in store.versions(page_id)]
