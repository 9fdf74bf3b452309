"""What a watch reaches outside of its database: headers, receivers of changes, and signals."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pollwise.fetch_settings import HeaderLine
from pollwise.live.incoming import Incoming
from pollwise.live.session import Besides, Session
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.web.hubs import Hubs
from pollwise.web.own_headers import OwnHeaders, read_own_headers

if TYPE_CHECKING:
    from pollwise.live.listening.listener import Listener
    from pollwise.live.listening.subscriber import Subscriber
    from pollwise.notify.receivers import Receiver

__all__ = ["Outside", "reach_outside"]


@dataclass(frozen=True, slots=True)
class Outside:
    """Own headers, all who are told of changes, and where others may tell of them."""

    own_headers: OwnHeaders
    receivers: Sequence["Receiver"] = ()
    listener: "Listener | None" = None

    def forget_failures(self, store: Store) -> None:
        """Whoever is told of nothing any more does not fail any more."""
        names = {receiver.name for receiver in self.receivers}
        for stored in store.receivers():
            if stored.failures and stored.name not in names:
                store.save_receiver(replace(stored, failures=0, error=None, asked_until=None))

    def subscriber(
        self, session: Session, settings: WatchSettings, hubs: Hubs | None, incoming: Incoming
    ) -> "Subscriber | None":
        """What keeps feeds subscribed at their hubs; None: no hub could reach it."""
        if self.listener is None or hubs is None or not settings.public_url:
            return None
        from pollwise.live.listening.subscriber import Subscriber

        return Subscriber(
            session.store,
            session.clock,
            hubs=hubs,
            public_url=settings.public_url,
            incoming=incoming,
        )

    def beside(
        self, session: Session, subscriber: "Subscriber | None", incoming: Incoming
    ) -> list[Besides]:
        """What tells receivers of changes, and lets others tell of them, beside a run."""
        contexts: list[Besides] = []
        store, clock = session.store, session.clock
        if self.receivers:
            from pollwise.live.notifying import notifying

            contexts.append(
                notifying(store, self.receivers, clock=clock, say=session.say, incoming=incoming)
            )
        if self.listener is not None:
            from pollwise.live.listening.listener import listening

            contexts.append(
                listening(self.listener, store, clock, incoming=incoming, subscriber=subscriber)
            )
        return contexts


def reach_outside(
    settings: WatchSettings,
    *,
    secret: Sequence[HeaderLine],
    receivers: Sequence["Receiver"],
    once: bool,
    undo: ExitStack,
) -> Outside:
    """Read the files and variables that the settings name, and begin to listen.

    `undo` ends that. A run that is but `once` listens to nobody.
    """
    own_headers = read_own_headers(settings, secret)
    all_receivers: list[Receiver] = []
    if settings.notify or receivers:
        # Here, as few need what sends mail and the like.
        from pollwise.notify.receivers import receiver_of, require_own_names

        all_receivers = [*map(receiver_of, settings.notify), *receivers]
        require_own_names(all_receivers)
    listener = None
    if settings.listen and not once:
        # Here, as few need a server.
        from pollwise.live.listening.listener import open_listener

        listener = open_listener(settings)
        undo.callback(listener.socket.close)
    return Outside(own_headers, all_receivers, listener)
