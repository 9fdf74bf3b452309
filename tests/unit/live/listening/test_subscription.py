"""One subscription at a hub: requests become ever rarer, leases are renewed before they end."""

from hypothesis import given
from hypothesis import strategies as st

from pollwise.live.listening.subscription import asked, begun, confirmed, denied, failed
from pollwise.sources.view import HubLinks

DAY = 86_400.0
LINKS = HubLinks("https://hub.example/", "https://a.example/feed")


def test_a_callback_and_a_secret_are_nobody_elses():
    ones = [begun(0, LINKS, "https://me.example/", 0.0) for _ in range(100)]
    assert len({one.callback for one in ones}) == len({one.secret for one in ones}) == 100
    assert all(one.callback.startswith("https://me.example/hub/") for one in ones)
    assert min(len(one.callback) for one in ones) >= len("https://me.example/hub/") + 32
    assert all(40 <= len(one.secret) < 200 for one in ones)
    assert ones[0].secret not in repr(ones[0])


def test_a_hub_that_does_not_confirm_is_asked_ever_more_rarely():
    own, now, rests = begun(0, LINKS, "https://me.example/", 0.0), 0.0, []
    for _ in range(12):
        own = failed(asked(own, now), "status 500")
        rests.append(own.due_at - now)
        now = own.due_at
    assert rests[:4] == [600.0, 1200.0, 2400.0, 4800.0]
    assert rests[-1] == DAY
    assert (own.failures, own.error) == (12, "status 500")
    own = confirmed(own, now, 10 * DAY)
    assert (own.failures, own.error, own.lease_until) == (0, None, now + 10 * DAY)
    assert asked(own, now).due_at == now + 600.0


@given(st.floats(0, 1e12), st.floats(0, 1e9))
def test_a_lease_is_renewed_before_it_ends_but_not_at_once(lease, now):
    own = confirmed(begun(0, LINKS, "https://me.example/", now), now, lease)
    assert now + 59.9 <= own.due_at <= own.lease_until <= now + 90 * DAY + 0.1


def test_a_hub_that_denies_is_left_alone_for_a_day():
    own = confirmed(begun(0, LINKS, "https://me.example/", 0.0), 0.0, 10 * DAY)
    own = denied(own, 5.0, "no\x1b[31m such\n topic" + "x" * 1000)
    assert (own.due_at, own.lease_until) == (5.0 + DAY, None)
    assert own.error.startswith("denied: no[31m such topic")
    assert len(own.error) == 300
