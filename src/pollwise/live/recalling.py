"""The latest copies of pages, read from a database while a run writes to it."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

from pollwise.store import Store
from pollwise.web.noise.looks import COPIES, Copy
from pollwise.web.poller import Recall

__all__ = ["recalling"]


@asynccontextmanager
async def recalling(db: Path) -> AsyncIterator[Recall]:
    """A context with what gives the latest stored versions of a page; `StoreError` as ever.

    What the run has not committed yet is not among them.
    """
    loop = asyncio.get_running_loop()
    with Store.open_readonly(db) as store, ThreadPoolExecutor(1, "recalling") as thread:

        async def recall(page_id: int) -> list[Copy]:
            return await loop.run_in_executor(thread, _latest, store, page_id)

        yield recall


def _latest(store: Store, page_id: int) -> list[Copy]:
    with store.snapshot():
        return [
            Copy(version.seen_at, store.body(version.body_hash), version.content_type)
            for version in store.versions(page_id)[: -COPIES - 1 : -1]
        ]
