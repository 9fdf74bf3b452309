"""What becomes of one subscription at a hub (WebSub): values, without a clock or a network."""

import secrets
from dataclasses import replace

from pollwise.sources.view import HubLinks
from pollwise.store.records import StoredSubscription
from pollwise.texts import printable
from pollwise.units import DAY

__all__ = ["ASKED_LEASE", "CALLBACKS", "asked", "begun", "confirmed", "denied", "failed"]

CALLBACKS = "hub/"
"""What the paths of callbacks begin with, after the public URL."""
ASKED_LEASE = 10 * 86_400
"""Seconds for which hubs are asked to tell of changes."""
_FIRST_REST, _LONGEST_REST = 600.0, DAY
"""Seconds between two requests to a hub that does not confirm: at first, and at most, after
doubling each time."""
_SHORTEST_LEASE, _LONGEST_LEASE = 60.0, 90 * DAY
_RENEWED = 0.75
"""The share of a lease after which it is renewed."""
_MOST_CHARACTERS = 300
"""Of an error."""


def begun(page_id: int, links: HubLinks, public_url: str, now: float) -> StoredSubscription:
    """A new subscription of a page, to be asked for at once."""
    callback = f"{public_url}{CALLBACKS}{secrets.token_urlsafe(24)}"
    secret = secrets.token_urlsafe(32)
    return StoredSubscription(page_id, links.hub, links.topic, callback, secret, due_at=now)


def asked(own: StoredSubscription, now: float) -> StoredSubscription:
    """The hub is being asked: in vain, unless it confirms before it would be asked again."""
    rest = min(_FIRST_REST * 2 ** min(own.failures, 10), _LONGEST_REST)
    return replace(
        own, asked_at=now, due_at=now + rest, failures=own.failures + 1, error="no answer yet"
    )


def failed(own: StoredSubscription, why: str) -> StoredSubscription:
    """The hub could not be asked, or refused."""
    return replace(own, error=printable(why)[:_MOST_CHARACTERS])


def confirmed(own: StoredSubscription, now: float, lease: float) -> StoredSubscription:
    """The hub has confirmed, and tells of changes for so many seconds."""
    lease = min(max(lease, _SHORTEST_LEASE), _LONGEST_LEASE)
    due_at = now + max(_RENEWED * lease, _SHORTEST_LEASE)
    return replace(own, due_at=due_at, lease_until=now + lease, failures=0, error=None)


def denied(own: StoredSubscription, now: float, why: str) -> StoredSubscription:
    """The hub tells of no changes, or no more; it is asked again after a day."""
    own = replace(own, due_at=now + _LONGEST_REST, lease_until=None)
    return failed(own, f"denied: {why}" if why else "denied")
