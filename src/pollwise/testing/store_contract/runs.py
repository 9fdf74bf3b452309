"""Runs, their events and their settings."""

import math
from contextlib import suppress

import pytest

from pollwise.errors import InputError
from pollwise.events import Added, Event, Polled, Tick
from pollwise.store import Store
from pollwise.store.records import Batch
from pollwise.testing.store_contract.opening import StoreOpening
from pollwise.testing.store_contract.samples import A, B, held, learned, poll
from pollwise.types import Observation, Outcome, Page

__all__ = ["RunsContract"]

EVENTS: tuple[Event, ...] = (
    Added(1.0, (Page(0, A.url),)),
    Polled(2.0, (Observation(0, 2.0, Outcome.CHANGED),)),
    Tick(math.inf),
)


class RunsContract:
    """The event log is that of the runs."""

    def test_events_belong_to_the_current_run(self, store: Store) -> None:
        one = store.start_run(1.0, {"policy": "bayes-index", "burst": 2}, b"state \x00 one")
        store.commit(Batch(events=EVENTS[:2]))
        store.commit(Batch(events=EVENTS[2:]))
        two = store.start_run(2.0, {}, b"two")
        store.commit(Batch(events=(Tick(5.0),)))
        assert tuple(store.events(one)) == EVENTS
        assert tuple(store.events(two)) == (Tick(5.0),)
        assert [(run.id, run.started_at, run.settings) for run in store.runs()] == [
            (one, 1.0, {"policy": "bayes-index", "burst": 2}),
            (two, 2.0, {}),
        ]
        assert store.initial_state(one) == b"state \x00 one"

    def test_a_long_log_is_read_in_order(self, store: Store) -> None:
        run = store.start_run(0.0, {}, b"")
        events = tuple(Tick(float(at)) for at in range(2500))
        store.commit(Batch(events=events))
        assert tuple(store.events(run)) == events

    def test_events_after_reopening_need_a_new_run(
        self, store: Store, opening: StoreOpening
    ) -> None:
        first = store.start_run(0.0, {}, b"")
        store.close()
        with opening.writer() as reopened:
            with pytest.raises(InputError, match="call start_run first"):
                reopened.commit(Batch(events=(Tick(0.0),)))
            assert reopened.start_run(1.0, {}, b"") > first

    def test_pruning_leaves_the_newest_runs(self, store: Store) -> None:
        store.prune_events(keep_runs=1)  # before the first run
        runs = []
        for at in range(3):
            runs.append(store.start_run(float(at), {}, b"state"))
            store.commit(Batch(events=(Tick(float(at)),)))
        store.prune_events(keep_runs=2)
        assert [len(list(store.events(run))) for run in runs] == [0, 1, 1]
        assert [run.id for run in store.runs()] == runs
        with pytest.raises(InputError, match=f"no run {runs[0]}, or its event log was pruned"):
            store.initial_state(runs[0])
        assert store.initial_state(runs[1]) == b"state"

    def test_the_current_run_is_never_pruned(self, store: Store) -> None:
        with pytest.raises(InputError, match="keep_runs is 0; expected at least 1"):
            store.prune_events(keep_runs=0)

    def test_the_scheduler_state_is_that_of_the_latest_batch_that_gave_one(
        self, store: Store
    ) -> None:
        assert store.scheduler_state() is None
        for state in ('{"n": 1}', '{"n": 2}', None):
            store.commit(Batch(scheduler=state))
        assert store.scheduler_state() == '{"n": 2}'

    def test_changed_settings_are_kept_until_a_run_takes_them(self, store: Store) -> None:
        store.change_settings({"budget": "500/hour", "burst": 2})
        store.change_settings({"burst": 3})
        assert store.changed_settings() == {"budget": "500/hour", "burst": 3}
        store.start_run(1.0, store.changed_settings(), None)
        assert store.changed_settings() == {}

    def test_states_are_kept_by_name(self, store: Store) -> None:
        assert store.state("filter") is None
        for data in (b"", bytes(range(256))):
            store.commit(Batch(states={"filter": data, "other": b"x"}))
            assert store.state("filter") == data

    def test_what_is_written_together_is_kept_or_dropped_together(self, store: Store) -> None:
        before = held(store)
        with suppress(ZeroDivisionError), store.together():
            store.add_pages([A], now=0.0)
            store.start_run(0.0, {}, None)
            _ = 1 / 0
        assert held(store) == before
        with store.together():
            store.add_pages([A], now=0.0)
            with pytest.raises(InputError):
                store.commit(
                    Batch(polls=(poll(0, 1.0, Outcome.CHANGED), poll(9, 1.0, Outcome.GONE)))
                )
            store.add_pages([B], now=0.0)
        assert [record.polls for record in store.pages()] == [0, 0]

    def test_all_is_there_after_reopening(self, store: Store, opening: StoreOpening) -> None:
        store.add_pages([A, B], now=0.0)
        store.start_run(0.0, {"policy": "uniform"}, b"state")
        store.commit(
            Batch(
                events=EVENTS,
                polls=(poll(0, 1.0, Outcome.CHANGED, b"body"),),
                learned=learned([0], 2.0),
                scheduler="{}",
            )
        )
        before = held(store)
        store.close()
        with opening.writer() as reopened:
            assert held(reopened) == before
