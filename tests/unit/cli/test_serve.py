"""`pollwise serve` where there is nothing to serve, or nowhere."""

import socket
from dataclasses import asdict
from pathlib import Path

import pytest

from pollwise.relevance.topic import topic
from pollwise.store import Store

from .calling import Run


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    path = tmp_path / "sea.db"
    with Store.open(path) as store:
        store.start_run(0.0, {"topic": asdict(topic("whales"))}, None)
    return path


@pytest.mark.usefixtures("collection")
def test_what_cannot_be_served_is_refused_in_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        refused = {
            ("--port", port): "cannot be listened on (Address already in use); give another",
            ("--host", "nowhere.invalid"): "cannot be listened on",
            ("--host", "::1x", "--port", 8900): "[::1x]:8900 cannot be listened on",
            ("--no-polling",): "pollwise.db does not exist",
            ("--token", "short"): "a token needs 16 to 200",
            ("--name", "https://a.example/"): "give the name of a host alone",
            ("--name", "a.example:8900"): "give the name of a host alone",
            ("--name", "ä.example"): "(other letters as xn--...)",
            ("--trusted-proxy", "proxy.example"): "--trusted-proxy proxy.example: give the address",
            ("--peers", "ftp://a.example"): "--peers: ftp is not fetched",
            ("--peers", "http://a.example/?q=1"): "leave out what follows the question mark",
            ("--config", "none.toml"): "none.toml",
            ("--db", "sea.db", "--share", "a=10%"): "sea.db holds a collection",
            ("--db", "sea.db", "--no-polling", "--budget", "nan"): "leave out --budget and --share",
        }
        for words, line in refused.items():
            more = [] if "--port" in words else ["--port", "0"]
            answer = run("serve", *words, *more)
            assert answer.status == 2, words
            assert line in answer.err, words
            assert answer.err.count("\n") <= 2, answer.err
            assert "--no-polling" not in words or "open http" not in answer.err
    assert not (tmp_path / "pollwise.db").exists()
