"""Kernels within kernels: what they do is what numba does, and less of it is made into code."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.runtime import rtsys
from numba.core.runtime._nrt_python import memsys_disable_stats, memsys_enable_stats

from pollwise import kernel_cache
from pollwise.kernel_cache import kernel

PROGRAM = """\
from pollwise.kernel_cache import kernel


@kernel
def root(number):
    if number < 0:
        raise ValueError("no root")
    return number**0.5


@kernel
def require(number):
    if number > 100:
        raise ValueError("too large:", number)
    return number


@kernel
def roots(first, second):
    return root(first), root(require(second))


print(roots(9.0, 4.0))
for second in (-1.0, 101.0):
    try:
        roots(4.0, second)
    except ValueError as error:
        print(error)
print(sum(roots.stats.cache_hits.values()))
"""

SQUARE = """\
from pollwise.kernel_cache import kernel


@kernel
def square(number):
    return number * number


print(square(3), sum(square.stats.cache_hits.values()))
"""

FILLED = """\
import numpy as np
from numba.core.runtime import rtsys

from pollwise.kernel_cache import kernel


@kernel
def filled(size):
    made = np.empty(size)
    made[:] = 2.0
    return made


print(filled(3).sum(), "_made" in vars(rtsys.library))
"""

CALLED_BY_ANOTHER = """\
import sys

import numba
import numpy as np

from pollwise.kernel_cache import kernel


@kernel
def root(number):
    if number < 0:
        raise ValueError("no root")
    return number**0.5


@numba.njit
def other(number):
    return root(number) + 1


@numba.njit
def product(numbers):
    return np.dot(numbers, numbers)


print(root(9.0), sum(root.stats.cache_hits.values()), "scipy.linalg" in sys.modules)
print(other(4.0))
try:
    other(-1.0)
except ValueError as error:
    print(error)
print(product(np.ones(3)), "scipy.linalg" in sys.modules)
"""


@kernel
def doubled(number):
    return 2 * number


@kernel
def doubled_twice(number):
    return doubled(doubled(number))


@kernel
def filled(size, number):
    made = np.empty(size)
    made[:] = doubled(number)
    return made


@kernel
def total(size, number):
    return filled(size, number).sum()


def test_a_kernel_that_others_call_is_compiled_with_them_only(monkeypatch):
    # What an earlier run has left on disk would be loaded, without its parts.
    monkeypatch.setattr(kernel_cache, "kernel_folder", lambda: "")
    once = kernel(doubled.py_func)

    @kernel
    def twice(number):
        return once(once(number))

    @kernel
    def summed(size, number):
        made = np.empty(size)
        made[:] = once(number)
        return made.sum()

    assert twice(3.5) == 14.0
    assert summed(3, 2.0) == 12.0
    [part] = once.overloads.values()
    assert part.library.get_pointer_to_function(part.fndesc.llvm_func_name) == 0


def test_python_can_call_one_that_others_have_called():
    assert doubled_twice(np.float32(1.5)) == 6.0
    assert doubled(np.float32(1.5)) == 3.0
    assert doubled_twice(np.float32(2.5)) == 10.0


def test_others_can_call_one_that_python_has_called():
    assert doubled(np.int32(4)) == 8
    assert doubled_twice(np.int32(4)) == 16


def test_functions_that_others_compile_can_call_kernels():
    @numba.njit
    def other(number):
        return doubled_twice(number) + 1

    assert other(np.int16(5)) == 21
    assert doubled(np.int16(5)) == 10


def test_functions_that_others_compile_may_stand_between_kernels():
    @numba.njit
    def between(number):
        return doubled_twice(number) + 1

    @kernel
    def outer(number):
        return between(number) + doubled(number)

    assert outer(2.25) == 14.5
    assert doubled_twice(2.25) == 9.0


def test_a_part_is_compiled_once_for_all_whole_numbers(monkeypatch):
    monkeypatch.setattr(kernel_cache, "kernel_folder", lambda: "")
    once = kernel(doubled.py_func)

    @kernel
    def summed(first, second, third):
        return once(first) + once(second) + once(number=third) + once(-1)

    assert summed(np.int32(-2), np.uint8(250), 2**40) == 2**41 + 494
    assert len(once.overloads) == 1
    assert once(np.int32(3)) == 6


def test_a_part_is_made_part_of_its_callers_code_only_if_it_says_so():
    @kernel
    def next_of(number):
        return number + 1

    @kernel(forceinline=True)
    def next_but_one(number):
        return next_of(next_of(number))

    @kernel
    def summed(first, second):
        return next_but_one(first) + next_but_one(second)

    assert summed(1, 2) == 7
    (part,) = next_of.overloads.values()
    assert "alwaysinline" not in part.library.get_llvm_str()
    (part,) = next_but_one.overloads.values()
    assert "alwaysinline" in part.library.get_llvm_str()


def test_who_has_nothing_compiled_calls_python(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)

    def halved(number):
        return number / 2

    assert kernel(halved) is halved


def test_arrays_that_a_part_makes_are_freed():
    total(1_000, 2.0)
    memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        for _ in range(100):
            assert total(1_000, 2.0) == 4_000.0
        after = rtsys.get_allocation_stats()
    finally:
        memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free == 100


def test_errors_of_parts_are_raised_also_from_code_that_was_kept(tmp_path: Path):
    for hits, said in enumerate(said_twice(PROGRAM, tmp_path)):
        assert said == f"(3.0, 2.0)\nno root\n('too large:', 101.0)\n{hits}\n"


def test_functions_that_others_compile_can_call_code_that_was_kept(tmp_path: Path):
    for hits, said in enumerate(said_twice(CALLED_BY_ANOTHER, tmp_path)):
        assert said == f"3.0 {hits} False\n3.0\nno root\n3.0 True\n"


def test_the_code_that_counts_references_is_made_only_to_compile(tmp_path: Path):
    assert said_twice(FILLED, tmp_path) == ["6.0 True\n", "6.0 False\n"]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("length", [0, -9])
def test_code_that_is_damaged_is_compiled_anew(tmp_path: Path, ending, length):
    (program := tmp_path / "program.py").write_text(SQUARE)
    assert said(program) == "9 0\n"
    (kept,) = tmp_path.rglob(f"*.{ending}")
    kept.write_bytes(kept.read_bytes()[:length])
    assert [said(program), said(program)] == ["9 0\n", "9 1\n"]


def test_code_that_cannot_be_kept_is_compiled(tmp_path: Path):
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    limit += "import sys\nsys.dont_write_bytecode = True  # of which the half would be kept\n"
    (program := tmp_path / "program.py").write_text(limit + SQUARE)
    assert [said(program), said(program)] == ["9 0\n", "9 0\n"]


def said_twice(text: str, place: Path) -> list[str]:
    """What a program says when its kernels are compiled, and when they are loaded."""
    program = place / "program.py"
    program.write_text(text)
    return [said(program) for _ in range(2)]


def said(program: Path) -> str:
    """What a program says whose kernels are kept beside it."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(program.parent / "kept")}
    command = [sys.executable, str(program)]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
