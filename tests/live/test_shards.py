"""A PostgreSQL database that is split, and the processes that poll its shards."""

import asyncio
import itertools
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, closing
from itertools import pairwise
from pathlib import Path

import aiohttp
import psycopg
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from pollwise.errors import (
    InputError,
    StoreBusyError,
    StoreError,
    StoreInUseError,
    StoreVersionError,
)
from pollwise.insight.changes import read_changes
from pollwise.insight.page_list import Order, read_page_list
from pollwise.insight.shards import read_shards, store_of, stores_of
from pollwise.live import control
from pollwise.live import shards as shards_module
from pollwise.live.bell import Bell
from pollwise.live.control import ask, signal_pages
from pollwise.live.incoming import Incoming
from pollwise.live.requests import (
    AddPages,
    ChangePages,
    ChangeSettings,
    MarkRead,
    RemovePages,
    SignalPages,
)
from pollwise.live.shards import SharedBudget, split_anew, watched_shard
from pollwise.scheduler.ledgers import new_ledger, read_ledger
from pollwise.store import Requester, Store, split_database
from pollwise.store.place import PostgresDatabase
from pollwise.store.postgres import connection, database
from pollwise.store.postgres.shards import LedgerKeeper, SplitDatabase
from pollwise.store.records import Batch, NewPage
from pollwise.testing.store_contract.samples import poll
from pollwise.types import Outcome
from pollwise.web.wishes import wished_page

from ..fork_server import FORKED, SOURCE
from .daemons import Daemon
from .postgres import Server, postgres_server

URLS = [f"http://{host}.example/{number}" for host in "abcdefgh" for number in range(3)]
EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster" / "local.py"
PATIENCE = 120.0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def empty(server: Server) -> PostgresDatabase:
    return PostgresDatabase(server.database())


@pytest.fixture
def db(empty: PostgresDatabase) -> PostgresDatabase:
    split_anew(empty, 3, "60/minute")
    return empty


def split_of(db: PostgresDatabase) -> SplitDatabase:
    split = split_database(db)
    assert split is not None
    return split


def add(db: PostgresDatabase, urls: list[str], **wishes: object) -> None:
    pages = tuple(wished_page(url, **wishes) for url in urls)
    ask(db, AddPages(pages), make=True, say=print)


def execute(db: PostgresDatabase, statement: str) -> None:
    with psycopg.connect(db.url, autocommit=True) as session:
        session.execute(statement.encode())


def listed_pages(db: PostgresDatabase):
    return read_page_list(db, tag=None, text=None, order=Order.url, limit=None).results


def held(budget: SharedBudget, price: float | None, pages: int) -> float:
    """The rate that a shard holds to after a report."""
    budget._hold_to(price, pages, 1000)
    return budget._rate


class TestSplitting:
    def test_each_shard_is_a_store(self, db: PostgresDatabase) -> None:
        found = read_shards(db)
        assert found is not None
        assert (found.budget, len(found.shards)) == ("60/minute", 3)
        assert [shard.process for shard in found.shards] == [None] * 3
        for place in split_of(db).shards:
            with Store.open(place) as store:
                assert store.pages() == []

    def test_a_file_and_a_database_that_is_whole_are_not_split(
        self, empty: PostgresDatabase, tmp_path: Path
    ) -> None:
        Store.open(empty).close()
        for place in (tmp_path / "pollwise.db", empty):
            assert read_shards(place) is None
            assert stores_of(place) == (place,)
            assert store_of(place, URLS[0]) == place

    def test_what_cannot_be_split_is_one_line(
        self, server: Server, db: PostgresDatabase, tmp_path: Path
    ) -> None:
        whole = PostgresDatabase(server.database())
        Store.open(whole).close()
        other = PostgresDatabase(server.database())
        execute(other, "CREATE TABLE something (id int)")
        empty = PostgresDatabase(server.database())
        for place, shards, budget, message in (
            (tmp_path / "x.db", 3, None, "is a file: --db postgresql"),
            (db, 3, None, "is split already"),
            (whole, 3, None, "holds tables, and a database is split before"),
            (other, 3, None, "holds tables, and a database is split before"),
            (empty, 1, None, "--into 1: expected 2 to 1,000 shards"),
            (empty, 1001, None, "expected 2 to 1,000"),
            (empty, 3, "much", "budget 'much'"),
        ):
            with pytest.raises(InputError, match=message):
                split_anew(place, shards, budget)
        assert not Store.exists(empty)
        with pytest.raises(
            StoreError, match=r"no such schema, or its user .*: CREATE SCHEMA makes one"
        ):
            split_anew(empty.in_schema("nothing"), 3, None)

    def test_a_split_that_was_interrupted_is_finished(self, empty: PostgresDatabase) -> None:
        split_anew(empty, 3, "7/hour")
        split = split_of(empty)
        for schema in split.schemas[1:]:
            execute(empty, f"DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema}")
        with pytest.raises(InputError, match="is split already"):
            split_anew(empty, 2, "7/hour")
        split_anew(empty, 3, "7/hour")
        assert [shard.pages for shard in read_shards(empty).shards] == [0, 0, 0]
        with pytest.raises(InputError, match="is split already"):
            split_anew(empty, 3, "7/hour")

    @pytest.mark.parametrize(
        "damage", ["UPDATE pollwise_shards SET shards = 0", "DELETE FROM pollwise_shards"]
    )
    def test_a_damaged_split_is_told(self, db: PostgresDatabase, damage: str) -> None:
        execute(db, damage)
        for what in (read_shards, lambda db: add(db, URLS), lambda db: split_anew(db, 3, None)):
            with pytest.raises(StoreError, match="does not say into how many shards it is split"):
                what(db)

    def test_a_schema_that_is_there_already_is_left_alone(self, empty: PostgresDatabase) -> None:
        with psycopg.connect(empty.url, autocommit=True) as session:
            [(schema,)] = session.execute(b"SELECT current_schema()")
        execute(empty, f"CREATE SCHEMA {schema}_shard_1")
        with pytest.raises(InputError, match=f"has a schema {schema}_shard_1 already: drop it"):
            split_anew(empty, 2, None)
        assert not Store.exists(empty)
        execute(empty, f"DROP SCHEMA {schema}_shard_1")
        split_anew(empty, 2, None)

    def test_no_store_is_opened_in_place_of_the_shards(self, db: PostgresDatabase) -> None:
        for opening in (Store.open, Store.open_readonly, Requester.open):
            with pytest.raises(StoreError, match="is split into shards: name one of them after"):
                opening(db)
        assert Store.exists(db)

    def test_a_schema_that_is_not_there_is_one_line(self, empty: PostgresDatabase) -> None:
        with pytest.raises(StoreError, match="has no such schema"):
            Store.open(empty.in_schema("nothing"))

    def test_a_shard_that_is_gone_is_one_line(self, db: PostgresDatabase) -> None:
        split = split_of(db)
        execute(db, f'DROP SCHEMA "{split.schemas[1]}" CASCADE')
        with pytest.raises(StoreError, match="has no such schema"):
            read_shards(db)
        assert split.free() == {0, 1, 2}

    def test_the_name_of_a_schema_may_need_quotes(self, empty: PostgresDatabase) -> None:
        execute(empty, 'CREATE SCHEMA "My Shop"')
        own = PostgresDatabase(
            empty.url.replace("csearch_path%3D", "csearch_path%3D%22My%5C%20Shop%22%2C")
        )
        with Store.open(own) as store:
            assert store.pages() == []
            with pytest.raises(StoreInUseError):
                Store.open(own)

    def test_a_later_format_is_refused(self, db: PostgresDatabase) -> None:
        execute(db, "UPDATE pollwise_shards SET format = 99")
        with pytest.raises(StoreVersionError, match="install a newer pollwise"):
            read_shards(db)

    def test_the_schema_that_is_split_may_need_quotes(self, server: Server) -> None:
        names = psycopg.connect(server.url("postgres"), autocommit=True)
        for number, name in enumerate(("a, b", "back\\slash", 'quo"te', "Großes")):
            db = PostgresDatabase(server.url("postgres")).in_schema(name)
            names.execute('CREATE SCHEMA "{}"'.format(name.replace('"', '""')).encode())
            split_anew(db, 2, "5/hour")
            add(db, URLS[: number + 1])
            assert sum(shard.pages for shard in read_shards(db).shards) == number + 1
        names.close()
        long = PostgresDatabase(server.url("postgres")).in_schema("ü" * 26)
        with psycopg.connect(server.url("postgres"), autocommit=True) as session:
            session.execute(f'CREATE SCHEMA "{"ü" * 26}"'.encode())
        with pytest.raises(InputError, match="is too long for those of shards"):
            split_anew(long, 2, None)


class TestPages:
    def test_those_of_a_host_are_in_one_shard(self, db: PostgresDatabase) -> None:
        add(db, URLS)
        hosts = []
        for place in split_of(db).shards:
            with Store.open(place) as store:
                hosts.append({record.page.scope for record in store.pages()})
        assert sorted(host for own in hosts for host in own) == [
            f"{one}.example" for one in "abcdefgh"
        ]
        assert sum(map(bool, hosts)) > 1
        for url in URLS:
            with Store.open_readonly(store_of(db, url)) as store:
                assert store.find_page(url) is not None

    def test_they_are_listed_and_removed_as_if_it_were_whole(self, db: PostgresDatabase) -> None:
        add(db, URLS, tags=["x"])
        listed = read_page_list(db, tag=None, text=None, order=Order.url, limit=None)
        assert [page.url for page in listed.results] == sorted(URLS)
        effect = ask(db, RemovePages((URLS[0], URLS[-1])), make=False, say=print)
        assert sorted(effect.removed) == [URLS[0], URLS[-1]]
        listed = read_page_list(db, tag="x", text=None, order=Order.url, limit=5)
        assert [page.url for page in listed.results] == sorted(URLS[1:-1])[:5]
        assert listed.found == len(URLS) - 2
        signal_pages(db, URLS[1:3])
        with pytest.raises(InputError, match="is not watched"):
            signal_pages(db, [URLS[0]])

    def test_their_changes_are_told_in_the_order_of_time(self, db: PostgresDatabase) -> None:
        add(db, URLS)
        now = time.time()
        for number, url in enumerate(URLS):
            with Store.open(store_of(db, url)) as store:
                page_id = store.find_page(url).page.id
                for later, body in ((0.0, b"a"), (50.0, b"b")):
                    at = now - 100.0 + later + number
                    store.commit(Batch(polls=(poll(page_id, at, Outcome.CHANGED, body),)))
        told = read_changes(db, since=0.0, limit=10)
        assert [change.url for change in told.changes] == URLS[-10:]
        for url in URLS[-3:]:
            assert {change.url for change in read_changes(db, since=0.0, url=url).changes} == {url}
        assert told.left_out == len(URLS) - 10

    def test_a_budget_is_that_of_all(self, db: PostgresDatabase) -> None:
        ask(db, ChangeSettings(budget="5/hour"), make=True, say=print)
        assert split_of(db).shared()[0] == "5/hour"
        with pytest.raises(InputError, match="budget 'much'"):
            ask(db, ChangeSettings(budget="much"), make=True, say=print)
        ask(db, ChangeSettings(keep="3"), make=True, say=print)
        for place in split_of(db).shards:
            with Store.open_readonly(place) as store:
                assert store.changed_settings()["keep"] == "3"

    @pytest.mark.parametrize(
        "request_", [MarkRead((1,)), ChangeSettings(budget="5/hour", shares=("x=5%",))]
    )
    def test_what_is_of_one_shard_is_refused_as_a_whole(
        self, db: PostgresDatabase, request_
    ) -> None:
        for place in (db, split_of(db).shards[0]):
            if place == db or isinstance(request_, ChangeSettings):
                with pytest.raises(InputError, match=r"are of one shard|tags have no shares"):
                    ask(place, request_, make=True, say=print)
        assert split_of(db).shared()[0] == "60/minute"

    def test_what_is_told_one_shard_is_done_by_that_which_it_is_for(
        self, db: PostgresDatabase
    ) -> None:
        one = split_of(db).shards[1]
        split = split_of(one)
        assert (split.named, split.schemas) == (1, split_of(db).schemas)
        assert stores_of(one) == (one,)
        add(one, URLS)
        for url in URLS:
            place = store_of(one, url)
            assert place == store_of(split.place, url)
            with Store.open_readonly(place) as store:
                assert store.find_page(url) is not None
        signal_pages(one, URLS[:2])
        ask(one, RemovePages((URLS[0],)), make=False, say=print)
        ask(one, ChangeSettings(budget="5/hour"), make=False, say=print)
        assert sum(shard.pages for shard in read_shards(one).shards) == len(URLS) - 1
        assert read_shards(db).budget == "5/hour"
        assert ask(one, MarkRead(up_to=9), make=False, say=print).marked == 0

    def test_what_one_shard_refuses_no_shard_does(self, db: PostgresDatabase) -> None:
        add(db, URLS)
        unknown = "http://z.example/"
        for request in (
            RemovePages((*URLS, unknown)),
            ChangePages(tuple(wished_page(url, paused=True) for url in (*URLS, unknown))),
            SignalPages((*URLS, unknown)),
        ):
            with pytest.raises(InputError, match=f"{unknown} is not watched"):
                ask(db, request, make=False, say=print)
        with pytest.raises(InputError, match="quiet"):
            ask(db, ChangeSettings(budget="9/day", quiet=("never",)), make=False, say=print)
        opening = watched_shard(db, [NewPage(unknown)], [], {"at_least": "x"}, say=print)
        with pytest.raises(InputError, match="at-least 'x'"), opening:
            pass
        assert read_shards(db).budget == "60/minute"
        assert sorted(page.url for page in listed_pages(db)) == sorted(URLS)
        for place in split_of(db).shards:
            with Store.open(place) as store:
                assert not any(record.page.paused for record in store.pages())
                assert store.waiting_requests() == []

    def test_a_schema_that_only_looks_like_a_shard_is_none(self, db: PostgresDatabase) -> None:
        split = split_of(db)
        other = split.schemas[0].removesuffix("0") + "7"
        execute(db, f"CREATE SCHEMA {other}")
        place = db.in_schema(other)
        assert split_database(place) is None
        Store.open(place).close()
        add(place, URLS[:1])
        assert sum(shard.pages for shard in read_shards(db).shards) == 0

    def test_a_shard_that_does_not_answer_holds_up_no_other_one(
        self, db: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(control, "_PATIENCE", 0.3)
        split = split_of(db)
        with (
            Store.open(split.shards[split.number_of("a.example")]),
            pytest.raises(
                StoreError, match=r"does not answer.*; what is of 2 other shards was done"
            ),
        ):
            add(db, URLS)
        assert sum(shard.pages for shard in read_shards(db).shards) > 0
        add(db, URLS)
        assert sum(shard.pages for shard in read_shards(db).shards) == len(URLS)


class TestTakingOne:
    def test_each_is_polled_by_one_and_free_again_when_that_ends(
        self, db: PostgresDatabase
    ) -> None:
        split = split_of(db)
        with ExitStack() as stack:
            watched = [stack.enter_context(watched_shard(db, [], [], {}, say=print)) for _ in "ab"]
            assert {shard.place for shard in watched} == set(split.shards[:2])
            assert split.free() == {2}
            own = f"process {os.getpid()} on "
            assert [told is not None and own in told for told in split.processes()] == [
                True,
                True,
                False,
            ]
            with watched_shard(db, [], [], {}, say=print) as last:
                assert last.place == split.shards[2]
                assert split.free() == set()
            assert split.free() == {2}
        assert split.free() == {0, 1, 2}

    def test_a_run_may_begin_anew(self, db: PostgresDatabase) -> None:
        """As after a full disk: the store is opened again."""
        with watched_shard(db, [], [], {}, say=print) as shard:
            for _ in range(2):
                with shard.open(print) as store:
                    assert store.path == shard.place
                    assert split_of(db).free() == {1, 2}
                assert split_of(db).free() == {0, 1, 2}

    def test_what_cannot_be_done_with_shards_is_one_line(
        self, db: PostgresDatabase, tmp_path: Path
    ) -> None:
        from pollwise.live.followed_list import FollowedList

        file = tmp_path / "urls.txt"
        file.write_text("https://a.example/\n")
        for followed, told, once, message in (
            ([FollowedList(file)], {}, False, "cannot be followed, as .* is split"),
            ([], {"shares": ("x=5%",)}, False, "tags have no shares"),
            ([], {"budget": "much"}, False, "budget 'much'"),
            ([], {}, True, "--once is for one process"),
        ):
            opening = watched_shard(db, [], followed, told, once=once, say=print)
            with pytest.raises(InputError, match=message), opening:
                pass
        opening = watched_shard(split_of(db).shards[2], [], [], {}, say=print)
        with pytest.raises(InputError, match="is shard 2 of a split database"), opening:
            pass
        assert split_of(db).processes() == [None] * 3

    def test_the_first_takes_all_and_makes_room_for_those_that_come(
        self, db: PostgresDatabase
    ) -> None:
        with closing(LedgerKeeper(split_of(db))) as keeper:
            first, other = (SharedBudget(number, keeper, print) for number in range(2))
            assert first.fair(10) == "86400/day"
            assert held(first, None, 10) == 1.0
            assert other.fair(30) == "64800/day"
            assert held(other, None, 30) == 0.0, "which the first may spend until it hears"
            for _ in range(2):  # it is told, and tells that it holds to it
                assert held(first, 1.0, 10) == pytest.approx(0.25)
            assert held(other, None, 30) == pytest.approx(0.75)

    def test_who_takes_a_shard_over_leaves_its_part_until_it_can_poll(
        self, db: PostgresDatabase
    ) -> None:
        with closing(LedgerKeeper(split_of(db))) as keeper:
            first, other = (SharedBudget(number, keeper, print) for number in range(2))
            for _ in range(3):
                held(first, 1.0, 10)
                held(other, 1.0, 10)
            assert (first._rate, other._rate) == (pytest.approx(0.5), pytest.approx(0.5))
            SharedBudget(1, keeper, print).begin()
            assert held(first, 1.0, 10) == pytest.approx(1.0)

    def test_a_run_that_begins_waits_while_another_process_has_the_ledger(
        self, db: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hurried = database._SETTINGS.replace(b"'10s'", b"'50ms'")
        monkeypatch.setattr(database, "_SETTINGS", hurried)
        said: list[str] = []
        with closing(LedgerKeeper(split_of(db))) as keeper, psycopg.connect(db.url) as other:
            other.execute(b"SELECT FROM pollwise_shards FOR UPDATE")

            def say(line: str) -> None:
                said.append(line)
                other.rollback()

            assert SharedBudget(0, keeper, say).fair(10) == "86400/day"
        [line] = said
        assert line.endswith("(canceling statement due to lock timeout); waiting for it")

    def test_a_process_that_sleeps_with_the_ledger_holds_nobody_up(
        self, db: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hurried = database._LEDGER_SETTINGS.replace(b"'5s'", b"'50ms'")
        monkeypatch.setattr(database, "_LEDGER_SETTINGS", hurried)
        with closing(LedgerKeeper(split_of(db))) as keeper:

            def sleep(ledger: str, budget: str, now: float) -> tuple[str, None]:
                with psycopg.connect(db.url) as other:  # which waits for as long as it must
                    other.execute(b"SET lock_timeout = '60s'")
                    other.execute(b"SELECT FROM pollwise_shards FOR UPDATE")
                return "lost", None

            with pytest.raises(StoreBusyError, match="does not answer"):
                keeper.settle(sleep)
            told = keeper.settle(lambda ledger, budget, now: (ledger, ledger))
        assert told == split_of(db).shared()[1] != "lost"

    def test_a_damaged_ledger_begins_anew_within_the_budget(self, db: PostgresDatabase) -> None:
        said: list[str] = []
        with closing(LedgerKeeper(split_of(db))) as keeper:
            first, other, new = (SharedBudget(number, keeper, said.append) for number in range(3))
            for _ in range(3):
                held(first, 1.0, 10)
                held(other, 1.0, 30)
            for damage in ("", "{}", '{"shards": 5}'):
                execute(db, f"UPDATE pollwise_shards SET ledger = '{damage}'")
                assert [shard.rate for shard in read_shards(db).shards] == [0.0] * 3
                assert held(new, None, 1000) == 0.0, "there may be others"
                assert held(first, 1.0, 10) + held(other, 1.0, 30) <= 1.0
                assert len(said) == 1
                assert "is damaged" in said.pop()


def test_a_server_that_is_away_is_not_waited_for_by_a_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "_PATIENCE", 0.1)
    with postgres_server() as server:
        db = PostgresDatabase(server.database())
        split_anew(db, 2, None)
        with closing(LedgerKeeper(split_of(db))) as keeper:
            budget = SharedBudget(0, keeper, print)
            held(budget, None, 1)
            server.stop()
            with pytest.raises(StoreBusyError):
                held(budget, 1.0, 1)
            server.start()
            assert held(budget, 1.0, 1) > 0.0


class Memory:
    """A ledger without a database, and the reports of shard 0 to it."""

    def __init__(self) -> None:
        self.ledger = new_ledger()
        self.rates: list[float] = []

    def settle(self, change):
        self.ledger, answer = change(self.ledger, "1/second", time.time())
        told = dict(read_ledger(self.ledger, "1/second").told())
        self.rates += [report.rate for report in told if report.shard == "0"]
        return answer

    def announce(self) -> None:
        pass


class Busy:
    """A scheduler that has made many polls since it was looked at."""

    price, pages_known = 1.0, 10

    def __init__(self) -> None:
        self._polls = itertools.count(step=1000)

    @property
    def polls_begun(self) -> int:
        return next(self._polls)


async def test_a_rate_falls_by_one_step_in_each_period(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although a shard reports again at once that it holds to less."""
    for name, seconds in (("_HELD_TO", 0.02), ("_ASK_EVERY", 0.05), ("_REPORT_EVERY", 0.4)):
        monkeypatch.setattr(shards_module, name, seconds)
    keeper = Memory()
    own, other = (SharedBudget(number, keeper, print) for number in range(2))
    for _ in range(4):
        held(own, 1.0, 10)
        held(other, 1000.0, 10)
    incoming = Incoming()
    scheduler = Busy()
    del keeper.rates[:]
    async with own.keeping(scheduler, incoming, time.time, Bell(Path("x"), incoming))(None):
        await asyncio.sleep(1.0)
    rates = list(dict.fromkeys(keeper.rates))
    assert len(keeper.rates) > len(rates) >= 3
    assert len(rates) <= 4, "one more than there were periods"
    assert all(after > 0.3 * before for before, after in pairwise(rates))


class Site:
    """Hosts of one server, which notes when each was asked, and by whom."""

    def __init__(self, hosts: int) -> None:
        self.hosts = [f"127.7.0.{number + 1}" for number in range(hosts)]
        self.asked: dict[str, list[tuple[float, str]]] = {}
        self.number = 0
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self.server = TestServer(app, host="0.0.0.0")

    @property
    def urls(self) -> list[str]:
        return [f"http://{host}:{self.server.port}/{n}" for host in self.hosts for n in range(3)]

    async def _answer(self, request: web.Request) -> web.Response:
        if request.path == "/robots.txt":
            raise web.HTTPNotFound
        who = request.headers["User-Agent"].rpartition("-")[2]
        self.asked.setdefault(request.host, []).append((time.monotonic(), who))
        self.number += 1
        return web.Response(text=f"<p>edition {self.number}</p>", content_type="text/html")

    def askers(self, since: float = 0.0) -> set[str]:
        return {who for asked in self.asked.values() for at, who in asked if at >= since}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site(12)
    await site.server.start_server()
    yield site
    await site.server.close()


class Watch:
    """A process that watches a shard, and what it said so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said = ""

    @classmethod
    async def start(cls, folder: Path, db: PostgresDatabase, name: str, *words: str) -> "Watch":
        told = ("watch", "--db", db.url, "--allow-private", "--crawl-delay", "0.2", *words)
        return cls(
            await asyncio.create_subprocess_exec(
                *FORKED,
                *told,
                *("--user-agent", f"Mozilla/5.0 watch-{name}"),
                cwd=folder,
                env={**os.environ, "PYTHONPATH": SOURCE},
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
        )

    async def hears(self, part: str) -> str:
        async with asyncio.timeout(PATIENCE):
            while part not in self.said:
                line = (await self.process.stderr.readline()).decode()
                assert line, f"it ended without {part!r}: {self.said}"
                self.said += line
        return self.said

    async def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        _, rest = await asyncio.wait_for(self.process.communicate(), 60)
        self.said += rest.decode()
        return self.process.returncode


async def until(is_so) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(is_so):
            await asyncio.sleep(0.2)


async def test_processes_share_the_shards_and_take_over_from_one_that_is_killed(
    server: Server, site: Site, tmp_path: Path
) -> None:
    db = PostgresDatabase(server.database())
    split_anew(db, 2, "20/second")
    await asyncio.to_thread(add, db, site.urls)
    async with AsyncExitStack() as stack:

        async def start(name: str) -> Watch:
            watch = await Watch.start(tmp_path, db, name)
            stack.callback(lambda: watch.process.returncode is None and watch.process.kill())
            return watch

        one, two = await start("one"), await start("two")
        for watch in (one, two):
            await watch.hears("polling shard ")
            await watch.hears("watching ")
        spare = await start("spare")
        assert "all 2 shards" in await spare.hears("waiting to take one over")
        await until(lambda: len(site.asked) == len(site.hosts) and {"one", "two"} <= site.askers())

        # The budget is that of all, and each hears of another one, at once.
        assert sum(shard.rate for shard in read_shards(db).shards) <= 20.001
        await asyncio.to_thread(ask, db, ChangeSettings(budget="10/second"), make=True, say=print)
        changed_at = time.monotonic()
        await until(lambda: sum(shard.rate for shard in read_shards(db).shards) <= 10.001)
        assert time.monotonic() < changed_at + 7.0, "a report comes every ten seconds"

        number = re.search(r"polling shard (\d)", two.said)[1]
        await two.end(signal.SIGKILL)
        killed_at = time.monotonic()
        assert f"polling shard {number} of 2" in await spare.hears("watching ")
        await until(lambda: "spare" in site.askers())
        assert "two" not in site.askers(killed_at + 1.0)

        # What one has is polled by it alone, with the pause of its host from one to the other.
        for asked in site.asked.values():
            for (before, first), (after, second) in pairwise(asked):
                assert first == second or after - before >= 0.2
        for watch in (one, spare):
            assert await watch.end() == 0
            assert "stopped: " in watch.said
    kept = sum(shard.polls for shard in read_shards(db).shards)
    assert kept > 0
    assert read_shards(db).shards[0].process is None


async def test_a_server_that_is_restarted_leaves_the_shards_where_they_are(
    site: Site, tmp_path: Path
) -> None:
    with postgres_server() as server:
        db = PostgresDatabase(server.database())
        split_anew(db, 2, "20/second")
        await asyncio.to_thread(add, db, site.urls)
        watches = [await Watch.start(tmp_path, db, name) for name in ("one", "two")]
        for watch in watches:
            await watch.hears("watching ")
        spare = await Watch.start(tmp_path, db, "spare")
        await spare.hears("waiting to take one over")
        await until(lambda: {"one", "two"} <= site.askers())
        for how in ("fast", "immediate"):
            await asyncio.to_thread(server.stop, how)
            await asyncio.sleep(2.0)
            await asyncio.to_thread(server.start)
            started_at = time.monotonic()
            await until(lambda at=started_at: {"one", "two"} <= site.askers(at))
        assert "spare" not in site.askers()
        for watch in watches:
            assert await watch.end() == 0
        assert "polling shard" in await spare.hears("watching ")
        await until(lambda: "spare" in site.askers())
        assert await spare.end() == 0


def test_a_server_that_goes_as_a_process_begins_to_wait_is_waited_for() -> None:
    with postgres_server() as server:
        db = PostgresDatabase(server.database())
        split_anew(db, 2, "20/second")
        polled = [Store.open(place) for place in split_of(db).shards]
        back = threading.Timer(2.0, server.start)

        def say(told: str) -> None:
            if "waiting to take one over" in told:
                server.stop("fast")  # which ends the connections of those that polled
                back.start()

        with watched_shard(db, [], [], {}, say=say) as own:
            back.join()
            assert own is not None
            assert own.place in split_of(db).shards
        for store in polled:
            store.close()


async def test_one_that_slept_while_another_took_over_ends(
    server: Server, site: Site, tmp_path: Path
) -> None:
    db = PostgresDatabase(server.database())
    split_anew(db, 2, "20/second")
    add(db, site.urls)
    sleeper, other = [await Watch.start(tmp_path, db, name) for name in ("sleeper", "other")]
    for watch in (sleeper, other):
        await watch.hears("watching ")
    await until(lambda: {"sleeper", "other"} <= site.askers())  # a run that begins does not wait
    number = re.search(r"polling shard (\d)", sleeper.said)[1]
    sleeper.process.send_signal(signal.SIGSTOP)
    # As the server does when a machine does not answer for a quarter of a minute.
    pattern = f"process {sleeper.process.pid} on "
    execute(
        db,
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
        f" WHERE application_name LIKE '%{pattern}%'",
    )
    spare = await Watch.start(tmp_path, db, "spare")
    assert f"polling shard {number} of 2" in await spare.hears("watching ")
    sleeper.process.send_signal(signal.SIGCONT)
    _, rest = await asyncio.wait_for(sleeper.process.communicate(), PATIENCE)
    assert sleeper.process.returncode == 2
    assert f"is in use by process {spare.process.pid} on " in rest.decode()
    await until(lambda: {"other", "spare"} <= site.askers())
    for watch in (other, spare):
        assert await watch.end() == 0


async def test_the_example_of_a_cluster_starts_takes_over_and_ends(
    server: Server, site: Site, tmp_path: Path
) -> None:
    urls = tmp_path / "urls.txt"
    urls.write_text("\n".join(site.urls))
    db = PostgresDatabase(server.database())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    words = [EXAMPLE, urls, "--db", db.url, "--shards", "2", "--daemons", "3", "--port", port]
    cluster = await asyncio.create_subprocess_exec(
        *(sys.executable, "-u", *map(str, words)),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCE},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said = ""

    def polling() -> list[str]:
        split = split_database(db)
        return [] if split is None else [one for one in split.processes() if one]

    try:
        async with asyncio.timeout(PATIENCE):
            while said.count("started: ") < 4 or "waiting to take one over" not in said:
                line = (await cluster.stdout.readline()).decode()
                assert line, said
                said += line
        await until(lambda: len(polling()) == 2)
        [first, other] = polling()
        os.kill(int(first.split()[1]), signal.SIGKILL)
        await until(lambda: len(polling()) == 2 and first not in polling())
        assert other in polling()
    finally:
        cluster.send_signal(signal.SIGINT)
        rest, _ = await asyncio.wait_for(cluster.communicate(), PATIENCE)
    assert cluster.returncode == 0, said + rest.decode()
    assert polling() == []


async def test_a_daemon_shows_its_shard(server: Server, site: Site, tmp_path: Path) -> None:
    db = PostgresDatabase(server.database())
    split_anew(db, 2, "20/second")
    add(db, site.urls)
    async with aiohttp.ClientSession() as session:
        daemon = Daemon(tmp_path, session)
        await daemon.start("--db", db.url)
        try:
            async with asyncio.timeout(PATIENCE):  # 503 until it has read its database
                while await daemon.status("/api/status") != 200:
                    await asyncio.sleep(0.1)
            async with session.get(f"{daemon.address}/api/status") as answer:
                told = await answer.json()
            shard = next(one for one in read_shards(db).shards if one.process)
            assert told["database"] == shard.database
            assert told["pages"] == shard.pages
        finally:
            assert await daemon.end(signal.SIGTERM) == 0
