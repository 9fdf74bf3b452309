"""What answers, as the process that polls sees it, when it cannot even be started."""

import asyncio
import errno
import re
import socket
from pathlib import Path

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
    with open_answering(tmp_path / "x.db", host="127.0.0.1", port=0, say=lines.append, **told):
        pass
    [line] = lines
    assert re.fullmatch(said, line)


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
