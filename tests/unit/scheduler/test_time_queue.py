"""Times with page ids come out in order, whether they came alone or together."""

import heapq
import math
from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pollwise.scheduler import time_queue
from pollwise.scheduler.time_queue import TimeQueue

times = st.integers(0, 9).map(float)
entries = st.tuples(times, st.integers(0, 20))
steps_taken = st.lists(st.lists(entries, max_size=8) | entries | times | st.none(), max_size=40)


@given(steps_taken, st.integers(0, 8))
def test_it_is_a_heap(steps, few: int) -> None:
    with mock.patch.object(time_queue, "_FEW", few):
        compare(steps)


def compare(steps) -> None:
    queue, heap = TimeQueue(), []
    for step in steps:
        if isinstance(step, list):
            queue.extend(
                np.array([time for time, _ in step], np.float64),
                np.array([page_id for _, page_id in step], np.int64),
            )
            for entry in step:
                heapq.heappush(heap, entry)
        elif isinstance(step, tuple):
            queue.push(*step)
            heapq.heappush(heap, step)
        elif isinstance(step, float):
            told = queue.pop_many(step)
            many = [] if told is None else [*zip(*(one.tolist() for one in told), strict=True)]
            assert many == sorted(many)
            for entry in many:
                heap.remove(entry)
            heapq.heapify(heap)
            assert all(time <= step for time, _ in many)
            left = [time for time in queue._times[queue._next :] if time <= step]
            assert len(left) < max(time_queue._FEW, 1)
        elif heap:
            assert queue.pop() == heapq.heappop(heap)
        assert queue.first == (heap[0][0] if heap else math.inf)


def test_few_that_come_do_not_move_the_many_that_wait() -> None:
    queue = TimeQueue()
    queue.extend(np.arange(2000.0), np.arange(2000))
    many = queue._times
    queue.extend(np.array([0.5]), np.array([7]))
    assert queue._times is many
    assert [queue.pop() for _ in range(3)] == [(0.0, 0), (0.5, 7), (1.0, 1)]
