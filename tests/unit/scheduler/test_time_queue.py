"""Times with page ids come out in order, whether they came alone or together."""

import heapq
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pollwise.scheduler.time_queue import TimeQueue

entries = st.tuples(st.integers(0, 9).map(float), st.integers(0, 20))


@given(st.lists(st.lists(entries, max_size=8) | entries | st.none(), max_size=40))
def test_it_is_a_heap(steps) -> None:
    queue, heap = TimeQueue(), []
    for step in steps:
        if isinstance(step, list):
            queue.extend(
                np.array([time for time, _ in step], np.float64),
                np.array([page_id for _, page_id in step], np.int64),
            )
            for entry in step:
                heapq.heappush(heap, entry)
        elif step is not None:
            queue.push(*step)
            heapq.heappush(heap, step)
        elif heap:
            assert queue.pop() == heapq.heappop(heap)
        assert queue.first == (heap[0][0] if heap else math.inf)
