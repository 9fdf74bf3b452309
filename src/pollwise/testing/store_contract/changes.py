"""Changes, and that pages are gone and back."""

from typing import Any

import pytest

from pollwise.store import Store
from pollwise.store.records import Batch, FoundItem, NewPage, PollResult, StoredChange
from pollwise.testing.store_contract.opening import StoreOpening
from pollwise.testing.store_contract.samples import A, gone, poll
from pollwise.types import Observation, Outcome, PageMemory

__all__ = ["ChangesContract"]


class ChangesContract:
    """What happened to pages that had a copy is told once each."""

    def test_every_change_gets_a_number_that_is_never_given_again(self, watched: Store) -> None:
        items = (FoundItem("a", "News", "https://a.example/n", 3.5), FoundItem("b"))
        for at, reverted in ((1.0, False), (2.0, False), (4.0, True), (3.0, False)):
            seen = Observation(0, at, Outcome.CHANGED, reverted=reverted)
            result = PollResult(seen, PageMemory(), title=f"At {at:g}", items=items)
            watched.commit(Batch(polls=(result, poll(1, at, Outcome.UNCHANGED))))
        assert list(watched.changes()) == [  # neither the first copy, nor one that came late
            StoredChange(1, 0, A.url, 2.0, 1.0, False, "At 2", items),
            StoredChange(2, 0, A.url, 4.0, 2.0, True, "At 4", items),
        ]
        assert [one.seq for one in watched.changes(after=1)] == [2]
        assert [one.seq for one in watched.changes(since=4.0, page_id=0)] == [2]
        assert list(watched.changes(page_id=1)) == []
        assert watched.count_changes() == (2, 2.0)
        assert watched.count_changes(after=1) == (1, 4.0)
        assert watched.count_changes(after=2) == (0, None)
        assert watched.pages()[0].title == "At 4"
        watched.remove_pages([0], now=9.0)
        assert [one.url for one in watched.changes()] == [A.url, A.url]

    def test_a_change_may_be_held_back_from_notices(self, watched: Store) -> None:
        items = (FoundItem("a", held_back=True), FoundItem("b"))
        for at, held_back in ((1.0, True), (2.0, True), (3.0, False)):
            seen = Observation(0, at, Outcome.CHANGED)
            result = PollResult(seen, PageMemory(), items=items, held_back=held_back)
            watched.commit(Batch(polls=(result,)))
        assert [one.held_back for one in watched.changes()] == [True, False]
        assert [one.items for one in watched.newest_changes(1)] == [items]
        assert watched.count_changes() == (2, 2.0)
        assert watched.count_changes(to_tell=True) == (1, 3.0)
        assert watched.count_changes(to_tell=True, page_ids=[0]) == (1, 3.0)
        watched.commit(Batch(polls=(gone(0, 4.0, 404),)))
        back = PollResult(Observation(0, 5.0, Outcome.CHANGED), PageMemory(), held_back=True)
        watched.commit(Batch(polls=(back,)))
        assert watched.count_changes(to_tell=True) == (3, 3.0)  # that it is back is always told

    @pytest.mark.parametrize("alone", [True, False], ids=["alone", "together"])
    def test_that_a_page_is_gone_and_back_is_told_once(self, watched: Store, alone: bool) -> None:
        polls = (
            poll(0, 1.0, Outcome.CHANGED),
            gone(0, 2.0, 404),
            gone(0, 3.0, 410),
            poll(0, 4.0, Outcome.FAILED),
            gone(0, 5.0, 404),
            poll(0, 6.0, Outcome.FAILED),
            poll(0, 5.5, Outcome.UNCHANGED),  # late: what was told since holds
            poll(0, 7.0, Outcome.UNCHANGED),
            poll(0, 8.0, Outcome.UNCHANGED),
            gone(0, 7.5, 404),  # late
            gone(0, 9.0, 410),
            PollResult(Observation(0, 10.0, Outcome.CHANGED), PageMemory(), title="New"),
            poll(0, 11.0, Outcome.CHANGED),
        )
        for one in polls if alone else ():
            watched.commit(
                Batch(polls=(one, poll(1, one.observation.polled_at, Outcome.UNCHANGED)))
            )
        if not alone:
            watched.commit(Batch(polls=polls))
        assert [(c.kind.name, c.seen_at, c.before_at, c.status) for c in watched.changes()] == [
            ("GONE", 2.0, 1.0, 404),
            ("BACK", 7.0, 5.0, None),
            ("GONE", 9.0, 8.0, 410),
            ("BACK_CHANGED", 10.0, 9.0, None),
            ("CHANGED", 11.0, 10.0, None),
        ]
        assert [c.title for c in watched.changes()] == [None, None, None, "New", "New"]
        assert watched.pages()[0].changes == 2
        assert watched.count_changes() == (5, 2.0)
        assert watched.count_changes(of_content=True) == (2, 10.0)

    def test_a_page_that_never_had_a_copy_is_not_told_as_gone(self, watched: Store) -> None:
        for one in (gone(0, 1.0, 404), poll(0, 2.0, Outcome.CHANGED), gone(0, 3.0, 404)):
            watched.commit(Batch(polls=(one,)))
        assert [one.seen_at for one in watched.changes()] == [3.0]

    def test_imported_checks_tell_of_nothing_that_is_gone(self, watched: Store) -> None:
        watched.import_checks([poll(0, 1.0, Outcome.CHANGED), gone(0, 2.0, 404)], {})
        assert list(watched.changes()) == []

    def test_changes_are_marked_as_read_and_as_unread(self, watched: Store) -> None:
        for at in (1.0, 2.0, 3.0, 4.0):
            seen = Observation(0, at, Outcome.CHANGED)
            watched.commit(Batch(polls=(PollResult(seen, PageMemory()),)))
        assert [one.read for one in watched.changes()] == [False, False, False]
        assert watched.mark_read([3, 3, 99]) == 1
        assert [one.seq for one in watched.changes(unread=True)] == [1, 2]
        assert [one.read for one in watched.changes()] == [False, False, True]
        assert watched.mark_read([3], read=False) == 1
        assert watched.mark_read(up_to=2) == 2
        assert [one.seq for one in watched.changes(unread=True, since=2.0)] == [3]
        assert [one.seq for one in watched.changes(unread=True, page_id=0, after=2)] == [3]
        assert watched.count_changes(unread=True) == (1, 4.0)

    def test_the_newest_changes_are_read_without_the_others(self, watched: Store) -> None:
        for at in (1.0, 2.0, 3.0, 4.0, 5.0):
            seen = Observation(0, at, Outcome.CHANGED)
            watched.commit(Batch(polls=(PollResult(seen, PageMemory()),)))
        watched.mark_read([3])

        def newest(limit: int, **asked: Any) -> list[int]:
            return [one.seq for one in watched.newest_changes(limit, **asked)]

        assert (newest(2), newest(9), newest(2**63)) == ([3, 4], [1, 2, 3, 4], [1, 2, 3, 4])
        assert newest(2, unread=True) == [2, 4]
        assert newest(9, after=1, since=3.0) == [2, 3, 4]
        assert newest(9, tags=("other",)) == []
        watched.add_pages([NewPage(A.url, A.scope, tags=("one", "other"))], now=6.0)
        assert newest(1, tags=("other",)) == [4]
        assert newest(2, before=4) == [2, 3]
        assert newest(9, after=1, before=3) == [2]

    def test_the_newest_changes_of_pages_are_read_without_those_of_others(
        self, watched: Store
    ) -> None:
        watched.add_pages([NewPage(A.url, A.scope, tags=("one",))], now=0.0)
        for at in (1.0, 2.0, 3.0):
            watched.commit(Batch(polls=tuple(poll(page, at, Outcome.CHANGED) for page in (0, 1))))
        own = [one.seq for one in watched.changes(page_id=0)]
        watched.mark_read([own[1]])

        def told(limit: int = 9, before: int | None = None, **asked: Any) -> list[int]:
            newest = [one.seq for one in watched.newest_changes(limit, before=before, **asked)]
            if limit == 9 and before is None:
                assert watched.count_changes(**asked)[0] == len(newest)
            return newest

        assert told(page_ids=[0]) == own
        assert told(page_ids=[0, 1]) == told(page_ids=[1, 0, 99]) == told() == [1, 2, 3, 4]
        assert told(page_ids=[]) == told(page_ids=[1], tags=("one",)) == []
        assert told(page_ids=[0], unread=True) == told(page_ids=[0], since=2.0, after=0)[:1]
        assert told(page_ids=[0], since=3.0) == own[1:]
        assert told(page_ids=[0], after=own[0], tags=("one",)) == own[1:]
        assert told(page_ids=[0], limit=1) == own[1:]
        assert told(page_ids=[0], before=own[1]) == own[:1]

    def test_what_is_no_tag_is_that_of_no_change(self, watched: Store) -> None:
        watched.add_pages([NewPage(A.url, A.scope, tags=("one", "other"))], now=0.0)
        for at in (1.0, 2.0):
            seen = tuple(poll(page, at, Outcome.CHANGED) for page in (0, 1))
            watched.commit(Batch(polls=seen))
        for tag in ("one other", " one", "", " ", "\0", "one\0", "%", "\udce9"):
            assert watched.newest_changes(9, tags=(tag,)) == []
            assert watched.count_changes(tags=(tag,)) == (0, None)
        assert len(watched.newest_changes(9, tags=("", "one"))) == 1

    def test_what_is_gone_is_known_after_a_restart(
        self, watched: Store, opening: StoreOpening
    ) -> None:
        watched.commit(Batch(polls=(poll(0, 1.0, Outcome.CHANGED), gone(0, 2.0, 404))))
        watched.close()
        with opening.writer() as again:
            again.commit(Batch(polls=(gone(0, 3.0, 404),)))
            assert [one.seen_at for one in again.changes()] == [2.0]
