"""Polls, and what they tell of pages."""

import itertools
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError, StateError
from pollwise.events import Tick
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult, Postponed
from pollwise.testing.store_contract.samples import A, B, C, held, poll, steady
from pollwise.types import Mask, Noise, NumberTold, Observation, Outcome, PageMemory

__all__ = ["PollsContract"]

_numbers = itertools.count()


class PollsContract:
    """Polls count, in whichever order they come in; the latest one is believed."""

    def test_what_is_known_of_a_feed_is_kept(self, watched: Store) -> None:
        memory = PageMemory(items=("1f", "2e"))
        seen = Observation(0, 1.0, Outcome.CHANGED)
        watched.commit(Batch(polls=(PollResult(seen, memory, source="feed"),)))
        watched.commit(Batch(polls=(PollResult(replace(seen, polled_at=2.0), memory),)))
        record = watched.pages()[0]
        assert (record.memory.items, record.source) == (("1f", "2e"), "feed")

    def test_the_number_that_was_told_is_kept_until_other_parts_count(self, store: Store) -> None:
        store.add_pages([A, B], now=0.0)
        told = NumberTold(Decimal("1E+99999"), Decimal("-0.10"))
        memory = PageMemory(body_hash="0f", told_number=told)
        store.commit(Batch(polls=(replace(poll(0, 1.0, Outcome.CHANGED), memory=memory),)))
        for at, outcome in ((2.0, Outcome.UNCHANGED), (3.0, Outcome.FAILED), (4.0, Outcome.GONE)):
            store.commit(Batch(polls=(replace(poll(0, at, outcome), memory=memory),)))
            kept = store.pages()[0].memory.told_number
            assert (str(kept), kept) == (str(told), told)
        store.save_masks(0, memory)
        store.add_pages([replace(A, name="Named", notify_when=("rises by 1",))], now=5.0)
        assert [one.memory.told_number for one in store.pages()] == [told, None]
        late = replace(poll(0, 1.5, Outcome.CHANGED), memory=PageMemory(body_hash="0f"))
        store.commit(Batch(polls=(late,)))
        assert store.pages()[0].memory.told_number == told
        store.add_pages([replace(A, select=("main",))], now=6.0)
        assert store.pages()[0].memory == PageMemory()

    def test_what_a_page_is_taken_for_holds_until_a_poll_tells(self, store: Store) -> None:
        feed = replace(A, source="feed")
        store.add_pages([feed, B], now=0.0)
        store.add_pages([replace(B, source="feed")], now=1.0)
        assert [record.source for record in store.pages()] == ["feed", "feed"]
        seen = Observation(0, 1.0, Outcome.CHANGED)
        store.commit(Batch(polls=(PollResult(seen, PageMemory(), source="page"),)))
        store.add_pages([feed, B], now=2.0)
        assert [record.source for record in store.pages()] == ["page", "feed"]

    def test_the_first_copy_is_no_change(self, watched: Store) -> None:
        watched.commit(Batch(polls=(poll(0, 1.0, Outcome.CHANGED),)))
        record = watched.pages()[0]
        assert (record.polls, record.changes, record.last_changed_at) == (1, 0, None)
        assert record.page.seen_at == 1.0
        watched.commit(Batch(polls=(poll(0, 2.0, Outcome.CHANGED),)))
        record = watched.pages()[0]
        assert (record.polls, record.changes, record.last_changed_at) == (2, 1, 2.0)

    def test_what_the_server_says_of_the_latest_change_goes_first(self, watched: Store) -> None:
        told = Observation(0, 10.0, Outcome.UNCHANGED, last_changed_at=3.0, n_items=2, cost=0.5)
        watched.commit(Batch(polls=(PollResult(told, PageMemory()),)))
        record = watched.pages()[0]
        assert (record.last_changed_at, record.last_cost) == (3.0, 0.5)
        assert watched.recent_outcomes(0) == [told]

    @pytest.mark.parametrize("error", [None, "and something else is told"])
    def test_a_change_told_with_an_unchanged_copy_was_none(
        self, watched: Store, error: str | None
    ) -> None:
        copy = Observation(0, 10.0, Outcome.CHANGED, last_changed_at=3.0)
        stamped = Observation(0, 20.0, Outcome.UNCHANGED, last_changed_at=15.0)
        for seen in (copy, stamped):
            watched.commit(Batch(polls=(PollResult(seen, PageMemory(), error=error),)))
        assert watched.pages()[0].last_changed_at == 3.0
        assert watched.recent_outcomes(0)[0] == stamped

    def test_a_reversion_is_kept(self, watched: Store) -> None:
        told = Observation(0, 10.0, Outcome.CHANGED, reverted=True)
        watched.commit(Batch(polls=(PollResult(told, PageMemory()),)))
        assert watched.recent_outcomes(0) == [told]

    def test_failures_are_counted_in_a_row(self, watched: Store) -> None:
        for at, (outcome, failures) in enumerate(
            [(Outcome.FAILED, 1), (Outcome.FAILED, 2), (Outcome.GONE, 0), (Outcome.FAILED, 1)]
        ):
            watched.commit(Batch(polls=(poll(0, float(at), outcome, error="HTTP 500"),)))
            record = watched.pages()[0]
            assert (record.failures, record.outcome) == (failures, outcome)
            assert record.error == "HTTP 500"
            assert record.page.seen_at is None

    def test_a_postponed_poll_leaves_only_its_reason(self, watched: Store) -> None:
        watched.commit(Batch(polls=(poll(0, 1.0, Outcome.CHANGED),)))
        before = watched.pages()[0]
        watched.commit(Batch(polls=(poll(0, 2.0, Outcome.POSTPONED, error="no connection left"),)))
        postponed = Postponed(2.0, "no connection left")
        assert watched.pages()[0] == replace(before, postponed=postponed)
        assert len(watched.recent_outcomes(0)) == 1
        watched.commit(Batch(polls=(poll(0, 3.0, Outcome.UNCHANGED),)))
        assert watched.pages()[0].postponed is None
        watched.commit(Batch(polls=(poll(0, 2.5, Outcome.POSTPONED, error="late"),)))
        assert watched.pages()[0].postponed is None

    def test_our_own_shortage_is_not_told_as_the_fault_of_a_page(self, watched: Store) -> None:
        watched.commit(Batch(polls=(poll(0, 1.0, Outcome.FAILED, error="HTTP 500"),)))
        why = "no host '\ud800'"
        watched.commit(Batch(polls=(poll(0, 2.0, Outcome.POSTPONED, error=why),)))
        record = watched.pages()[0]
        assert (record.outcome, record.error, record.failures) == (Outcome.FAILED, "HTTP 500", 1)
        assert record.postponed == Postponed(2.0, why)

    def test_headers_that_are_no_text_come_back_as_they_were(self, watched: Store) -> None:
        memory = PageMemory('"\udcff"', "gestern, früh", "00", "ff", ("aa", "bb"))
        gone = Observation(0, 1.0, Outcome.FAILED)
        watched.commit(Batch(polls=(PollResult(gone, memory, error="no host '\ud800'"),)))
        assert watched.pages()[0].memory == memory
        assert watched.pages()[0].error == "no host '\ud800'"

    @pytest.mark.parametrize("outcome", [Outcome.UNCHANGED, Outcome.FAILED])
    def test_items_that_are_the_same_are_not_written_again(
        self, watched: Store, outcome: Outcome
    ) -> None:
        known = PageMemory(items=("1f", "2e"))
        watched.commit(Batch(polls=(replace(poll(0, 4.0, Outcome.CHANGED), memory=known),)))
        # Others than those that the store has, by which it is seen that it does not write them.
        told = replace(poll(0, 5.0, outcome), memory=PageMemory("x", items=("3d",)))
        watched.commit(Batch(polls=(replace(told, same_items=True),)))
        assert watched.pages()[0].memory == PageMemory("x", items=known.items)
        watched.commit(Batch(polls=(poll(0, 6.0, outcome),)))
        assert watched.pages()[0].memory.items == ()

    def test_the_polls_that_found_a_watched_page(self, watched: Store) -> None:
        watched.add_pages([A, B, C], now=0.0)
        outcomes = (Outcome.CHANGED, Outcome.FAILED, Outcome.UNCHANGED, Outcome.GONE)
        for page_id in (1, 0, 2):
            polls = tuple(poll(page_id, 10.0 + i, outcome) for i, outcome in enumerate(outcomes))
            watched.commit(Batch(polls=polls))
        watched.remove_pages([2], now=20.0)
        assert watched.outcomes().tolist() == [
            (0, 10.0, True), (0, 12.0, False), (1, 10.0, True), (1, 12.0, False)
        ]  # fmt: skip

    def test_the_latest_polls_are_kept_newest_first(self, watched: Store) -> None:
        polls = [poll(page, float(at), Outcome.UNCHANGED) for at in range(120) for page in (0, 1)]
        watched.commit(Batch(polls=tuple(polls)))
        times = [seen.polled_at for seen in watched.recent_outcomes(0, limit=1000)]
        assert times == [float(at) for at in range(119, 69, -1)]
        assert watched.recent_outcomes(1, limit=2) == [
            polls[-1].observation,
            polls[-3].observation,
        ]
        assert watched.pages()[0].polls == 120

    def test_a_poll_of_a_page_removed_meanwhile_is_kept(self, watched: Store) -> None:
        watched.remove_pages([0], now=1.0)
        watched.commit(Batch(polls=(poll(0, 2.0, Outcome.CHANGED, b"last"),)))
        assert [version.seen_at for version in watched.versions(0)] == [2.0]

    @pytest.mark.parametrize(
        ("batch", "message"),
        [
            (Batch(polls=(poll(7, 2.0, Outcome.CHANGED),)), "a poll of page 7, which .* never had"),
            (
                Batch(
                    polls=(
                        replace(
                            poll(0, 2.0, Outcome.CHANGED),
                            version=poll(1, 2.0, Outcome.CHANGED, b"other").version,
                        ),
                    )
                ),
                "a version of page 1 in a poll of page 0",
            ),
            (Batch(events=(Tick(0.0),)), "call start_run first"),
            (Batch(learned={"page_ids": np.arange(2), "page.a": np.zeros(1)}), "'page.a'"),
        ],
    )
    def test_a_batch_that_does_not_fit_is_refused_as_a_whole(
        self, watched: Store, batch: Batch, message: str
    ) -> None:
        before = held(watched)
        good = poll(1, 1.0, Outcome.CHANGED, b"body")
        whole = replace(batch, polls=(good, *batch.polls), scheduler="{}")
        with pytest.raises((InputError, StateError), match=message):
            watched.commit(whole)
        assert held(watched) == before
        watched.commit(Batch(polls=(good,)))
        assert watched.pages()[1].polls == 1

    def test_the_pages_without_a_copy_are_counted(self, watched: Store) -> None:
        assert watched.count_without_copy() == 2
        watched.commit(
            Batch(polls=(poll(0, 1.0, Outcome.CHANGED, b"body"), poll(1, 1.0, Outcome.FAILED)))
        )
        assert watched.count_without_copy() == 1
        watched.remove_pages([1], now=2.0)
        assert watched.count_without_copy() == 0

    @steady
    @given(
        st.lists(
            st.tuples(
                st.integers(0, 6).map(float),
                st.sampled_from(sorted(set(Outcome) - {Outcome.POSTPONED})),
            ),
            min_size=1,
            max_size=10,
        )
    )
    def test_a_page_is_as_its_latest_poll_left_it(
        self, store: Store, seen: list[tuple[float, Outcome]]
    ) -> None:
        latest, first_copy, seen_at, failures, changes = -math.inf, True, None, 0, 0
        outcome = None
        for at, what in seen:
            changes += what is Outcome.CHANGED and not first_copy
            if at > latest:
                latest, outcome = at, what
                failures = failures + 1 if what is Outcome.FAILED else 0
                if what in (Outcome.CHANGED, Outcome.UNCHANGED):
                    seen_at, first_copy = at, False
        [page] = store.add_pages([NewPage(f"https://{next(_numbers)}.example/")], now=0.0)
        polls = tuple(poll(page.id, at, what) for at, what in seen)
        store.commit(Batch(polls=polls))
        record = store.pages()[-1]
        times = [observation.polled_at for observation in store.recent_outcomes(page.id)]
        assert (record.polls, record.changes, record.failures) == (len(seen), changes, failures)
        assert (record.polled_at, record.outcome, record.page.seen_at) == (latest, outcome, seen_at)
        assert record.memory.etag == str(latest)
        assert times == sorted({at for at, _ in seen}, reverse=True)

    @pytest.mark.parametrize("count", [1, 31, 32, 33, 100])
    def test_any_number_of_polls_may_be_written_together(self, store: Store, count: int) -> None:
        store.add_pages([NewPage(f"https://{n}.example/") for n in range(count)], now=0.0)
        polls = tuple(poll(n, 1.0 + n, Outcome.UNCHANGED) for n in range(count))
        store.commit(Batch(polls=polls))
        told = [(one.polled_at, one.memory.etag) for one in store.pages()]
        assert told == [(1.0 + n, f"{1.0 + n}") for n in range(count)]

    def test_a_page_keeps_as_many_polls_whether_they_are_written_together(
        self, watched: Store
    ) -> None:
        for n in range(60):
            both = (poll(page_id, float(n), Outcome.UNCHANGED) for page_id in (0, 1))
            watched.commit(Batch(polls=tuple(both)))
        kept = [poll.polled_at for poll in watched.recent_outcomes(1, 100)]
        assert kept == [float(n) for n in range(59, 9, -1)]

    def test_a_page_that_never_was_is_refused_with_the_others(self, watched: Store) -> None:
        both = (poll(0, 1.0, Outcome.UNCHANGED), poll(7, 1.0, Outcome.UNCHANGED))
        with pytest.raises(InputError, match="a poll of page 7, which"):
            watched.commit(Batch(polls=both))
        assert watched.pages()[0].polls == 0

    def test_noise_goes_with_the_polls_of_a_page(self, watched: Store) -> None:
        mask = Mask(("a", "b\0"), ("c", "\n"), "d", 1, 2, 3, "é", "f")
        noise = Noise((mask,), changes_in_a_row=2, since_look=1, gap=4)
        assert watched.pages()[0].memory.noise == Noise()
        seen = Observation(0, 5.0, Outcome.CHANGED)
        watched.commit(Batch(polls=(PollResult(seen, PageMemory(noise=noise)),)))
        record = watched.pages()[0]
        assert record.memory.noise == noise
        assert record.page.changes_in_a_row == 2
        watched.save_masks(0, PageMemory(text_hash="ab"))
        record = watched.pages()[0]
        assert (record.memory.noise, record.memory.text_hash) == (Noise(), "ab")
