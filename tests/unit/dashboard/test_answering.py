"""What answers, as the process that polls sees it, when it cannot even be started."""

import asyncio
import errno
import os
import re
import signal
import socket
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from pollwise.dashboard import answering, answering_process
from pollwise.dashboard.answering import open_answering
from pollwise.dashboard.answering_process import AnsweringProcess
from pollwise.dashboard.stopped import Stopped
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.errors import InputError, StoreDiskError, StoreError, StoreInUseError
from pollwise.live.run_figures import RunFigures, decode

from .some_figures import FIGURES

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
    monkeypatch.setattr(answering_process, "_FIRST_PAUSE", 0.01)
    said: list[str] = []

    terms = AnsweringTerms(Path("x.db"))
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        closing(AnsweringProcess(terms, listener, said.append)) as one,
    ):
        one.start()
        async with asyncio.timeout(30):
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
                        assert "compiles, this takes about half a minute" in await answer.text()
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


FULL = StoreDiskError("x.db cannot grow, the disk is full: free some space")
IN_USE = StoreInUseError("x.db is in use by process 7")


def failing(errors: Iterable[Exception]) -> Callable[[], None]:
    """Polls, and fails with one after the other; then it returns."""
    left = iter(errors)

    def poll() -> None:
        error = next(left, None)
        if error is not None:
            raise error

    return poll


@pytest.fixture
def no_process(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the process that answers would hear."""
    told: list[str] = []
    monkeypatch.setattr(AnsweringProcess, "start", lambda self: None)
    monkeypatch.setattr(AnsweringProcess, "tell", lambda self, line: told.append(line))
    return told


def test_a_full_disk_has_polling_tried_again_after_ever_longer_pauses(
    monkeypatch: pytest.MonkeyPatch, no_process: list[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(answering, "_PAUSES", (0.01, 0.02, 0.05))
    db, lines = tmp_path / "x.db", list[str]()
    db.touch()
    with open_answering(db, host="127.0.0.1", port=0, say=lines.append) as one:
        one.polling(failing([FULL, FULL, IN_USE, FULL]))
    told = [Stopped.decode(line) for line in no_process]
    assert [round(stop.again_at - stop.since, 6) for stop in told if stop] == [
        0.01,
        0.02,
        0.05,
        0.05,
    ]
    assert [stop.why for stop in told if stop] == list(map(str, (FULL, FULL, IN_USE, FULL)))
    again = r"; polling has not begun, and is tried again at \d\d:\d\d:\d\d UTC"
    assert lines[0].startswith("open http://127.0.0.1:")
    assert [bool(re.search(again, line)) for line in lines] == [False, True, True, True, True]


def test_it_says_whether_polling_has_stopped_or_never_began(
    monkeypatch: pytest.MonkeyPatch, no_process: list[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(answering, "_PAUSES", (0.01,))
    db, lines, runs = tmp_path / "x.db", list[str](), iter((False, True, False))
    db.touch()

    async def run() -> None:
        async with one.beside(lambda: FIGURES):
            raise FULL

    def poll() -> None:
        begins = next(runs, None)
        if begins:
            asyncio.run(run())
        if begins is not None:
            raise FULL

    with open_answering(db, host="127.0.0.1", port=0, say=lines.append) as one:
        one.polling(poll)
    told = [state for line in lines for state in ("not begun", "stopped") if state in line]
    assert told == ["not begun", "stopped", "stopped"]
    stops = [stop.state for line in no_process if (stop := Stopped.decode(line))]
    assert stops == ["Polling has not begun", *["Polling has stopped"] * 2]


@pytest.mark.parametrize("error", [StoreError("x.db is damaged"), IN_USE, InputError("no")])
def test_what_waiting_does_not_mend_ends_it(
    no_process: list[str], tmp_path: Path, error: Exception
) -> None:
    db = tmp_path / "x.db"
    db.touch()
    with (
        open_answering(db, host="127.0.0.1", port=0, say=lambda line: None) as one,
        pytest.raises(type(error)),
    ):
        one.polling(failing([error]))
    assert not no_process


def test_without_a_database_there_is_nothing_to_answer_from(
    no_process: list[str], tmp_path: Path
) -> None:
    with (
        open_answering(tmp_path / "x.db", host="127.0.0.1", port=0, say=lambda line: None) as one,
        pytest.raises(StoreDiskError),
    ):
        one.polling(failing([FULL]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_moment_in_which_it_says_that_nothing_is_polled_ends_it(
    number: signal.Signals, no_process: list[str], tmp_path: Path
) -> None:
    def say(line: str) -> None:
        if "polling has not begun" in line:
            os.kill(os.getpid(), number)

    db = tmp_path / "x.db"
    db.touch()
    with open_answering(db, host="127.0.0.1", port=0, say=say) as one:
        one.polling(failing([FULL]))
    assert len(no_process) == 1


async def test_a_defect_of_the_figures_ends_the_run(no_process: list[str], tmp_path: Path) -> None:
    def figures() -> RunFigures:
        raise NameError("defect")

    with (
        open_answering(tmp_path / "x.db", host="127.0.0.1", port=0, say=lambda line: None) as one,
        pytest.raises(NameError, match="defect"),
    ):
        async with asyncio.timeout(30), one.beside(figures):
            await asyncio.Event().wait()


async def test_the_end_of_a_run_is_no_error(no_process: list[str], tmp_path: Path) -> None:
    with open_answering(tmp_path / "x.db", host="127.0.0.1", port=0, say=lambda line: None) as one:
        async with one.beside(lambda: FIGURES):
            while not no_process:
                await asyncio.sleep(0)
    assert decode(no_process[0]) == FIGURES


def test_why_polling_has_stopped_is_told_on_a_line() -> None:
    stopped = Stopped("the disk is full", 1.0, 61.0, has_begun=True)
    assert "\n" not in stopped.encode()
    assert Stopped.decode(stopped.encode()) == stopped
    assert Stopped.decode('{"pages": 1}') is None
