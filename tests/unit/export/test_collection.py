"""Which file is written in which format, and what is refused."""

import io
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.unit.insight.a_watch import DAY, make_watch

from pollwise.errors import InputError, StoreError
from pollwise.export import count_left_out, export_collection, export_into
from pollwise.store import Store
from pollwise.store.records import Batch, Collected, Discoveries, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version

SIGNATURES = {"jsonl": b'{"page_id":0', "parquet": b"PAR1", "warc": b"\x1f\x8b"}
OF_PAGES = ("jsonl", "parquet", "warc")
"""Formats that have any page; OPML has feeds alone, and tests of its own."""
NAMES = {"jsonl": "X.JSONL", "parquet": "x.parquet", "warc": "x.warc.gz"}


def of(*collected: Collected) -> tuple[Discoveries, ...]:
    return tuple(Discoveries(collected=each) for each in collected)


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """What would make a file larger than so many bytes fails, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("name", OF_PAGES)
def test_the_name_of_the_file_tells_the_format(db: Path, name: str) -> None:
    path = db.with_name(NAMES[name])
    assert export_collection(db, path, now=0.0) == 3
    assert path.read_bytes().startswith(SIGNATURES[name])


@pytest.mark.parametrize("name", OF_PAGES)
def test_the_format_can_be_named(db: Path, name: str) -> None:
    path = db.with_name("x.jsonl")
    assert export_collection(db, path, now=0.0, format_name=name) == 3
    assert path.read_bytes().startswith(SIGNATURES[name])


@pytest.mark.parametrize("name", OF_PAGES)
def test_only_relevant_pages(db: Path, name: str) -> None:
    path = db.with_name(NAMES[name])
    for relevance, count in ((0.0, 2), (0.5, 1), (0.9, 0)):
        got = export_collection(db, path, now=0.0, min_relevance=relevance, force=True)
        assert got == count


def test_a_file_that_is_there_is_kept_unless_forced(db: Path) -> None:
    path = db.with_name("x.jsonl")
    path.write_bytes(b"mine")
    with pytest.raises(InputError, match=r"x\.jsonl exists already: .* \(--force replaces it\)"):
        export_collection(db, path, now=0.0)
    assert path.read_bytes() == b"mine"
    export_collection(db, path, now=0.0, force=True)
    assert path.read_bytes().startswith(SIGNATURES["jsonl"])


@pytest.mark.parametrize("force", [False, True])
def test_nothing_is_written_through_a_link_and_none_is_replaced(db: Path, force: bool) -> None:
    link, mine = db.with_name("link.jsonl"), db.with_name("mine")
    link.symlink_to(mine)
    with pytest.raises(InputError, match=rf"{link} is a link to {mine}: name that file, or remove"):
        export_collection(db, link, now=0.0, force=force)
    assert (link.readlink(), mine.exists()) == (mine, False)


@pytest.mark.parametrize("name", ["jsonl", "txt", "warc", "opml"])
def test_a_file_that_is_open_gets_the_same(db: Path, name: str) -> None:
    path = db.with_name("x")
    count = export_collection(db, path, now=0.0, format_name=name)
    reading, writing = os.pipe()
    with open(writing, "wb") as file:
        assert export_into(db, file, now=0.0, format_name=name) == count
    with open(reading, "rb") as told:
        assert told.read() == path.read_bytes()


def test_all_pages_but_feeds_are_left_out_of_feeds_without_a_copy(tmp_path: Path) -> None:
    db, path = tmp_path / "new.db", tmp_path / "x.opml"
    sources = (None, "feed", "page", "nonsense")
    with Store.open(db) as store:
        new = [NewPage(f"https://{source}.example/", source=source) for source in sources]
        store.add_pages(new, now=0.0)
    assert export_collection(db, path, now=0.0) == 1
    assert count_left_out(db, path) == (3, 0)


def test_parquet_needs_a_file(db: Path) -> None:
    with pytest.raises(InputError, match="Parquet is written into a file only: name one"):
        export_into(db, io.BytesIO(), now=0.0, format_name="parquet")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("x.csv", {}, r"x\.csv: its name does not tell the format: end it in \.jsonl"),
        (
            "x.jsonl",
            {"format_name": "csv"},
            "'csv' is unknown: give one of jsonl, txt, opml, parquet, warc",
        ),
        ("x.jsonl", {"min_relevance": 1.5}, "relevance is 1.5; expected a number from 0 to 1"),
        ("x.jsonl", {"min_relevance": np.nan}, "relevance is nan"),
        ("x.warc.gz", {"bodies": True}, "has all bodies anyway: leave out --bodies"),
        ("x.opml", {"bodies": True}, "OPML only names feeds: choose jsonl or parquet"),
        (".", {"format_name": "jsonl", "force": True}, "it is no regular file"),
        ("none/x.jsonl", {}, "cannot be written .*: choose another place"),
    ],
)
def test_what_cannot_be_used(db: Path, name: str, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        export_collection(db, db.parent / name, now=0.0, **options)
    assert not [path for path in db.parent.iterdir() if not path.name.startswith(db.name)]


def test_a_library_that_is_missing_is_one_line(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pollwise.extras.find_spec", lambda name: None)
    for name, library in (("parquet", "pyarrow"), ("warc", "warcio")):
        with pytest.raises(InputError, match=rf"needs {library}: install it .*pollwise\[{name}\]"):
            export_collection(db, db.with_name("x"), now=0.0, format_name=name)
    assert export_collection(db, db.with_name("x.jsonl"), now=0.0) == 3


def test_no_database_is_one_line_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        export_collection(tmp_path / "x.db", tmp_path / "x.jsonl", now=0.0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", OF_PAGES)
def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, name: str) -> None:
    db, path = tmp_path / "pollwise.db", tmp_path / NAMES[name]
    rng = np.random.default_rng(5)
    bodies = [rng.bytes(5_000) for _ in range(40)]
    with Store.open(db) as store:
        store.add_pages([NewPage(f"https://a.example/{n}") for n in range(40)], now=0.0)
        store.commit(
            Batch(
                polls=tuple(
                    PollResult(
                        Observation(n, 1.0, Outcome.CHANGED),
                        PageMemory(),
                        Version(n, 1.0, "text/plain", body, str(n)),
                    )
                    for n, body in enumerate(bodies)
                ),
                discovered=of(
                    *(
                        Collected(n, 0.5, "", body.hex(), indexed=False)
                        for n, body in enumerate(bodies)
                    )
                ),
            )
        )
    path.write_bytes(b"before")
    with full_disk(60_000), pytest.raises(InputError, match=r"cannot be written .*free some space"):
        export_collection(db, path, now=0.0, force=True)
    assert path.read_bytes() == b"before"
    assert not [left for left in tmp_path.iterdir() if left.name.endswith(".part")]
    assert export_collection(db, path, now=0.0, force=True) == 40


@pytest.mark.parametrize("name", OF_PAGES)
def test_a_writer_may_be_at_work(db: Path, name: str) -> None:
    with Store.open(db):
        assert export_collection(db, db.with_name(NAMES[name]), now=0.0) == 3


def test_a_watch_has_no_relevances(tmp_path):
    db, path = tmp_path / "watch.db", tmp_path / "x.jsonl"
    make_watch(db, 100 * DAY)
    for export in (
        lambda: export_collection(db, path, now=0.0, min_relevance=0.0),
        lambda: export_into(db, io.BytesIO(), now=0.0, format_name="jsonl", min_relevance=0.0),
    ):
        with pytest.raises(InputError, match=r"holds a watch, .+: leave out --min-relevance$"):
            export()
    assert not path.exists()
