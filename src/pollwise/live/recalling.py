"""The latest copies of pages, read from a database while a run writes to it."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress

from pollwise.errors import StoreBusyError
from pollwise.store import Place, Store
from pollwise.web.noise.looks import Copy
from pollwise.web.poller import Recall

__all__ = ["recalling"]


@asynccontextmanager
async def recalling(db: Place) -> AsyncIterator[Recall]:
    """A context with what gives the latest stored version of a page; `StoreError` as ever.

    What the run has not committed yet is not there.
    """
    loop = asyncio.get_running_loop()
    with Store.open_readonly(db) as store, ThreadPoolExecutor(1, "recalling") as thread:

        async def recall(page_id: int) -> Copy | None:
            while True:
                with suppress(StoreBusyError):  # a server that is away: what was found waits too
                    return await loop.run_in_executor(thread, _latest, store, page_id)

        yield recall


def _latest(store: Store, page_id: int) -> Copy | None:
    with store.snapshot():
        versions = store.versions(page_id)
        if not versions:
            return None
        return Copy(store.body(versions[-1].body_hash), versions[-1].content_type)
