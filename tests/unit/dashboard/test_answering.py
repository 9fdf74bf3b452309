"""What answers, as the process that polls sees it, when it cannot even be started."""

import asyncio
import errno
import re
import socket
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from pollwise.dashboard import answering
from pollwise.dashboard.answering import Answering, open_answering
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.errors import InputError
from pollwise.live.run_figures import RunFigures

ROUND_TRIP = AnsweringTerms(Path("x.db"), ("a",), "0123456789abcdef", ("::1",), ())


def test_terms_are_told_on_a_line() -> None:
    line = ROUND_TRIP.encode()
    assert "\n" not in line
    assert AnsweringTerms.decode(line) == ROUND_TRIP


async def test_it_is_tried_again_when_no_process_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
    monkeypatch.setattr(answering, "_FIRST_PAUSE", 0.01)
    said: list[str] = []

    def figures() -> RunFigures:
        raise AssertionError("there is nobody to tell")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        terms = AnsweringTerms(Path("x.db"))
        async with Answering(terms, listener, said.append).beside(figures), asyncio.timeout(30):
            while len(said) < 3:
                await asyncio.sleep(0.01)
    line = "what answers cannot be started (Resource temporarily unavailable); it starts anew in "
    assert said[:3] == [f"{line}0.01 s", f"{line}0.02 s", f"{line}0.04 s"]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({}, r"open http://127\.0\.0\.1:\d+"),
        ({"names": ["Me.example."]}, r"open http://127\.0\.0\.1:\d+/\?token=[\w-]{32} .*"),
        ({"token": "0123456789abcdef"}, r"open http://127\.0\.0\.1:\d+"),
        ({"names": ["a"], "token": "0123456789abcdef"}, r"open .*/\?token=TOKEN .*"),
        ({"names": ["a"], "proxies": ["127.0.0.1"]}, r"open http://127\.0\.0\.1:\d+"),
    ],
)
def test_where_it_is_told(told: dict[str, object], said: str, tmp_path: Path) -> None:
    lines: list[str] = []
    with open_answering(
        tmp_path / "x.db", host="127.0.0.1", port=0, say=lines.append, **told
    ) as answering:
        assert lines == []
        with answering.getting_ready():
            [line] = lines
    assert re.fullmatch(said, line)


@pytest.mark.parametrize(
    ("names", "host", "known", "expected"),
    [
        (("box.example", "b"), "0.0.0.0", True, "box.example"),
        ((), "0.0.0.0", True, "mybox"),
        ((), "0.0.0.0", False, "127.0.0.1"),
        ((), "::", False, r"\[::1\]"),
        (("box.example",), "127.0.0.1", True, r"127\.0\.0\.1"),
    ],
)
def test_a_browser_can_open_what_is_told(
    names: tuple[str, ...],
    host: str,
    known: bool,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolve = socket.getaddrinfo

    def named(name: str, *more: Any, **told: Any) -> Any:
        if name == "mybox" and not known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve("127.0.0.1" if name == "mybox" else name, *more, **told)

    monkeypatch.setattr(socket, "gethostname", lambda: "mybox")
    monkeypatch.setattr(socket, "getaddrinfo", named)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, 0), family=family).close()
    except OSError:
        pytest.skip(f"this machine has no {host}")
    lines: list[str] = []
    with (
        open_answering(
            tmp_path / "x.db", host=host, port=0, names=names, say=lines.append
        ) as answering,
        answering.getting_ready(),
    ):
        assert re.match(rf"open http://{expected}:\d+/\?token=", lines[0])


async def test_who_asks_while_it_gets_ready_is_told_to_wait(tmp_path: Path) -> None:
    lines: list[str] = []
    with open_answering(tmp_path / "x.db", host="127.0.0.1", port=0, say=lines.append) as answering:
        with answering.getting_ready():
            address = lines[0].removeprefix("open ")
            async with aiohttp.ClientSession() as session:
                for path, accept, kind in (
                    ("/", "text/html", "text/html"),
                    ("/api/status", "text/html", "application/json"),
                    ("/healthz", "*/*", "application/json"),
                ):
                    async with session.get(address + path, headers={"Accept": accept}) as answer:
                        assert (answer.status, answer.content_type) == (503, kind)
                        assert answer.headers["Retry-After"] == "2"
                        assert "compiles, this takes about a minute" in await answer.text()
                async with session.head(address) as answer:
                    assert answer.status == 503
        with pytest.raises(TimeoutError):  # nobody answers any more, though it listens
            async with asyncio.timeout(0.2), aiohttp.ClientSession() as session:
                await session.get(address)


async def test_silent_connections_do_not_keep_others_from_being_told(tmp_path: Path) -> None:
    lines: list[str] = []
    with (
        open_answering(tmp_path / "x.db", host="127.0.0.1", port=0, say=lines.append) as answering,
        answering.getting_ready(),
    ):
        address = lines[0].removeprefix("open ")
        port = int(address.rpartition(":")[2])
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(150)]
        async with aiohttp.ClientSession() as session, session.get(address) as answer:
            assert answer.status == 503
        for one in silent:
            one.close()


def test_its_own_peer_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (
        pytest.raises(InputError, match="is this engine itself"),
        open_answering(
            tmp_path / "x.db",
            host="127.0.0.1",
            port=port,
            peers=[f"http://127.0.0.1:{port}/"],
            say=print,
        ),
    ):
        pass
