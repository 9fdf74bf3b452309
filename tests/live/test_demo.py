"""The demonstration, in five seconds instead of a minute."""

import asyncio
import socket
import tempfile
from pathlib import Path

import pytest

from pollwise.errors import PollwiseError
from pollwise.live.demo import run_demo
from pollwise.testing import timelapse

SECONDS = 5.0


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """The folder in which temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


async def test_both_find_changes_with_the_same_budget(temporary):
    seen, said = [], []
    results = await run_demo(
        lambda now, watchers: seen.append((now, {w.name: w.polls for w in watchers.values()})),
        seconds=SECONDS,
        report=said.append,
    )
    assert said == ["compiling (first run only)"]
    assert [result.policy for result in results] == ["bayes-index", "uniform"]
    bayes, uniform = results
    assert bayes.changes == uniform.changes == 470
    for result in results:
        assert 0 < result.found < result.changes
        assert 0.0 < result.freshness < 1.0
        assert 0.0 < result.delay_days < 366.0
        # A fetch for each poll answered, and the robots.txt of ten hosts.
        assert 10 < result.polls <= 16 * 366 + 16
        assert result.polls <= result.requests
    # A machine that is too slow for the whole budget is so for both.
    assert abs(bayes.polls - uniform.polls) < 0.2 * uniform.polls
    times = [now for now, _ in seen]
    assert times == sorted(times)
    assert seen[-1][1] == {"bayes-index": bayes.polls, "uniform": uniform.polls}
    assert list(temporary.iterdir()) == []


async def test_a_run_that_is_cancelled_leaves_nothing_behind(temporary):
    begun = asyncio.Event()

    def progress(now, watchers) -> None:
        if all(watcher.found for watcher in watchers.values()):
            begun.set()

    running = asyncio.create_task(run_demo(progress, seconds=60.0))
    await asyncio.wait_for(begun.wait(), 60.0)
    assert list(temporary.iterdir()) != []
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert list(temporary.iterdir()) == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_machine_that_lets_no_port_be_served_is_told_in_one_line(temporary, monkeypatch):
    async def refuse(runner, host):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(timelapse, "listen", refuse)
    with pytest.raises(PollwiseError, match=r"^no port can be served .+Operation not.+; allow .+$"):
        await run_demo(lambda now, watchers: None, seconds=SECONDS)
    assert list(temporary.iterdir()) == []


async def test_a_machine_without_sockets_is_told_in_one_line(monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(PollwiseError, match=r"^no port can be served"):
        await timelapse._opened(None, 0)
