"""What benchmarks/instructions.py makes of the words of valgrind; a script stands for it here."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COUNTED = """==7==
==7== brk segment overflow in thread #1: can't grow to 0x4836000
==7== I   refs:      3,652,747,142
"""


@pytest.fixture
def instructions(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module("instructions")
    for name in ("instructions", "engine"):
        sys.modules.pop(name)


@pytest.fixture
def valgrind(tmp_path, monkeypatch, instructions):
    """Puts a script into the place of valgrind."""

    def put(script):
        program = tmp_path / "valgrind"
        program.write_text(f'#!/bin/sh\nfor N in "$@"; do :; done\n{script}\n')
        program.chmod(0o755)
        monkeypatch.setitem(instructions.ENVIRONMENT, "PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setattr(sys, "executable", "true")  # nothing has to be compiled

    return put


def test_the_number_is_found_in_what_valgrind_says(instructions):
    assert instructions.told(COUNTED) == 3_652_747_142


@pytest.mark.parametrize(
    "said", ["", "valgrind: the 'impossible' happened\n", "==7== I   refs:      none\n"]
)
def test_where_valgrind_tells_no_number_it_is_shown_what_it_said(instructions, said):
    with pytest.raises(SystemExit) as ended:
        instructions.told(said)
    assert ended.value.code == f"valgrind has not counted; it said:\n{said}"


def test_it_is_told_for_each_decision(instructions, valgrind):
    """The script takes the number of decisions, its last word, and has a start of its own."""
    valgrind('echo "==1== I refs: $((7000 + 250 * N))" >&2')
    assert instructions.can_count()
    assert instructions.instructions_a_decision() == 250.0


def test_a_program_that_fails_is_no_count(instructions, valgrind):
    valgrind('echo "cannot go on" >&2; exit 1')
    with pytest.raises(SystemExit, match="cannot go on"):
        instructions.instructions_a_decision()


def test_nothing_is_counted_without_valgrind_or_on_another_processor(
    instructions, valgrind, monkeypatch, tmp_path
):
    valgrind("exit 1")
    monkeypatch.setattr(instructions.platform, "machine", lambda: "aarch64")
    assert not instructions.can_count()
    monkeypatch.setattr(instructions.platform, "machine", lambda: "x86_64")
    assert instructions.can_count()
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert not instructions.can_count()
