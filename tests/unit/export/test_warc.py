"""WARC: what other programs read is what was kept."""

import base64
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from warcio.archiveiterator import ArchiveIterator

from pollwise.export import export_collection
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version

SITE = "https://a.example/"
PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


class Record(NamedTuple):
    headers: dict[str, str]
    block: bytes
    http: tuple[str, list[tuple[str, str]]] | None
    """Status and headers of a response."""

    @property
    def summary(self) -> tuple[str, str, str]:
        headers = self.headers
        return headers["WARC-Type"], headers["WARC-Target-URI"], headers["WARC-Date"][-10:]


def records(path: Path) -> list[Record]:
    with open(path, "rb") as file:
        found = []
        for record in ArchiveIterator(file, check_digests="raise"):
            block = record.content_stream().read()
            assert record.rec_headers.protocol == "WARC/1.1"
            head = record.http_headers
            http = None if head is None else (head.statusline, head.headers)
            found.append(Record(dict(record.rec_headers.headers), block, http))
        return found


def digest(body: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()


def test_versions_are_resources_and_equal_bodies_revisits(db: Path) -> None:
    path = db.with_name("x.warc.gz")
    assert export_collection(db, path, now=86_400.5) == 3
    info, *rest = records(path)
    assert info.headers["WARC-Type"] == "warcinfo"
    assert info.headers["WARC-Date"] == "1970-01-02T00:00:00.500000Z"
    assert b"software: pollwise" in info.block
    assert [record.summary for record in rest] == [
        ("resource", SITE, "01.250000Z"),
        ("revisit", SITE, "02.000000Z"),  # not at 3: other bytes with the same text
        ("resource", SITE, "04.000000Z"),
        ("revisit", SITE, "05.000000Z"),
        ("resource", f"{SITE}1", "03.000000Z"),
        ("resource", f"{SITE}2", "03.000000Z"),
    ]
    first, again, second, _, _, odd = rest
    assert (first.block, second.block, odd.block) == (b"<p>one", b"<p>two \xc3\xa9", b"\0\xff")
    assert first.headers["Content-Type"] == "text/html; charset=utf-8"
    assert odd.headers["Content-Type"] == "application/octet-stream"
    assert first.headers["WARC-Payload-Digest"] == digest(b"<p>one")
    assert again.block == b""
    assert "Content-Type" not in again.headers
    assert again.headers["WARC-Profile"] == PROFILE
    assert again.headers["WARC-Payload-Digest"] == digest(b"<p>one")
    assert again.headers["WARC-Refers-To"] == first.headers["WARC-Record-ID"]
    assert again.headers["WARC-Refers-To-Target-URI"] == SITE
    assert again.headers["WARC-Refers-To-Date"] == first.headers["WARC-Date"]
    assert len({record.headers["WARC-Record-ID"] for record in (info, *rest)}) == 7


HEAD = (
    b"HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\ncontent-encoding: gzip\r\n"
    b"Transfer-Encoding: chunked\r\nContent-Length: 7\r\nServer: caf\xc3\xa9\r\nServer: two"
)


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """A page with a version whose head is known, and the poll that found it again."""
    path = tmp_path / "answers.db"
    body, empty, memory = b"<p>decoded", b"", PageMemory(body_hash="one")
    with Store.open(path) as store:
        store.add_pages([NewPage(SITE)], now=0.0)
        polls = [
            PollResult(
                Observation(0, 1.0, Outcome.CHANGED),
                memory,
                Version(0, 1.0, "text/html", body, "one", HEAD),
            ),
            PollResult(Observation(0, 2.0, Outcome.UNCHANGED), memory),
            PollResult(
                Observation(0, 3.0, Outcome.CHANGED),
                memory,
                Version(0, 3.0, "", empty, "none", b"HTTP/1.0 200 \r\nContent-length: 0"),
            ),
        ]
        store.commit(Batch(polls=tuple(polls)))
    return path


def test_a_version_with_a_head_is_a_response(answers: Path) -> None:
    path = answers.with_name("x.warc.gz")
    export_collection(answers, path, now=0.0)
    _, first, again, second = records(path)
    assert [record.summary for record in (first, again, second)] == [
        ("response", SITE, "01.000000Z"),
        ("revisit", SITE, "02.000000Z"),
        ("response", SITE, "03.000000Z"),
    ]
    assert first.headers["Content-Type"] == "application/http; msgtype=response"
    assert first.block == b"<p>decoded"
    assert first.headers["WARC-Payload-Digest"] == digest(b"<p>decoded")
    assert first.http == (
        "200 Fine",
        [
            ("Content-Type", "text/html"),
            ("X-Crawler-content-encoding", "gzip"),
            ("X-Crawler-Transfer-Encoding", "chunked"),
            ("X-Crawler-Content-Length", "7"),
            ("Server", "caf%C3%A9"),
            ("Server", "two"),
            ("Content-Length", "10"),
        ],
    )
    assert again.headers["WARC-Refers-To"] == first.headers["WARC-Record-ID"]
    assert again.headers["WARC-Payload-Digest"] == first.headers["WARC-Payload-Digest"]
    assert (second.block, second.http) == (b"", ("200", [("Content-Length", "0")]))


@pytest.mark.parametrize(
    ("head", "status", "header"),
    [
        (b"HTTP/1.1 200 \xff\xfe\r\nServer: x", "200 %FF%FE", ("Server", "x")),
        (
            b'HTTP/1.1 200 OK\r\nLink: \xe9; name="\xc3\xbc"',
            "200 OK",
            ("Link", '%E9; name="%C3%BC"'),
        ),
    ],
)
def test_a_head_of_any_bytes_is_written(
    tmp_path: Path, head: bytes, status: str, header: tuple[str, str]
) -> None:
    """One server kept a whole collection from being written."""
    db, path = tmp_path / "x.db", tmp_path / "x.warc.gz"
    with Store.open(db) as store:
        store.add_pages([NewPage(SITE)], now=0.0)
        version = Version(0, 1.0, "text/html", b"<p>", "one", head)
        poll = PollResult(Observation(0, 1.0, Outcome.CHANGED), PageMemory(), version)
        store.commit(Batch(polls=(poll,)))
    assert export_collection(db, path, now=0.0) == 1
    assert records(path)[1].http == (status, [header, ("Content-Length", "3")])


@pytest.mark.parametrize("kind", ["db", "answers"])
def test_warcio_finds_nothing_wrong(kind: str, request: pytest.FixtureRequest) -> None:
    db = request.getfixturevalue(kind)
    path = db.with_name("x.warc.gz")
    export_collection(db, path, now=0.0)
    check = [sys.executable, "-c", "from warcio.cli import main; main()", "check", str(path)]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_same_store_gives_the_same_file(db: Path) -> None:
    paths = [db.with_name(f"{name}.warc.gz") for name in "ab"]
    for path in paths:
        export_collection(db, path, now=1.0)
    assert paths[0].read_bytes() == paths[1].read_bytes()
