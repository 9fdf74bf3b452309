"""`pollwise serve` refuses what it cannot serve in one line, before it answers anybody."""

import socket
from dataclasses import asdict
from pathlib import Path

import pytest

from pollwise.errors import InputError, StoreError
from pollwise.relevance.topic import topic
from pollwise.search.serving import serve_collection
from pollwise.store import Store


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "pollwise.db"
    with Store.open(path) as store:
        store.start_run(0.0, {"topic": asdict(topic("whales"))}, None)
    return path


def test_a_missing_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"none\.db does not exist: start .*'pollwise collect'"):
        serve_collection(tmp_path / "none.db", host="127.0.0.1", port=0, peers=[], tell=print)


def test_a_database_without_a_collection(tmp_path: Path) -> None:
    path = tmp_path / "watched.db"
    with Store.open(path) as store:
        store.start_run(0.0, {"budget": "1/hour"}, b"")
    with pytest.raises(InputError, match=r"watched\.db holds no collection: make one with"):
        serve_collection(path, host="127.0.0.1", port=0, peers=[], tell=print)


def test_a_port_in_use(db: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        line = f"127.0.0.1:{port} cannot be listened on .Address already in use.; give another"
        with pytest.raises(InputError, match=line):
            serve_collection(db, host="127.0.0.1", port=port, peers=[], tell=print)


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 80, "\ud800", "192.0.2.1", "a\0b"])
def test_a_host_that_is_not_ours(db: Path, host: str) -> None:
    with pytest.raises(InputError, match=r":8900 cannot be listened on \(.+\); give another"):
        serve_collection(db, host=host, port=8900, peers=[], tell=print)


@pytest.mark.parametrize(
    ("peer", "line"),
    [
        ("ftp://a.example", "--peers: ftp is not fetched"),
        ("nonsense", "--peers: .*nonsense"),
        ("http://a.example/?q=1", "--peers http://a.example/.q=1: leave out what follows"),
        ("http://a.example/?token=short", "a token needs 16 to 200 letters"),
    ],
)
def test_a_peer_without_a_usable_url(db: Path, peer: str, line: str) -> None:
    with pytest.raises(InputError, match=line):
        serve_collection(db, host="127.0.0.1", port=0, peers=[peer], tell=print)


def test_an_engine_that_is_its_own_peer(db: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    with pytest.raises(InputError, match=f"--peers http://127.0.0.1:{port} is this engine itself"):
        serve_collection(
            db, host="127.0.0.1", port=port, peers=[f"http://127.0.0.1:{port}/"], tell=print
        )


@pytest.mark.parametrize("token", ["", "short", "a" * 201, "with spaces and so on", "ä" * 20])
def test_a_token_that_cannot_be_sent(db: Path, token: str) -> None:
    with pytest.raises(InputError, match="a token needs 16 to 200 letters"):
        serve_collection(db, host="127.0.0.1", port=0, peers=[], tell=print, token=token)
