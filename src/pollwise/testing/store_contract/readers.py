"""Readers beside the writer, and the one writer."""

import pytest

from pollwise.errors import StoreError, StoreInUseError
from pollwise.events import Tick
from pollwise.store import Store
from pollwise.store.records import Batch
from pollwise.testing.store_contract.opening import StoreOpening
from pollwise.testing.store_contract.samples import A

__all__ = ["ReadersContract"]


class ReadersContract:
    """Any number of readers, one writer."""

    def test_a_reader_sees_what_the_writer_commits_at_once(
        self, store: Store, opening: StoreOpening
    ) -> None:
        with opening.reader() as reader:
            assert reader.pages() == []
            store.add_pages([A], now=0.0)
            assert reader.pages() == store.pages() != []
            store.commit(Batch(scheduler="{}"))
            assert reader.scheduler_state() == "{}"

    def test_a_slow_reader_does_not_hold_the_writer_up(
        self, store: Store, opening: StoreOpening
    ) -> None:
        run = store.start_run(0.0, {}, b"")
        store.commit(Batch(events=(Tick(0.0), Tick(1.0))))
        with opening.reader() as reader:
            events = reader.events(run)
            assert next(events) == Tick(0.0)
            store.commit(Batch(events=(Tick(2.0),)))
            assert list(events) == [Tick(1.0), Tick(2.0)]

    def test_a_reader_cannot_write(self, store: Store, opening: StoreOpening) -> None:
        with opening.reader() as reader:
            for write in (
                lambda: reader.add_pages([A], now=0.0),
                lambda: reader.remove_pages([0], now=0.0),
                lambda: reader.commit(Batch(scheduler="{}")),
                lambda: reader.start_run(0.0, {}, b""),
                reader.forget_learned,
            ):
                with pytest.raises(StoreError, match="cannot be written"):
                    write()
            assert reader.scheduler_state() is None

    def test_closing_twice_is_no_error(self, store: Store, opening: StoreOpening) -> None:
        reader = opening.reader()
        for _ in range(2):
            reader.close()
            store.close()

    def test_a_snapshot_stays_as_it_was(self, store: Store, opening: StoreOpening) -> None:
        with opening.reader() as reader, reader.snapshot():
            assert reader.pages() == []
            store.add_pages([A], now=0.0)
            with reader.snapshot():
                assert reader.pages() == []
            assert reader.pages() == []
        with opening.reader() as reader:
            assert len(reader.pages()) == 1

    def test_a_second_writer_is_refused_until_the_first_closes(
        self, store: Store, opening: StoreOpening
    ) -> None:
        with pytest.raises(StoreInUseError, match=r"is in use by process .*: stop that"):
            opening.writer()
        store.close()
        opening.writer().close()

    def test_a_store_is_told_from_any_other(self, store: Store, opening: StoreOpening) -> None:
        with opening.reader() as reader:
            assert reader.database_id() == store.database_id()
