"""The PostgreSQL store keeps the contract of stores, on a real server."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.store.odd_pages import add_odd_pages
from tests.unit.store.some_polls import NOW, PAGES, results

from pollwise.errors import (
    InputError,
    StoreBusyError,
    StoreDiskError,
    StoreError,
    StoreInUseError,
    StoreVersionError,
)
from pollwise.events import Tick
from pollwise.live.opening import opened
from pollwise.store import Requester, Store
from pollwise.store.place import parse_place
from pollwise.store.postgres import connection, database
from pollwise.store.postgres.queries import SQL, migrations
from pollwise.store.records import Batch, NewPage, StoredReceiver
from pollwise.store.tables import side_by_side
from pollwise.store.tables import store as tables
from pollwise.testing.postgres_server import USER
from pollwise.testing.store_contract import StoreContract, StoreOpening
from pollwise.testing.store_contract.samples import A, B, C, held, poll
from pollwise.types import Outcome

from .postgres import Server, postgres_server, small_disk


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres_server() as server:
        yield server


class TestPostgres(StoreContract):
    @pytest.fixture
    def opening(self, server: Server) -> StoreOpening:
        url = server.database()
        return StoreOpening(
            writer=partial(Store.open, url),
            reader=partial(Store.open_readonly, url),
            requester=partial(Requester.open, url),
        )


@pytest.fixture
def url(server: Server) -> str:
    return server.database()


def rows(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement.encode()).fetchall()


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


class TestSameAsSqlite:
    """Any polls leave in both stores what tells the same."""

    @settings(
        deadline=None,
        max_examples=60,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(batches=st.lists(st.lists(results(), max_size=6).map(tuple), max_size=4))
    def test_polls(
        self, server: Server, tmp_path_factory: pytest.TempPathFactory, batches: list
    ) -> None:
        told = []
        for place in (tmp_path_factory.mktemp("polls") / "pollwise.db", server.database()):
            with Store.open(place) as store:
                urls = [NewPage(f"https://{n}.example/") for n in range(PAGES)]
                store.add_pages(urls, now=NOW - 1.0)
                for batch in batches:
                    store.commit(Batch(polls=batch))
                told.append({**held(store), "database": None})
                ahead = store.set_back_times(NOW + 5.0)
                told.append({**held(store), "database": ahead})
        assert told[:2] == told[2:]


def test_the_pages_of_polls_are_found_by_their_index(url: str) -> None:
    """However many pages there are, and before anybody has counted them."""
    with Store.open(url) as store:
        store.add_pages([NewPage(f"https://{n}.example/") for n in range(20_000)], now=0.0)
        store.commit(Batch(polls=tuple(poll(n, 1.0, Outcome.UNCHANGED) for n in range(75))))
        execute(url, "ANALYZE")
        session = store._connection._session
        with session.transaction():
            session.execute(SQL["make_told_polls"].encode())
            for name in ("take_out_told_polls", "update_unchanged_pages"):
                plan = session.execute(f"EXPLAIN {SQL[name]}".encode()).fetchall()
                assert "Seq Scan on pages" not in "\n".join(line for (line,) in plan)


class TestOpening:
    def test_a_lock_of_another_session_is_no_server_that_is_away(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Store.open(url).close()
        hurried = database._SETTINGS.replace(b"'10s'", b"'50ms'")
        monkeypatch.setattr(database, "_SETTINGS", hurried)
        said: list[str] = []
        with psycopg.connect(url) as other:
            other.execute(b"LOCK TABLE pollwise IN EXCLUSIVE MODE")

            def say(line: str) -> None:
                said.append(line)
                other.rollback()

            opened(parse_place(url), say).close()
        [line] = said
        assert line.endswith("(canceling statement due to lock timeout); waiting for it")

    def test_a_writer_that_is_just_ending_is_waited_for(self, url: str) -> None:
        before = Store.open(url)
        ending = threading.Timer(0.2, before.close)
        ending.start()
        Store.open(url).close()
        ending.join()

    def test_a_timeout_that_the_server_has_for_statements_is_none_for_ours(
        self, server: Server, url: str
    ) -> None:
        with Store.open(url) as store:
            store.add_pages([A], now=0.0)
        execute(url, f"ALTER ROLE {USER} SET statement_timeout = '100ms'")
        try:
            with Store.open_readonly(url) as store:
                store._connection._session.execute(b"SELECT pg_sleep(0.3)")
        finally:
            execute(url, f"ALTER ROLE {USER} RESET statement_timeout")

    def test_a_server_that_takes_no_more_sessions_is_none_to_be_started(self, url: str) -> None:
        execute(url, "CREATE ROLE crowd LOGIN CONNECTION LIMIT 0")
        with pytest.raises(StoreError, match=r"too many connections .*: mend what the server says"):
            Store.open_readonly(url.replace(f"{USER}@", "crowd@"))

    def test_a_password_that_is_asked_for_is_named(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("PGPASSWORD", raising=False)
        execute(url, "CREATE ROLE careful LOGIN")
        rules = "('local all careful password'), ('local all all trust')"
        with psycopg.connect(url, autocommit=True) as session:
            [[file]] = session.execute("SHOW hba_file").fetchall()
            session.execute(f"COPY (VALUES {rules}) TO '{file}'".encode())
            session.execute("SELECT pg_reload_conf()")
        wrong = url.replace(f"{USER}@", "careful@")
        for _ in range(200):  # until the server has read its rules again
            try:
                psycopg.connect(wrong).close()
            except psycopg.OperationalError:
                break
            time.sleep(0.05)
        with pytest.raises(StoreError, match=r"no password supplied\): give the password in PGP"):
            Store.open_readonly(wrong)

    def test_a_user_who_may_not_see_the_schema_hears_what_to_grant(self, url: str) -> None:
        Store.open(url).close()
        execute(url, "CREATE ROLE stranger LOGIN")
        with pytest.raises(StoreError, match=r"or its user may not use it: .*GRANT USAGE"):
            Store.open_readonly(url.replace(f"{USER}@", "stranger@"))

    def test_a_database_that_holds_nothing_is_one_line(self, url: str) -> None:
        for opening in (Store.open_readonly, Requester.open):
            with pytest.raises(StoreError, match="holds no pages: name another one with --db"):
                opening(url)
        assert not Store.exists(parse_place(url))
        Store.open(url).close()
        assert Store.exists(parse_place(url))

    def test_tables_of_another_program_are_left_alone(self, url: str) -> None:
        execute(url, "CREATE TABLE pages (id int)")
        for opening in (Store.open, Store.open_readonly, Requester.open):
            with pytest.raises(StoreError, match="has tables of another program: name another"):
                opening(url)
        assert rows(url, "SELECT count(*) FROM pg_class WHERE relname = 'pollwise' AND"
                         " relnamespace = current_schema()::regnamespace") == [(0,)]  # fmt: skip

    def test_a_later_format_is_refused(self, url: str) -> None:
        Store.open(url).close()
        execute(url, "UPDATE pollwise SET format = 99")
        for opening in (Store.open, Store.open_readonly, Requester.open):
            with pytest.raises(StoreVersionError, match=r"has format 99, .* install a newer"):
                opening(url)

    def test_an_older_format_is_converted_by_a_writer_alone(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(database, "migrations", lambda: migrations()[:1])
            Store.open(url).close()
        columns = "(id, url, scope, weight, cost, added_at, depth)"
        page = "(0, 'https://a.example/', '', 3.0, 1.0, 5.0, 0)"
        execute(url, f"INSERT INTO pages {columns} VALUES {page}")
        change = "(0, 7.0, 6.0, FALSE)"
        execute(url, f"INSERT INTO changes (page_id, seen_at, before_at, reverted) VALUES {change}")
        execute(url, "INSERT INTO receivers VALUES ('me', 7, 0, NULL, 5.0, 2, 'why')")
        with pytest.raises(StoreVersionError, match="has format 1, older than format"):
            Store.open_readonly(url)
        Store.open(url).close()
        with Store.open_readonly(url) as store:
            [(page, memory)] = [(one.page, one.memory) for one in store.pages()]
            assert (page.weight, page.notify_when, memory.told_number) == (3.0, (), None)
            assert store.count_changes(to_tell=True) == (1, 7.0)
            assert store.receivers() == [StoredReceiver("me", 7, 0, None, 5.0, 2, "why")]

    def test_a_missing_table_is_told(self, url: str) -> None:
        Store.open(url).close()
        execute(url, "DROP TABLE polls")
        with Store.open(url) as store, pytest.raises(StoreError, match="is damaged: restore"):
            store.recent_outcomes(0)

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ("postgresql://pollwise@127.0.0.1:1/x", "cannot be reached .*: start the server"),
            ("postgresql://pollwise@host.invalid/x", "cannot be reached"),
            ("postgresql://pollwise@/x?sslmode=nonsense", "sslmode"),
            ("postgresql://u:secret%zzword@h/d", "postgresql://u@h/d cannot be read as an address"),
            ("postgresql://u:sec ret@h/d", "postgresql://u@h/d cannot be read as an address"),
        ],
    )
    def test_an_address_without_a_server_is_one_line(self, wrong: str, message: str) -> None:
        for opening in (Store.open, Store.open_readonly, Requester.open):
            with pytest.raises(StoreError, match=message) as caught:
                opening(wrong)
            assert not isinstance(caught.value, StoreBusyError), "which would be waited for"
            assert "\n" not in str(caught.value)
            assert "sec" not in str(caught.value)

    def test_a_database_that_is_not_there_is_one_line(self, server: Server) -> None:
        with pytest.raises(StoreError, match=r'"nothing" does not exist.*correct the address'):
            Store.open(server.url("nothing"))

    def test_a_user_who_may_not_make_tables_is_one_line(self, server: Server, url: str) -> None:
        execute(url, "CREATE ROLE guest LOGIN")
        with pytest.raises(StoreError, match="does not let its user do this: grant that"):
            Store.open(server.url("postgres").replace("pollwise@", "guest@"))

    def test_a_server_of_an_old_version_is_refused(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "_OLDEST_SERVER", 990_000)
        with pytest.raises(StoreError, match=r"of version \d+: pollwise needs PostgreSQL 99"):
            Store.open(url)

    def test_a_database_that_cannot_hold_all_text_is_refused(self, server: Server) -> None:
        execute(
            server.url("postgres"),
            "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
        )
        with pytest.raises(StoreError, match="keeps text as LATIN1: name a database that was made"):
            Store.open(server.url("latin"))

    def test_only_a_durable_store_waits_for_the_disk(self, url: str) -> None:
        for durable, told in ((True, "on"), (False, "off")):
            with Store.open(url, durable=durable) as store:
                [found] = store._connection._session.execute("SHOW synchronous_commit")
            assert found == (told,)


class TestValues:
    def test_a_url_may_be_longer_than_a_row_of_an_index(self, url: str) -> None:
        noise = np.random.default_rng(1).bytes(50_000).hex()
        long = [f"https://a.example/{noise}{number}" for number in range(3)]
        with Store.open(url) as store:
            store.add_pages([NewPage(one) for one in long], now=0.0)
            assert set(store.find_pages(long[1:])) == set(long[1:])
            store.add_pages([NewPage(one, weight=2.0) for one in long[:2]], now=1.0)
            assert [record.page.weight for record in store.pages()] == [2.0, 2.0, 1.0]

    def test_what_is_no_text_is_one_line(self, url: str) -> None:
        with Store.open(url) as store, pytest.raises(InputError, match="cannot hold a value"):
            store.add_pages([NewPage("https://a.example/", name="a\0b")], now=0.0)

    def test_a_collection_is_refused(self, url: str) -> None:
        with Store.open(url) as store:
            for what in (lambda: store.search("x"), store.terms, store.history):
                with pytest.raises(InputError, match="which needs SQLite: name a file"):
                    what()


class TestLostSessions:
    """Sessions that the server ends, as an administrator does, or a restart."""

    @staticmethod
    def end_sessions(url: str) -> None:
        execute(
            url,
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
        )

    def test_work_goes_on_in_a_new_session(self, url: str) -> None:
        with Store.open(url) as store, Store.open_readonly(url) as reader:
            store.add_pages([A, B], now=0.0)
            run = store.start_run(0.0, {}, None)
            self.end_sessions(url)
            store.commit(Batch(events=(Tick(1.0),), polls=(poll(0, 1.0, Outcome.UNCHANGED),)))
            assert [record.polls for record in reader.pages()] == [1, 0]
            assert list(store.events(run)) == [Tick(1.0)]
            with pytest.raises(StoreInUseError, match=f"in use by process {os.getpid()} on"):
                Store.open(url)

    def test_what_was_not_committed_is_lost_and_can_be_done_again(self, url: str) -> None:
        with Store.open(url) as store:
            store.add_pages([A], now=0.0)

            def lose_it() -> None:
                with store.together():
                    store.commit(Batch(polls=(poll(0, 1.0, Outcome.UNCHANGED),)))
                    self.end_sessions(url)
                    store.add_pages([B], now=0.0)

            with pytest.raises(StoreBusyError, match="does not answer"):
                lose_it()
            assert [record.polls for record in store.pages()] == [0]
            store.add_pages([B], now=0.0)

    @pytest.mark.parametrize("kept", [True, False], ids=["kept", "lost"])
    def test_a_commit_without_an_answer_is_not_made_twice(
        self, url: str, kept: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The connection ends before or after the server has taken in the commit."""
        with Store.open(url) as store:
            store.add_pages([A], now=0.0)
            session = store._connection._session
            execute_plainly = session.execute

            def execute(statement, *arguments, **options):
                if statement != b"COMMIT":
                    return execute_plainly(statement, *arguments, **options)
                if kept:
                    execute_plainly(statement)
                self.end_sessions(url)
                return execute_plainly(b"SELECT 1")

            monkeypatch.setattr(session, "execute", execute)
            batch = Batch(polls=(poll(0, 1.0, Outcome.UNCHANGED),))
            if kept:
                store.commit(batch)
            else:
                with pytest.raises(StoreBusyError):
                    store.commit(batch)
                assert store.pages()[0].polls == 0
                store.commit(batch)
            assert store.pages()[0].polls == 1

    def test_a_store_that_was_closed_stays_closed(self, url: str) -> None:
        store = Store.open(url)
        store.close()
        with pytest.raises(psycopg.InterfaceError, match="the store is closed"):
            store.pages()
        Store.open(url).close()

    def test_whoever_took_over_meanwhile_is_the_writer_for_good(self, url: str) -> None:
        with Store.open(url) as store:
            store.add_pages([A], now=0.0)
            store._connection._session.close()  # as if its machine had been cut off
            with Store.open(url) as other:
                with pytest.raises(StoreInUseError, match="is in use by process"):
                    store.add_pages([B], now=0.0)
                other.add_pages([C], now=0.0)
            with pytest.raises(StoreInUseError, match="was written to by another process, while"):
                store.add_pages([B], now=0.0)
        with Store.open(url) as store:
            assert [record.page.url for record in store.pages()] == [A.url, C.url]


def test_a_server_that_is_restarted_in_the_middle_loses_nothing_and_doubles_nothing() -> None:
    with postgres_server() as server:
        url = server.database()
        with Store.open(url) as store, Store.open_readonly(url) as reader:
            store.add_pages([A], now=0.0)
            run = store.start_run(0.0, {}, None)
            for number, how in enumerate(("fast", "immediate", "fast")):
                batch = Batch(
                    events=(Tick(float(number)),),
                    polls=(poll(0, float(number), Outcome.UNCHANGED),),
                )
                store.commit(batch)
                server.stop(how)
                server.start()
            assert store.pages()[0].polls == reader.pages()[0].polls == 3
            assert list(store.events(run)) == [Tick(0.0), Tick(1.0), Tick(2.0)]


def test_a_full_disk_of_the_server_is_one_line_and_loses_nothing() -> None:
    with postgres_server() as server, small_disk(server) as (url, disk), Store.open(url) as store:
        store.add_pages([A], now=0.0)
        filler, polls = disk / "filler", 0
        filler.write_bytes(bytes(shutil.disk_usage(disk).free))

        def poll_on(times: int) -> None:
            nonlocal polls
            for _ in range(times):
                body = np.random.default_rng(polls).bytes(50_000)
                store.commit(Batch(polls=(poll(0, 1.0 + polls, Outcome.CHANGED, body),)))
                polls += 1

        with pytest.raises(StoreDiskError, match="the disk of the server is full: free some space"):
            poll_on(1_000)
        assert [record.polls for record in store.pages()] == [polls]
        filler.unlink()
        poll_on(1)
        assert [record.polls for record in store.pages()] == [polls]


def test_a_commit_that_a_crash_undid_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although the server gives the number of its transaction to another one afterwards."""
    with postgres_server() as server:
        url, other = server.database(), server.database()
        execute(other, "CREATE TABLE other (id int)")
        with Store.open(url) as store:
            store.add_pages([A], now=0.0)
            session = store._connection._session
            execute_plainly = session.execute

            def crash(statement, *arguments, **options):
                if statement == b"COMMIT":
                    server.stop("immediate")
                    server.start()
                    for _ in range(3):
                        execute(other, "INSERT INTO other VALUES (1)")
                return execute_plainly(statement, *arguments, **options)

            monkeypatch.setattr(session, "execute", crash)
            batch = Batch(polls=(poll(0, 1.0, Outcome.UNCHANGED),))
            with pytest.raises(StoreBusyError):
                store.commit(batch)
            assert store.pages()[0].polls == 0
            store.commit(batch)
            assert store.pages()[0].polls == 1


def test_a_server_that_stays_away_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_PATIENCE", 0.1)
    with postgres_server() as server:
        url = server.database()
        with Store.open(url) as store:
            store.add_pages([A], now=0.0)
            server.stop()
            for _ in range(2):
                with pytest.raises(StoreBusyError, match="cannot be reached") as caught:
                    store.commit(Batch(polls=(poll(0, 1.0, Outcome.UNCHANGED),)))
                assert "\n" not in str(caught.value)
            server.start()
            store.commit(Batch(polls=(poll(0, 1.0, Outcome.UNCHANGED),)))
            assert store.pages()[0].polls == 1


def test_several_processes_read_what_one_would(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "_AT_ONCE", 7)
    with Store.open(url) as store:
        add_odd_pages(store)
        one = store.watched_pages(), store.load_learned()
        monkeypatch.setattr(tables, "_VERY_MANY", 2)
        monkeypatch.setattr(tables, "usable_cores", lambda: 2)
        several = store.watched_pages(), store.load_learned()
    assert [*several[0].items()] == [*one[0].items()]
    np.testing.assert_equal(several[1], one[1])
