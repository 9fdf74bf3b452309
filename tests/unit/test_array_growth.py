"""Arrays grow where they are, once they are long."""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise import array_growth
from pollwise.array_growth import enlarged, with_room

LONG = 1 << 18
"""Numbers of 32 bits or more that take a megabyte or more."""


@given(lengths=st.lists(st.integers(0, 3 * LONG), min_size=2, max_size=6))
def test_what_was_there_stays_and_the_rest_is_zero(lengths: list[int]) -> None:
    lengths.sort()
    array = np.arange(1, lengths[0] + 1)
    for length in lengths[1:]:
        before = array.copy()
        array = enlarged(array, length - len(array))
        assert np.array_equal(array[: len(before)], before)
        assert not array[len(before) :].any()
        assert len(array) == length
        array[len(before) :] = 7


@pytest.mark.parametrize("shape", [(), (5,)])
def test_a_long_array_is_not_copied(shape: tuple[int, ...]) -> None:
    first = enlarged(np.zeros((0, *shape), np.int32), LONG)
    grown = enlarged(first, 100 * LONG)
    assert np.shares_memory(first, grown)
    assert grown.flags.c_contiguous
    assert grown.shape == (101 * LONG, *shape)


def test_few_large_elements_are_a_long_array_too() -> None:
    """As those of 12,800 sites: to copy 18 megabytes of them would hold up polls for 50 ms."""
    first = enlarged(np.zeros((0, 1408), np.int8), 800)
    assert np.shares_memory(first, enlarged(first, 12_000))


def test_only_what_is_written_takes_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    array = with_room(LONG, np.int64)
    array[:LONG] = 1
    assert array.nbytes > 1 << 28  # else there is nothing to show
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 17  # in kB


@pytest.mark.parametrize("limited", ["AS", "DATA"])
def test_where_addresses_are_limited_there_is_as_much_as_is_asked_for(limited: str) -> None:
    code = (
        "import resource; from pollwise.array_growth import with_room;"
        f"resource.setrlimit(resource.RLIMIT_{limited}, (1 << 40, resource.RLIM_INFINITY));"
        f"print(len(with_room({LONG}, 'i8')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{LONG}\n"


def test_where_addresses_count_as_memory_there_is_as_much_as_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "overcommit_memory"
    told.write_text("2\n", encoding="utf-8")
    monkeypatch.setattr(array_growth, "_OVERCOMMIT", told)
    array_growth._free_addresses.cache_clear()
    assert len(with_room(LONG, np.int64)) == LONG
    array_growth._free_addresses.cache_clear()
