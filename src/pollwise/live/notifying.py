"""Telling receivers of changes beside a run, which never waits for them."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from pollwise.errors import StoreBusyError, StoreError
from pollwise.insight.receivers import FIRST_REST, LONGEST_REST, without_failures
from pollwise.insight.words import count, duration, moment
from pollwise.live.clock import Clock
from pollwise.live.incoming import Incoming
from pollwise.live.journal import Journal
from pollwise.live.session import Besides
from pollwise.notify.delivery import Delivery
from pollwise.notify.notice import Notice
from pollwise.notify.receivers import Receiver
from pollwise.notify.sending import NotSentError, send
from pollwise.store import Store
from pollwise.store.records import Batch, StoredReceiver
from pollwise.texts import printable

__all__ = ["notifying"]

T = TypeVar("T")
Send = Callable[[Receiver, Notice], None]
"""Returns when the receiver has taken the notice; `NotSentError` if it has not."""

_LOOK_EVERY = 1.0
_LONGEST_TRY = 120.0
"""Seconds after which a try counts as failed, whatever holds it up."""
_LONGEST_END = 4.0
"""Seconds that the end of a run waits for notices; the next run sends what is left."""


def notifying(
    store: Store,
    receivers: Sequence[Receiver],
    *,
    clock: Clock,
    say: Callable[[str], None],
    incoming: Incoming,
    send: Send = send,
    look_every: float = _LOOK_EVERY,
) -> Besides:
    """What tells these receivers of the changes that a run finds, and that earlier runs left.

    `store` is the one that the run writes into, which is looked at `look_every` seconds. A receiver
    that is new hears of changes from now on. One that fails is tried again, ever more rarely; `say`
    is told when that begins and when it ends, and at the end of the run what waits. One that has
    another address or secret than in the run before does not rest for the failures with that. What
    is no failure of a receiver or of the store ends the run, by `incoming`. Names of receivers are
    unique, see `require_own_names`.
    """

    @asynccontextmanager
    async def context(journal: Journal) -> AsyncIterator[None]:
        with (
            Store.open_readonly(store.path) as reader,
            ThreadPoolExecutor(1, thread_name_prefix="notices") as reading,
        ):
            known = {stored.name: stored for stored in reader.receivers()}
            latest = reader.latest_change()
            ending = asyncio.get_running_loop().create_future()
            run = _Run(store, reader, reading, journal, clock, say, send, look_every, ending)
            for receiver in receivers:
                state = known.get(receiver.name) or StoredReceiver(receiver.name, latest)
                kept, access = f"address of {receiver.name}", receiver.access_hash
                before = reader.state(kept)
                if before not in (None, access):
                    state = without_failures(state)
                if state != known.get(receiver.name):
                    known[receiver.name] = state
                    await journal.write(store.save_receiver, state)
                if before != access:
                    await journal.write(store.commit, Batch(states={kept: access}))
            deliveries = [Delivery(receiver, known[receiver.name]) for receiver in receivers]
            tasks = [incoming.begin(run.tell(delivery)) for delivery in deliveries]
            try:
                yield
                # The run's last changes are on their way to the store, before this write.
                await asyncio.sleep(0)
                await journal.write(lambda: None)
            finally:
                ending.set_result(None)
                await asyncio.wait([*tasks, ending], timeout=_LONGEST_END)
                for task in tasks:
                    task.cancel()
                ends = await asyncio.gather(*tasks, return_exceptions=True)
            for delivery, end in zip(deliveries, ends, strict=True):
                if isinstance(end, Exception):
                    raise end
                if end is not None:  # the end of the run came before that of a try
                    await run.say_what_waits(delivery)

    return context


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A run with receivers; `ending` is done when it ends."""

    store: Store
    reader: Store
    reading: ThreadPoolExecutor
    journal: Journal
    clock: Clock
    say: Callable[[str], None]
    send: Send
    look_every: float
    ending: asyncio.Future[None]

    async def tell(self, delivery: Delivery) -> None:
        """Tell a receiver until the run ends, and then once more if something is due."""
        try:
            await self._go_on(delivery)
        except StoreError as error:
            self.say(f"notices to {delivery.receiver.name} end: {error}")

    async def _go_on(self, delivery: Delivery) -> None:
        while True:
            is_last = self.ending.done()
            due = await self._read(delivery.due_at)
            if due <= self.clock():
                await self._try(delivery)
            elif not is_last:
                until = min(due, self.clock() + self.look_every)
                await self.clock.wait([self.ending], until)
            if is_last:
                await self.say_what_waits(delivery)
                return

    async def say_what_waits(self, delivery: Delivery) -> None:
        """Say what a receiver is still to be told, if anything."""
        due = await self._read(delivery.due_at)
        if waiting := await self._read(delivery.count_waiting):
            why = await self._read(delivery.held_by)
            self.say(
                f"not yet told to {delivery.receiver.name}:"
                f" {count(waiting, 'change')}, to be told from {moment(due)} (UTC) on"
                + (f" ({why})" if why else "")
            )

    async def _try(self, delivery: Delivery) -> None:
        notice = await self._read(delivery.begin)
        if notice is None:
            return
        await self.journal.write(self.store.save_receiver, delivery.state)
        receiver, failures = delivery.receiver, delivery.state.failures
        try:
            async with asyncio.timeout(_LONGEST_TRY):
                await _by_thread(lambda: self.send(receiver, notice))
        except (NotSentError, TimeoutError) as error:
            why = printable(str(error)) or f"no end within {_LONGEST_TRY:g} s"
            asked = error.retry_after if isinstance(error, NotSentError) else None
            delivery.failed(self.clock(), why, asked)
            if failures == 0:
                rest = max(FIRST_REST, asked or 0.0)
                later = f", then ever more rarely, every {duration(LONGEST_REST)} at last"
                self.say(
                    f"notices to {receiver.name} fail ({why}): tried again after {duration(rest)}"
                    f"{later if rest < LONGEST_REST else ', as it asks for'}"
                )
        else:
            delivery.arrived(self.clock())
            if failures:
                self.say(f"notices to {receiver.name} arrive again")
        await self.journal.write(self.store.save_receiver, delivery.state)

    async def _read(self, call: Callable[[Store, float], T]) -> T:
        """Call a function of store and time by the one thread that reads."""
        loop = asyncio.get_running_loop()
        while True:
            with suppress(StoreBusyError):  # until another program gives up its lock
                return await loop.run_in_executor(self.reading, call, self.reader, self.clock())


async def _by_thread(call: Callable[[], None]) -> None:
    """Call a function by a thread of its own, which no end of the process waits for."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(error: Exception | None) -> None:
        if done.done():  # nobody waits any more
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def work() -> None:
        error: Exception | None = None
        try:
            call()
        except Exception as raised:  # it is raised where the call was made
            error = raised
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, error)

    threading.Thread(target=work, daemon=True, name="notice").start()
    await done
