"""The demonstration without its processes: what watchers tell."""

import gc
import multiprocessing
import os
from multiprocessing.context import SpawnProcess

import pytest

from pollwise.errors import PollwiseError, StoreError
from pollwise.live import demo
from pollwise.live.demo import Watcher
from pollwise.live.demo_watcher import Ended, News, Polled, Watch
from pollwise.testing.timelapse import TimeLapse

POLLS = [
    Polled(0, 1.0, has_answer=True, found=False),
    Polled(1, 2.0, has_answer=False, found=False),
    Polled(0, 3.0, has_answer=True, found=True),
]


@pytest.fixture
def watcher() -> Watcher:
    return Watcher("uniform", now=0.0)


def hear(watcher: Watcher, *told: object) -> None:
    ours, theirs = multiprocessing.Pipe(duplex=False)
    with ours, theirs:
        for each in told:
            theirs.send(each)
            demo._hear(watcher, ours)


def test_news_add_up(watcher):
    hear(watcher, News(2.5, POLLS[:2]), News(4.0, POLLS[2:]))
    assert (watcher.now, watcher.polls, watcher.found, watcher.requests) == (4.0, POLLS, 1, None)
    hear(watcher, Ended(7))
    assert watcher.requests == 7


def test_only_polls_that_got_the_page_are_scored(watcher):
    hear(watcher, News(4.0, POLLS))
    answered = watcher.answered()
    assert answered.page_ids.tolist() == [0, 0]
    assert answered.times.tolist() == [1.0, 3.0]


def test_the_error_that_ended_a_process_is_raised_here(watcher):
    with pytest.raises(StoreError, match="the disk is full"):
        hear(watcher, StoreError("the disk is full"))


def test_the_end_of_a_process_is_an_error_of_its_own(watcher):
    ours, theirs = multiprocessing.Pipe(duplex=False)
    theirs.close()
    with ours, pytest.raises(PollwiseError, match="ended from outside"):
        demo._hear(watcher, ours)


def test_a_process_that_cannot_be_started_leaves_nothing_open(monkeypatch, tmp_path):
    def refused(process: SpawnProcess) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(SpawnProcess, "start", refused)
    watches = [Watch("uniform", TimeLapse.bundled(), tmp_path, None)]
    gc.collect()
    still_open, raised = [], []
    for _ in range(3):
        with pytest.raises(OSError, match="no more processes") as told, demo._processes(watches):
            pass
        raised.append(told)  # with what its frames hold
        still_open.append(len(os.listdir("/proc/self/fd")))
    assert still_open[-1] <= still_open[0]
