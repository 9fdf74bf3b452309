"""What is borrowed are the same arrays and generators, none of whose references is counted."""

from typing import NamedTuple

import numba
import numpy as np

from pollwise.policies.borrowed import borrowed

RECORD = np.dtype([("polls", "i8")])


class State(NamedTuple):
    pages: np.ndarray
    nested: tuple[np.ndarray, int]
    generator: np.random.Generator


@numba.njit
def use(state):
    """Write to all arrays, and draw."""
    state = borrowed(state)
    state.pages[1].polls += state.nested[1]
    state.nested[0][2] = 0.5
    return state.generator.random()


@numba.njit
def total(rows):
    """Of all but the first row, by way of an array of its own."""
    result = 0.0
    for row in borrowed(rows)[1:].copy():
        result += row.sum()
    return result


def last(arrays, steps):
    """A choice that makes numba count references."""
    chosen = arrays[0]
    for n in range(steps):
        chosen = arrays[1] if chosen[n] > 0.0 else arrays[0]
    return chosen[-1]


def last_of_borrowed(arrays, steps):
    own = borrowed(arrays)
    chosen = own[0]
    for n in range(steps):
        chosen = own[1] if chosen[n] > 0.0 else own[0]
    return chosen[-1]


def make_state() -> State:
    return State(np.zeros(3, RECORD), (np.zeros(3), 7), np.random.default_rng(1))


def test_it_is_the_same_arrays_and_the_same_generator():
    state, generator = make_state(), np.random.default_rng(1)
    assert [use(state) for _ in range(1000)] == generator.random(1000).tolist()
    assert state.pages["polls"].tolist() == [0, 7000, 0]
    assert state.nested[0].tolist() == [0.0, 0.0, 0.5]


def test_arrays_made_of_it_have_owners_of_their_own():
    rows = np.ones((100, 1000))
    assert [total(rows) for _ in range(100)] == [99_000.0] * 100


def test_references_to_it_are_not_counted():
    arrays = (np.array([1.0, 0.0, 2.0]), np.array([0.0, 1.0, 3.0]))
    counted = []
    for function in (last, last_of_borrowed):
        compiled = numba.njit(function)
        assert compiled(arrays, 2) == 3.0
        (code,) = compiled.inspect_llvm().values()
        body = code.split("\ndefine ")[1].split("\n}")[0]
        assert function.__name__ in body.split("(")[0]
        counted.append("call void @NRT_" in body)
    assert counted == [True, False]
