"""What processes announce to each other by a real PostgreSQL server."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import psycopg
import pytest

from pollwise.live import bell as bell_module
from pollwise.live.bell import Bell
from pollwise.live.incoming import Incoming
from pollwise.live.shards import split_anew
from pollwise.store import Requester, Store, split_database
from pollwise.store.place import PostgresDatabase
from pollwise.store.postgres.shards import LedgerKeeper

from .postgres import Server, postgres_server

LONG = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def db(server: Server) -> PostgresDatabase:
    place = PostgresDatabase(server.database())
    Store.open(place).close()
    return place


def listeners(server: Server, end: bool = False) -> int:
    """How many sessions listen; they are ended on demand."""
    what = "pg_terminate_backend(pid)" if end else "pid"
    with psycopg.connect(server.url("postgres"), autocommit=True) as session:
        query = f"SELECT {what} FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
        return len(session.execute(query.encode()).fetchall())


@asynccontextmanager
async def listening(place, server: Server):
    """A bell that hears."""
    bell = Bell(place, Incoming())
    async with bell.beside(None):
        async with asyncio.timeout(LONG):
            while not await asyncio.to_thread(listeners, server):
                await asyncio.sleep(0.05)
        yield bell


async def ask(place: PostgresDatabase) -> None:
    with Requester.open(place) as requester:
        requester.put_request("x", time.time())


async def rings(bell: Bell, topic: str, seconds: float = LONG) -> bool:
    begun_at = time.monotonic()
    await bell.wait(topic, seconds)
    return time.monotonic() < begun_at + seconds


async def test_a_request_is_announced_to_its_store_alone(
    server: Server, db: PostgresDatabase
) -> None:
    other = PostgresDatabase(server.database())
    Store.open(other).close()
    async with listening(db, server) as bell:
        await ask(other)
        assert not await rings(bell, "requests", 0.5)
        await ask(db)
        assert await rings(bell, "requests")
        assert not await rings(bell, "requests", 0.2), "each is heard once"
        await ask(db)
        await asyncio.sleep(0.5)
        assert await rings(bell, "requests"), "also what came while nobody waited"


async def test_what_is_taken_back_is_not_announced(server: Server, db: PostgresDatabase) -> None:
    async with listening(db, server) as bell:
        with Requester.open(db) as requester, suppress(KeyError), requester.together():
            requester.put_request("x", time.time())
            raise KeyError
        assert not await rings(bell, "requests", 0.5)


async def test_a_lost_session_is_made_anew(
    server: Server, db: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bell_module, "_PAUSE", 0.1)
    async with listening(db, server) as bell:
        assert await asyncio.to_thread(listeners, server, end=True) == 1
        async with asyncio.timeout(LONG):
            while not await rings(bell, "requests", 1.0):
                await ask(db)
    assert listeners(server) == 0


async def test_a_budget_is_announced_to_all_shards(server: Server) -> None:
    whole = PostgresDatabase(server.database())
    split_anew(whole, 3, "5/hour")
    split = split_database(whole)
    async with listening(split.shards[2], server) as bell:
        split.share("6/hour")
        assert await rings(bell, "budget")
        with closing(LedgerKeeper(split)) as keeper:
            keeper.announce()
        assert await rings(bell, "budget")
        assert not await rings(bell, "requests", 0.1)


async def test_waiting_for_a_file_takes_its_time(tmp_path: Path) -> None:
    bell = Bell(tmp_path / "pollwise.db", Incoming())
    async with bell.beside(None):
        assert not await rings(bell, "requests", 0.05)
