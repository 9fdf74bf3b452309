"""What goes wrong in a worker is told."""

import math
import multiprocessing
import os
import time

import pytest

from pollwise.errors import PollwiseError
from pollwise.experiments.workers import workers


def test_what_goes_wrong_in_a_worker_is_told_and_ends_no_other_process():
    bystander = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    bystander.start()
    try:
        with pytest.raises(ValueError, match="math domain error"), workers(2) as run:
            list(run(math.sqrt, [4.0, -1.0]))
        assert bystander.is_alive()
    finally:
        bystander.terminate()
        bystander.join()


def test_a_worker_that_dies_is_told():
    with pytest.raises(PollwiseError, match="ended before they were done"), workers(2) as run:
        list(run(os._exit, [1]))
