"""A database that was damaged is a `StoreError` of one line, whichever bytes were hit."""

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError, PollwiseError, StateError, StoreError
from pollwise.store import Store
from pollwise.store.records import Batch, Collected, Discoveries, NewPage, PollResult
from pollwise.store.sqlite.columns import COLUMNS, unsound_column
from pollwise.store.sqlite.links import unpack_links
from pollwise.store.sqlite.queries import SQL
from pollwise.types import Observation, Outcome, PageMemory, Version

from .damage import PAGES, damage, make_database, put

Call = Callable[[], Any]

CASES = 120


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("sound") / "pollwise.db"
    make_database(path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, sound: bytes) -> Path:
    path = tmp_path / "pollwise.db"
    path.write_bytes(sound)
    return path


def reads(store: Store) -> Iterator[Call]:
    """All that can be read."""
    yield store.pages
    yield lambda: store.find_page("https://0.example/page/0")
    yield store.next_page_id
    yield store.totals
    yield store.outcomes
    yield store.load_learned
    yield store.has_learned
    yield store.scheduler_state
    yield lambda: store.state("topic-filter")
    yield store.clock_set_back
    yield store.runs
    yield lambda: store.initial_state(1)
    yield lambda: list(store.events(1))
    yield lambda: list(store.history())
    yield lambda: store.terms_of(0)
    yield lambda: list(store.terms())
    yield lambda: list(store.documents())
    yield lambda: store.search("whale")
    yield lambda: store.count_matches("whale")
    yield store.searchable_pages
    for page_id in range(PAGES):
        yield lambda page_id=page_id: store.recent_outcomes(page_id)
        yield lambda page_id=page_id: store.revisits(page_id)
        yield lambda page_id=page_id: [store.body(v.body_hash) for v in store.versions(page_id)]


def writes(store: Store) -> Iterator[Call]:
    """Something of all that can be written."""
    yield lambda: store.set_back_times(5.0)
    yield lambda: store.add_pages(
        [NewPage("https://0.example/page/0"), NewPage("https://n.example/")], now=50.0
    )
    yield lambda: store.start_run(51.0, {}, b"beginning")
    yield lambda: store.prune_events(1)
    polls = [
        PollResult(
            Observation(page_id, 60.0, Outcome.CHANGED),
            PageMemory(),
            Version(page_id, 60.0, "text/html", b"%d" % page_id, f"new {page_id}"),
        )
        for page_id in range(PAGES)
    ]
    collected = Collected(3, 0.1, "new title", "new text")
    yield lambda: store.commit(
        Batch(polls=tuple(polls), discovered=(Discoveries(collected=collected),))
    )
    yield lambda: store.remove_pages([2, 3], now=70.0)


@pytest.mark.parametrize(
    ("open_store", "calls"), [(Store.open_readonly, reads), (Store.open, writes)]
)
def test_damage_is_one_line(
    tmp_path: Path,
    sound: bytes,
    open_store: Callable[[Path], Store],
    calls: Callable[[Store], Iterator[Call]],
) -> None:
    seen = 0
    for seed in range(CASES):
        path = tmp_path / f"{seed}.db"
        path.write_bytes(damage(sound, seed))
        try:
            store = open_store(path)
        except StoreError as error:
            assert_one_line(error, path)
            seen += 1
            continue
        for call in calls(store):
            try:
                call()
            except (StoreError, InputError, StateError) as error:
                assert_one_line(error, None)
                seen += 1
        try:
            store.close()
        except StoreError as error:
            assert_one_line(error, path)
    assert seen > CASES / 5


def assert_one_line(error: PollwiseError, path: Path | None) -> None:
    assert "\n" not in str(error)
    assert path is None or str(error).startswith(str(path))


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("UPDATE learned_layouts SET layout = ?", "[[1,"),
        ("UPDATE learned_layouts SET layout = ?", '[["page.rate","<f9",[]]]'),
        ("UPDATE learned_layouts SET layout = ?", '[["page.rate","<f8",[-1]]]'),
        ("UPDATE learned_layouts SET layout = ?", "7"),
        ("UPDATE learned_pages SET data = ?", "text"),
        ("UPDATE learned_shared SET dtype = ?", "no type"),
        ("UPDATE learned_shared SET dtype = ?", "O"),
        ("UPDATE learned_shared SET shape = ?", "{}"),
        ("UPDATE learned_shared SET shape = ?", "[[]]"),
    ],
)
def test_rubbish_for_learned_state_is_one_line(path: Path, statement: str, value: object) -> None:
    put(path, statement, value)
    with Store.open_readonly(path) as store, pytest.raises((StoreError, StateError)) as caught:
        store.load_learned()
    assert "\n" not in str(caught.value)
    if isinstance(caught.value, StoreError):
        assert str(caught.value).startswith(f"{path} is damaged: restore a copy")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE learned_pages SET data = CAST(x'ff' || substr(data, 2) AS BLOB) WHERE page_id = ?",
        "UPDATE learned_shared SET data = CAST(x'ff' || substr(data, 2) AS BLOB) WHERE ?",
        "UPDATE learned_pages SET data = substr(data, 2) WHERE page_id = ?",
    ],
)
def test_learned_numbers_that_were_changed_are_told(path: Path, statement: str) -> None:
    """Compiled code that is given them may end the process."""
    put(path, statement, 1)
    with Store.open_readonly(path) as store, pytest.raises(StoreError, match="their checksum"):
        store.load_learned()


def test_what_earlier_versions_learned_has_no_checksum_and_is_read(path: Path) -> None:
    with Store.open(path) as store:
        before = store.load_learned()
        put(path, "UPDATE learned_layouts SET layout = substr(layout, ?)", 7)
        for table in ("learned_pages", "learned_shared"):
            put(
                path,
                f"UPDATE {table} SET data = CAST(substr(data, 1, length(data) - ?) AS BLOB)",
                4,
            )
        put(path, "UPDATE learned_shared SET dtype = substr(dtype, ?)", 7)
        # A page that is polled again has one; the others are of the same policy.
        store.commit(
            Batch(
                learned={name: array[:1] if array.ndim else array for name, array in before.items()}
            )
        )
        after = store.load_learned()
    assert {name: array.tolist() for name, array in after.items()} == {
        name: array.tolist() for name, array in before.items()
    }


@pytest.mark.parametrize(
    ("statement", "value", "call"),
    [
        ("UPDATE links SET data = ?", b"rubbish", lambda store: list(store.history())),
        ("UPDATE documents SET terms = ?", 1.5, lambda store: list(store.terms())),
        ("UPDATE documents SET text = ?", b"rubbish", lambda store: list(store.documents())),
        ("UPDATE scheduler SET state = ?", b"\xff", lambda store: store.scheduler_state()),
        ("UPDATE runs SET initial_state = ?", "text", lambda store: store.initial_state(1)),
        ("UPDATE runs SET settings = ?", "{", lambda store: store.runs()),
        ("UPDATE runs SET settings = ?", "[1]", lambda store: store.runs()),
        ("UPDATE runs SET settings = ?", "[" * 100_000, lambda store: store.runs()),
        ("UPDATE runs SET started_at = ?", 1e300, lambda store: store.runs()),
        ("UPDATE pages SET outcome = ?", 77, lambda store: store.pages()),
        ("UPDATE pages SET polled_at = ?", "late", lambda store: store.pages()),
        ("UPDATE pages SET weight = ?", float("inf"), lambda store: store.pages()),
        ("UPDATE pages SET scope = ?", b"\xff", lambda store: store.pages()),
        ("UPDATE ledger SET latest_at = ?", "late", lambda store: store.set_back_times(0.0)),
        ("DELETE FROM ledger WHERE id = ?", 1, lambda store: store.set_back_times(0.0)),
        ("UPDATE contents SET codec = ?", "lzma", lambda store: store.body("%")),
    ],
)
def test_rubbish_in_a_row_is_one_line(
    path: Path, statement: str, value: object, call: Callable[[Store], Any]
) -> None:
    put(path, statement, value)
    if "contents" in statement:
        put(path, "UPDATE contents SET hash = '%' WHERE rowid = ?", 1)
    with Store.open(path) as store, pytest.raises(StoreError) as caught:
        call(store)
    assert_one_line(caught.value, path)
    assert "restore a copy" in str(caught.value)


@pytest.mark.parametrize("version", [-1, 0, 1, 2])
def test_a_wrong_format_number_is_one_line(path: Path, version: int) -> None:
    put_version(path, version)
    for open_store in (Store.open, Store.open_readonly):
        with pytest.raises(StoreError) as caught:
            open_store(path)
        assert_one_line(caught.value, path)


def put_version(path: Path, version: int) -> None:
    data = bytearray(path.read_bytes())
    data[60:64] = version.to_bytes(4, "big", signed=True)
    path.write_bytes(data)


@pytest.mark.parametrize("missing", ["polls", "ledger", "full_text"])
def test_a_missing_table_is_told(path: Path, missing: str) -> None:
    drop_table(path, missing)
    for open_store in (Store.open, Store.open_readonly):
        with pytest.raises(StoreError) as caught:
            open_store(path)
        assert_one_line(caught.value, path)
        assert f"the table {missing} has no column" in str(caught.value)


def drop_table(path: Path, name: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"DROP TABLE {name}")


@pytest.mark.parametrize("command", [["status"], ["explain", "https://0.example/page/0"], ["plan"]])
def test_a_command_ends_with_one_line_and_status_2(path: Path, command: list[str]) -> None:
    put(path, "UPDATE pages SET cost = ?", b"rubbish")
    answer = subprocess.run(
        [sys.executable, "-m", "pollwise", *command, "--db", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert answer.returncode == 2
    [line] = answer.stderr.splitlines()
    assert f"{path} is damaged: restore a copy" in line


def test_an_id_that_no_page_gets_is_damage(path: Path) -> None:
    put(path, "UPDATE pages SET id = ? WHERE id = 0", 2**62)
    with Store.open_readonly(path) as store, pytest.raises(StoreError) as caught:
        store.pages()
    assert_one_line(caught.value, path)


def test_every_query_that_is_read_says_what_its_columns_hold() -> None:
    assert COLUMNS.keys() <= SQL.keys()


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ([(1, 2.0, 1)], None),
        ([(1, 2, 0)], None),
        ([(1, 2.0, 1), (1, None, 1)], "nothing for a time"),
        ([(1, 2.0, 1), ("1", 2.0, 1)], "str for a whole"),
        ([(-1, 2.0, 1)], "-1 to -1 for a whole"),
        ([(1, 1e18, 1)], "1e+18 to 1e+18 for a time"),
    ],
)
def test_columns_are_checked(rows: list[tuple[Any, ...]], wrong: str | None) -> None:
    assert unsound_column("outcomes", rows) == wrong


@given(st.binary(max_size=60))
def test_links_are_links_or_a_value_error(data: bytes) -> None:
    with contextlib.suppress(ValueError, TypeError):
        unpack_links(data)
