"""Requests to the writer, and who is told of changes."""

from contextlib import suppress
from dataclasses import replace

from pollwise.store import Store
from pollwise.store.records import (
    NewPage,
    StoredReceiver,
    StoredSubscription,
    WaitingRequest,
)
from pollwise.testing.store_contract.opening import StoreOpening

__all__ = ["RequestsContract"]

OWN = StoredSubscription(0, "https://h/", "https://a/", "https://me/hub/x", "secret", 1.0)


class RequestsContract:
    """What others ask for waits in the store until it is answered."""

    def test_a_request_waits_until_it_is_answered(
        self, store: Store, opening: StoreOpening
    ) -> None:
        with opening.requester() as requester:
            one, two = (requester.put_request(text, 1.0) for text in ("one", "é"))
            assert store.waiting_requests() == [
                WaitingRequest(one, "one"),
                WaitingRequest(two, "é"),
            ]
            assert requester.answer(one) is None
            assert store.answer_request(one, 2.0, "done")
            assert not store.answer_request(one, 2.0, "again")
            assert requester.answer(one) == "done"
            assert requester.withdraw_request(two, 2.0)
            assert store.waiting_requests() == []
            assert not store.answer_request(two, 2.0, "late")
            assert store.put_request("three", 2.0 + 86_400.0) > two
            assert requester.answer(one) == "done"
            store.put_request("four", 3.0 + 86_400.0)
            assert requester.answer(one) is None, "after a day it is dropped"

    def test_of_many_requests_the_first_can_be_taken(self, store: Store) -> None:
        numbers = [store.put_request("x" * 10, 1.0) for _ in range(50)]
        assert [one.id for one in store.waiting_requests()] == numbers
        assert [one.id for one in store.waiting_requests(most=15)] == numbers[:2]

    def test_requests_put_together_are_kept_or_dropped_together(
        self, store: Store, opening: StoreOpening
    ) -> None:
        with opening.requester() as requester:
            with suppress(ZeroDivisionError), requester.together():
                requester.put_request("one", 1.0)
                _ = 1 / 0
            assert store.waiting_requests() == []
            with requester.together():
                for text in ("one", "two"):
                    requester.put_request(text, 1.0)
                assert store.waiting_requests() == []
            assert [one.text for one in store.waiting_requests()] == ["one", "two"]

    def test_what_others_write_is_noticed(self, store: Store, opening: StoreOpening) -> None:
        with opening.requester() as requester, opening.reader() as reader:
            before = store.written()
            read = reader.written()
            requester.put_request("one", 1.0)
            assert store.written() != before
            assert reader.written() != read

    def test_how_far_a_receiver_was_told(self, store: Store) -> None:
        assert store.receivers() == []
        told = StoredReceiver("me", 3, 5, 1.0, 2.0, 4, "why", 9.0)
        store.save_receiver(StoredReceiver("you", 1))
        store.save_receiver(StoredReceiver("me", 1))
        store.save_receiver(told)
        assert store.receivers() == [told, StoredReceiver("you", 1)]

    def test_a_hub_is_asked_for_one_of_each_page_until_it_is_removed(
        self, store: Store, opening: StoreOpening
    ) -> None:
        store.add_pages([NewPage(f"http://a.example/{n}") for n in range(3)], now=0.0)
        assert store.subscriptions() == []
        others = replace(OWN, page_id=1), replace(OWN, page_id=2)
        store.save_subscriptions([OWN, *others, replace(OWN, page_id=7)])
        assert store.subscriptions() == [OWN, *others], "there is no page 7"
        later = replace(OWN, asked_at=2.0, lease_until=3.0, failures=4, error="why")
        store.save_subscriptions([later])
        store.drop_subscriptions([1, 9])
        store.remove_pages([2], now=1.0)
        store.save_subscriptions([replace(OWN, page_id=2)])
        with opening.reader() as reader:
            assert reader.subscriptions() == [later]
