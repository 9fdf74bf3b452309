"""Arrays grow where they are, once they are long."""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.policies.structures import room
from pollwise.policies.structures.room import enlarged, with_room

LONG = 1 << 14


@given(lengths=st.lists(st.integers(0, 3 * LONG), min_size=2, max_size=6))
def test_what_was_there_stays_and_the_rest_is_zero(lengths: list[int]) -> None:
    lengths.sort()
    array = np.arange(1, lengths[0] + 1)
    for length in lengths[1:]:
        before = array.copy()
        array = enlarged(array, length - len(array))
        assert array[: len(before)].tolist() == before.tolist()
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


def test_only_what_is_written_takes_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    long = with_room(LONG, np.int64)
    long[:LONG] = 1
    assert long.nbytes > 1 << 28  # else there is nothing to show
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 17  # in kB


@pytest.mark.parametrize("halves", [1, 3, 20])
def test_where_addresses_are_limited_there_is_as_much_as_is_needed(halves: int) -> None:
    code = (
        "import os, resource; from pollwise.policies.structures.room import with_room;"
        "half = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // 2;"
        f"resource.setrlimit(resource.RLIMIT_AS, ({halves} * half, resource.RLIM_INFINITY));"
        f"print(len(with_room({LONG}, 'i8')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{LONG}\n"


@pytest.mark.parametrize(("told", "has_room"), [("0\n", True), ("1\n", True), ("2\n", False)])
def test_where_addresses_count_as_memory_there_is_as_much_as_is_needed(
    told: str, has_room: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overcommit = tmp_path / "overcommit_memory"
    monkeypatch.setattr(room, "_OVERCOMMIT", overcommit)
    for is_there in (True, False):
        if is_there:
            overcommit.write_text(told)
        else:  # not Linux
            overcommit.unlink()
        room._spare_addresses.cache_clear()
        assert (len(with_room(LONG, np.int64)) > LONG) == (has_room or not is_there)
    room._spare_addresses.cache_clear()
