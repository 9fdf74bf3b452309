"""Times of a clock that was ahead hold up nothing: they are set back when a run begins."""

from dataclasses import replace

from pollwise.store import Store
from pollwise.store.records import (
    Batch,
    ClockSetBack,
    NewPage,
    PollResult,
    Postponed,
    StoredReceiver,
    StoredSubscription,
)
from pollwise.types import Observation, Outcome, PageMemory, Version

__all__ = ["ClocksContract"]

NOW = 1.7e9
MONTH = 30 * 86_400.0
PAGES = [NewPage("https://a.example/"), NewPage("https://b.example/")]


class ClocksContract:
    """A clock that was ahead freezes no page."""

    def test_a_clock_that_was_ahead_freezes_no_page(self, store: Store) -> None:
        assert store.latest_time() == 0.0
        store.add_pages(PAGES, now=NOW - 10.0)
        store.commit(Batch(polls=(timed(0, NOW - 9.0, b"one"),)))
        ahead = [timed(0, NOW + MONTH + n, b"%d" % n) for n in range(60)]
        for one in ahead:
            store.commit(Batch(polls=(one,)))
        store.start_run(NOW + MONTH, {}, None)

        assert store.latest_time() == NOW + MONTH + 59.0
        told = store.set_back_times(NOW)
        assert told == ClockSetBack(NOW, MONTH + 59.0, polls=50)
        assert store.latest_time() == NOW
        assert store.clock_set_back() == told
        assert store.runs()[0].started_at == NOW
        record = store.pages()[0]
        assert record.polled_at == record.page.seen_at == record.last_changed_at
        assert record.polled_at is not None
        assert record.polled_at < NOW
        bodies = [store.body(version.body_hash) for version in store.versions(0)]
        assert bodies == [b"one", *(b"%d" % n for n in range(60))]
        assert store.versions(0)[-1].seen_at == record.polled_at

        store.commit(Batch(polls=(timed(0, NOW, b"new"),)))
        record = store.pages()[0]
        assert (record.polled_at, record.page.seen_at, record.memory.etag) == (NOW, NOW, str(NOW))
        assert store.recent_outcomes(0, 1) == [Observation(0, NOW, Outcome.CHANGED)]
        assert store.body(store.versions(0)[-1].body_hash) == b"new"

    def test_what_servers_told_of_the_future_is_set_back_too(self, store: Store) -> None:
        store.add_pages(PAGES, now=NOW + MONTH)
        store.commit(Batch(polls=(timed(1, NOW + MONTH),)))
        store.set_back_times(NOW)
        record = store.pages()[1]
        assert record.added_at <= NOW
        assert record.last_changed_at == NOW
        assert store.recent_outcomes(1)[0].last_changed_at == NOW

    def test_times_that_are_past_stay_as_they_are(self, store: Store) -> None:
        store.add_pages(PAGES, now=0.0)
        store.commit(Batch(polls=(timed(0, NOW, b"one"), timed(1, NOW - 5.0))))
        before = (store.pages(), store.versions(0), store.recent_outcomes(1))
        assert store.set_back_times(NOW) is None
        assert store.clock_set_back() is None
        assert (store.pages(), store.versions(0), store.recent_outcomes(1)) == before
        # A page that is not ahead itself keeps its times when another one is set back.
        store.commit(Batch(polls=(timed(1, NOW + 9.0),)))
        assert store.set_back_times(NOW) == ClockSetBack(NOW, 9.0, polls=1)
        assert (store.pages()[0], store.versions(0)) == (before[0][0], before[1])

    def test_an_older_poll_still_changes_nothing_after_times_were_set_back(
        self, store: Store
    ) -> None:
        store.add_pages(PAGES, now=0.0)
        store.commit(Batch(polls=(timed(0, NOW + MONTH, b"late"),)))
        store.set_back_times(NOW)
        before = store.pages()[0]
        store.commit(Batch(polls=(timed(0, NOW - 60.0, b"early"),)))
        after = store.pages()[0]
        assert (after.memory, after.polled_at) == (before.memory, before.polled_at)
        assert [v.body_hash for v in store.versions(0)] == ["early", "late"]

    def test_a_time_that_is_not_ahead_stays_where_another_of_its_page_moves(
        self, store: Store
    ) -> None:
        store.add_pages(PAGES, now=NOW + MONTH)
        store.commit(Batch(polls=(timed(0, NOW),)))
        store.set_back_times(NOW)
        assert store.pages()[0].polled_at == NOW

    def test_the_times_of_removed_pages_are_set_back(self, store: Store) -> None:
        store.add_pages(PAGES, now=0.0)
        store.commit(Batch(polls=(timed(0, NOW + 1.0, b"one"),)))
        store.remove_pages([0], now=NOW + 2.0)
        store.set_back_times(NOW)
        assert store.versions(0)[0].seen_at < NOW

    def test_clocks_that_differ_a_little_are_not_told(self, store: Store) -> None:
        store.add_pages(PAGES, now=0.0)
        store.commit(Batch(polls=(timed(0, NOW + MONTH),)))
        told = store.set_back_times(NOW + 60.0)
        assert told is not None
        for ahead in (0.004, 5.0):
            store.commit(Batch(polls=(timed(0, NOW + 60.0 + ahead),)))
            assert store.set_back_times(NOW + 60.0) is None
            polled_at = store.pages()[0].polled_at
            assert polled_at is not None
            assert polled_at < NOW + 60.0
            assert store.clock_set_back() == told

    def test_the_time_of_a_postponed_poll_is_set_back_too(self, store: Store) -> None:
        store.add_pages(PAGES, now=0.0)
        seen = Observation(0, NOW + MONTH, Outcome.POSTPONED)
        store.commit(Batch(polls=(PollResult(seen, PageMemory(), error="no connection left"),)))
        assert store.set_back_times(NOW) == ClockSetBack(NOW, MONTH, polls=0)
        assert store.pages()[0].postponed == Postponed(NOW, "no connection left")

    def test_what_receivers_were_told_of_the_future_is_set_back_too(self, store: Store) -> None:
        # Of these times alone the latest time knows nothing.
        failing = StoredReceiver("failing", 3, 4, NOW - 9.0, NOW + MONTH, 2, "no", NOW + MONTH + 7)
        told, past = (StoredReceiver("told", 4, 0, at, at) for at in (NOW + 9.0, NOW - 9.0))
        past = replace(past, name="past")
        for receiver in (failing, told, past):
            store.save_receiver(receiver)
        assert store.set_back_times(NOW) is None
        assert store.receivers() == [
            replace(failing, tried_at=NOW, asked_until=NOW + 7.0),
            past,
            replace(told, sent_at=NOW, tried_at=NOW),
        ]

    def test_when_hubs_were_asked_in_the_future_is_set_back_too(self, store: Store) -> None:
        store.add_pages([NewPage(f"https://{n}.example/") for n in range(4)], now=0.0)
        new, asked, past, leased = (
            StoredSubscription(n, "hub", "topic", "callback", "secret", due_at=NOW + MONTH)
            for n in range(4)
        )
        asked = replace(asked, asked_at=NOW + 9.0, failures=1, error="no answer yet")
        past = replace(past, asked_at=NOW - 9.0, lease_until=NOW + 2 * MONTH)
        leased = replace(past, page_id=3, asked_at=NOW + 9.0)
        store.save_subscriptions([new, asked, past, leased])
        assert store.set_back_times(NOW) is None
        put_off = NOW + MONTH - 9.0
        assert store.subscriptions() == [
            replace(new, due_at=NOW),
            replace(asked, due_at=put_off, asked_at=NOW),
            past,
            replace(leased, due_at=put_off, asked_at=NOW, lease_until=put_off + MONTH),
        ]

    def test_the_time_of_a_removal_is_set_back_too(self, store: Store) -> None:
        store.add_pages(PAGES, now=0.0)
        store.remove_pages([0], now=NOW + MONTH)
        store.remove_pages([0, 7], now=NOW + 2 * MONTH)  # which are removed or unknown
        assert store.set_back_times(NOW) == ClockSetBack(NOW, MONTH, polls=0)
        assert [record.page.id for record in store.pages()] == [1]
        assert store.set_back_times(NOW) is None


def timed(page_id: int, at: float, body: bytes | None = None) -> PollResult:
    """A poll that remembers its time as the page's etag."""
    if body is None:
        seen = Observation(page_id, at, Outcome.UNCHANGED, last_changed_at=at - 5.0)
        return PollResult(seen, PageMemory(etag=str(at), body_hash="same"))
    version = Version(page_id, at, "text/html", body, body.decode())
    return PollResult(Observation(page_id, at, Outcome.CHANGED), PageMemory(etag=str(at)), version)
