"""What hubs are asked for is kept, as long as the page is watched."""

from dataclasses import replace

from pollwise.store import Store
from pollwise.store.records import NewPage, StoredSubscription

OWN = StoredSubscription(0, "https://h/", "https://a/", "https://me/hub/x", "secret", 1.0)


def test_one_of_each_page_until_it_is_removed(tmp_path):
    path = tmp_path / "pollwise.db"
    with Store.open(path) as store:
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
    with Store.open_readonly(path) as store:
        assert store.subscriptions() == [later]
