"""What stays is not searched for garbage again and again; what does not is found."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from pollwise.live.garbage import short_searches

ALLOCATIONS = 1_000


class Circle:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def few_allocations() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(ALLOCATIONS)
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def test_what_stays_is_searched_once() -> None:
    with short_searches():
        stay = [[number] for number in range(100 * ALLOCATIONS)]
        assert len(gc.get_objects()) < 3 * ALLOCATIONS
    assert len(stay) == 100 * ALLOCATIONS


def test_garbage_is_found_among_what_stays_and_alone() -> None:
    with short_searches():
        stay = []
        found: list[weakref.ref[Circle]] = []
        for number in range(10 * ALLOCATIONS):
            stay.append([number])
            if number % 10 == 0:
                found.append(weakref.ref(Circle()))
        assert sum(one() is not None for one in found) < ALLOCATIONS
        alone = [weakref.ref(Circle()) for _ in range(10 * ALLOCATIONS)]
        assert sum(one() is not None for one in alone) <= 2 * ALLOCATIONS


def test_searches_are_as_before_when_the_run_is_over() -> None:
    before = list(gc.callbacks)
    with short_searches():
        pass
    assert gc.callbacks == before
